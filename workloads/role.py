"""python -m workloads.role ROLE '<cell JSON>': serve beside a worker of the same place: a server, a scheduler.

Serves until it is stopped, or until the framework ends it with the workers. Nothing goes to standard output.
"""
import importlib
import os
import sys

from workloads import cluster, environment
from workloads.__main__ import find_adapter, framework_of
from workloads.spec.cell import loads


def main(arguments):
    """The exit code."""
    role, text = arguments
    os.dup2(2, 1)
    cell = loads(text)
    os.environ.update(environment.variables(cell))
    adapter = find_adapter()
    parallel = importlib.import_module("workloads.%s.parallel" % adapter)
    joined = cluster.read(cell, framework_of(adapter))
    os.environ.update(cluster.variables(joined, role))       # after the import, inside which MXNet would serve
    parallel.serve(role, cell, joined)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
