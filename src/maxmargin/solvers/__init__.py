"""Algorithms, policy in plain Python: data only through ``rows`` and ``kernels``.

==================  ==========================================================================
``problem``         what is asked: rows with their labels, binary machines on them, and the answer
``perceptron``      online, batch and pocket perceptron
``margin``          hard and soft margin: three solvers, and who chooses among them
``exact``           separability and optima in exact arithmetic
``errors``          the fewest errors of any plane
==================  ==========================================================================
"""
