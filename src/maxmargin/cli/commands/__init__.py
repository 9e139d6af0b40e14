"""What can be typed: names, options and help. The work is imported when there is some."""
