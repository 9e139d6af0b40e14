"""scikit-learn estimators: thin, one class per file."""
