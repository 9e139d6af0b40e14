"""The scikit-learn estimators, a file each, the functions beside them, and what they share.

===================  =========================================================================
``perceptron``       ``Perceptron``
``batch``            ``BatchPerceptron``
``pocket``           ``PocketPerceptron``
``hardmargin``       ``HardMarginSVC``
``softmargin``       ``SoftMarginSVC``
``softmargincv``     ``SoftMarginSVCCV``
``separability``     ``separability``
``errorbounds``      ``error_bounds``
``bound``            ``mistake_bound``
``audit``            ``certify``
===================  =========================================================================

===================  =========================================================================
``base``             what all classifiers share: prediction, and that nothing changes on an error
``door``             where input is checked; ``complaints`` says what is wrong with it
``machines``         from classes to binary machines, and back to one prediction
``progress``         the progress bar, and scikit-learn's callbacks
``fitting``          ``fit`` of the perceptrons
``stream``           ``partial_fit`` and ``learn_one`` of the perceptrons
``growing``          single examples, and weights with room for new features
``margin``           ``fit`` of the margin machines
``marginsolving``    their machines through the solvers, to certificates or verdicts
``marginmachine``    what a fitted one shows
``exactly``          what exact arithmetic adds to the hard margin
``question``         a question about two classes, and its proof
``judging``          from a question to its verdict
``auditing``         the ground of an audit: problems on rows in memory or in a file
``training``         what a model of another library says of its training
``remote``           the same for Dask collections
===================  =========================================================================
"""
