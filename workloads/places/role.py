"""python -m workloads.places.role ROLE '<cell JSON>' FOLDER: serve beside a worker of the same place.

Serves until it is stopped, or until the framework ends it with the workers; a further worker, of another GPU, trains
with the first and ends by itself. Nothing goes to standard output.
"""
import importlib
import os
import sys

from workloads.__main__ import find_adapter
from workloads.frameworks import surroundings
from workloads.places import cluster
from workloads.process import environment
from workloads.spec.cell import Cell, loads


def main(arguments):
    """The exit code."""
    role, text, folder = arguments
    os.dup2(2, 1)
    cell = loads(text)
    os.environ.update(environment.variables(cell))
    name = find_adapter(cell.stack)
    joined = cluster.read(cell, name)
    os.environ.update(cluster.variables(joined, role))
    if role == "worker":
        train(cell, importlib.import_module("workloads.frameworks." + name), folder, joined)
        return 0
    module = surroundings.of(name).SERVERS.get(role, "workloads.frameworks.%s.parallel" % name)
    importlib.import_module(module).serve(role, cell, joined)
    return 0


def train(cell: Cell, adapter, folder: str, joined) -> None:
    """Do as the place's first worker does, and say nothing."""
    from workloads.measuring import measures  # imports numpy, whose threads the environment sets
    measures.run(cell, adapter, folder, lambda event, **values: None, joined)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
