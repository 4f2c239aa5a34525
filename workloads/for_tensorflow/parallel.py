"""Training in many places or on many GPUs, by the cell's mode: allreduce.py, mirrored.py, servers.py. From 2.4 on."""
from workloads.errors import Unsupported
from workloads.for_tensorflow import allreduce, mirrored, servers, settings

_MODES = {"allreduce": allreduce.Workload, "ps-async": servers.Workload}
serve = servers.serve


def Workload(table, cell, cluster):
    """The workload of the cell's mode. Raises Unsupported where the stack cannot do what the cell asks."""
    settings.refuse_parallel(cell)
    if not cluster:
        raise Unsupported("TensorFlow trains on many GPUs with parallel = sync")
    if cell.gpus == 1:
        return _MODES[cluster.parallel](table, cell, cluster)
    if cluster.parallel != "allreduce" or len(cluster.places) > 1:
        raise Unsupported("many GPUs train with parallel = sync on one node")
    return mirrored.Workload(table, cell, cluster)
