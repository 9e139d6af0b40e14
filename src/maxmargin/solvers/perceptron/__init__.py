"""The perceptrons: ``online``, ``batch``, ``pocket`` and ``voting``, and what they share."""
