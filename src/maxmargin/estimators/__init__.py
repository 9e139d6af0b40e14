"""The scikit-learn estimators, a file each, the functions beside them, and what they share."""
