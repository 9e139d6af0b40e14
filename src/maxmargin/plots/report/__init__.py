"""One page about one data set and one model, as a file that needs nothing else."""
