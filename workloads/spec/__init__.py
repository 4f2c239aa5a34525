"""What host and worker share: cells, tasks, layers, data sets. Standard library only, Python 3.6 and later."""
