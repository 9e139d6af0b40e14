"""The solvers on rows that stay in their partitions: a few rounds, small summaries, small problems.

Partitions answer questions about planes; the small problem that the answers pose is solved here, by the
same solvers as in memory.

=========================  ======================================================================
``rounds``                 what partitions are asked, and machines that share the rounds
``sampling``               a sample of the rows
``alike``                  equal rows, which count as one
``machines``               margin machines: from the user's coordinates to the solver's, and back
``point``                  what a margin machine has reached, and when it stops
``rule``                   multipliers of all rows in a few numbers
``hard``, ``pool``         the hard margin, and the rows that it gathers
``soft``, ``beginning``    the soft margin, and where it begins
``looks``                  what partitions tell the soft margin: in one pass (``sorting``), with rows
                           near the margin (``near``) by a scale of their own (``gauge``)
``model``, ``band``        the model of the objective, and the rows that came for it
``walk``                   from model to model: how far to trust it, how wide to look next
``wide``                   the same with very many features
``examples``               rows of the perceptrons, and what planes decide about them
``online``                 the online perceptron, in order or on all partitions at once
``risk``, ``lines``        the batch perceptron: the risk, and its minimum along a line
``pocket``                 the pocket algorithm
``separation``             the verdict: separable, touching or overlapping
=========================  ======================================================================
"""
