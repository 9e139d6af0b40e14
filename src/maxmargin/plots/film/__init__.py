"""A recorded run as a film: frame by frame, as GIF, MP4 or a page with a player."""
