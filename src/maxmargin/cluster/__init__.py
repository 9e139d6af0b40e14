"""Where partitions are: on a Dask cluster, or in this process, one after the other."""
