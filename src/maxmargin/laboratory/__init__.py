"""The laboratory: a page where points can be dragged and every update watched.

The page draws, Python thinks: :mod:`maxmargin.laboratory.engine` answers every question of the page with
the library's own estimators, verdicts and certificates.
"""
