"""Training in many places: allreduce.py and servers.py, by the cell's mode. TensorFlow 2.4 and later."""
from workloads.for_tensorflow import allreduce, servers, settings

_MODES = {"allreduce": allreduce.Workload, "ps-async": servers.Workload}
serve = servers.serve


def Workload(table, cell, cluster):
    """The workload of the cell's mode. Raises Unsupported where the stack cannot do what the cell asks."""
    settings.refuse_parallel(cell)
    return _MODES[cell.parallel](table, cell, cluster)
