"""What the estimators do with Dask collections; loaded when there is one (``door.remote``)."""
