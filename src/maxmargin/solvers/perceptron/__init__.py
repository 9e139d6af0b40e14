"""The perceptrons: ``online`` (averaged and voted ones too), ``batch`` and ``pocket``.

They share ``epochs``; ``nearest_point`` finds planes without errors, and the shortest of gradients.
"""
