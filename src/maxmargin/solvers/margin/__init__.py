"""The margin machines.

``solve`` is the way in: it takes the ``tasks``, brings the rows into ``coordinates``, and chooses the
solver. Few rows are one compiled call (``small``). On few features it is ``hard_margin`` or
``soft_margin``, which ask ``augmented_lagrangian`` or ``interior_point`` for the ``reduced_problem`` on
the rows that matter; on many features it is ``coordinate_descent``, then ``active_set``, on the
``dual_problem``. Each is a plain loop that returns its result: after each pass one call to its budget
reports how far it is, and says whether to go on. Where no plane separates, ``witness`` finds the rows
that say why.

Rows in partitions elsewhere go by ``partitions``: the same ``hard_margin``, whose passes are
``questions``, or ``soft_margin_partitions``, which works on ``summaries``.
"""
