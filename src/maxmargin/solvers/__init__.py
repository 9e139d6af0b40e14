"""Algorithms, policy in plain Python: data only through ``rows`` and ``kernels``.

==================  ==========================================================================
``problem``         what is asked: binary machines on shared rows, and what a run leaves behind
``examples``        what is given: rows with their labels, and what planes decide about them
``perceptron``      online, batch and pocket perceptron
``margin``          hard and soft margin: three solvers, and who chooses among them
``exact``           separability and optima in exact arithmetic
==================  ==========================================================================
"""
