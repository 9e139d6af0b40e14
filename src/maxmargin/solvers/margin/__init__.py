"""The margin machines.

``machines`` is the way in: it takes the ``tasks``, brings the rows into a ``frame``, and hands them to
the solver of their ``choice``. On few features that is ``hardmargin`` or ``softmargin``, which ask
``multipliers`` for the small problems on the rows that matter; on many features it is ``large``:
``descent``, then ``activeset``, with ``factorised`` where that is slow.
"""
