"""python -m workloads.role ROLE '<cell JSON>' FOLDER: serve beside a worker of the same place: a server, a scheduler.

Serves until it is stopped, or until the framework ends it with the workers; a further worker, of another GPU, trains
with the first and ends by itself. Nothing goes to standard output.
"""
import importlib
import os
import sys

from workloads import cluster, environment
from workloads.__main__ import find_adapter, framework_of
from workloads.spec.cell import loads

# where a role needs not the whole adapter
SERVERS = {("for_mxnet", "server"): "workloads.for_mxnet_servers",
           ("for_mxnet", "scheduler"): "workloads.for_mxnet_servers",
           ("for_tensorflow", "rendezvous"): "workloads.for_horovod_rendezvous"}


def main(arguments):
    """The exit code."""
    role, text, folder = arguments
    os.dup2(2, 1)
    cell = loads(text)
    os.environ.update(environment.variables(cell))
    name = find_adapter()
    joined = cluster.read(cell, framework_of(name))
    os.environ.update(cluster.variables(joined, role))
    if role == "worker":
        train(cell, importlib.import_module("workloads." + name), folder, joined)
        return 0
    importlib.import_module(SERVERS.get((name, role), "workloads.%s.parallel" % name)).serve(role, cell, joined)
    return 0


def train(cell, adapter, folder, joined):
    """Do as the place's first worker does, and say nothing."""
    from workloads import measures  # imports numpy, whose threads the environment sets
    measures.run(cell, adapter, folder, lambda event, **values: None, joined)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
