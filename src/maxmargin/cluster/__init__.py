"""Functions on partitions of rows that a Dask cluster holds, or that Dask's own scheduler computes."""
