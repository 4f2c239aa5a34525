"""Definitions shared by host and worker: cells, tasks, layers, shapes, FLOPs. Standard library only, Python 3.6 and later."""
