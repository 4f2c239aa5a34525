"""Training in many places or on many GPUs, by the cell's mode.

allreduce.py, mirrored.py, central.py, parameter_servers.py are of TensorFlow from 2.4 on; by_horovod.py, central_v1.py
of 1.15.
"""
from workloads.frameworks.tensorflow import settings
from workloads.frameworks.tensorflow.parallel import (
    allreduce,
    by_horovod,
    central,
    central_v1,
    mirrored,
    parameter_servers,
)
from workloads.process.errors import Unsupported

_MODES = {"allreduce": allreduce.Workload, "ps-async": parameter_servers.Workload}
_OF_ONE_NODE = {"allreduce": mirrored.Workload, "central": central.Workload}      # on all of its GPUs
serve = parameter_servers.serve


def Workload(table, cell, cluster):
    """The workload of the cell's mode. Raises Unsupported where the stack cannot do what the cell asks."""
    if cluster and cluster.parallel == "horovod":
        return by_horovod.Workload(table, cell, cluster)
    settings.refuse_parallel(_in_mode(cell, cluster))
    if cell.gpus == 1 and cluster.parallel in _MODES:
        return _MODES[cluster.parallel](table, cell, cluster)
    if cluster.parallel not in _OF_ONE_NODE or len(cluster.places) > 1:
        raise Unsupported("many GPUs train with parallel = %s on one node" % " or ".join(sorted(_OF_ONE_NODE)))
    return _OF_ONE_NODE[cluster.parallel](table, cell, cluster)


def Sequences(cell, cluster):
    """The same for sequence models, which TensorFlow 1.15 alone trains together. Raises Unsupported."""
    if cluster and cluster.parallel == "horovod":
        return by_horovod.Sequences(cell, cluster)
    settings.refuse_parallel(_in_mode(cell, cluster))
    return central_v1.Sequences(cell)


def _in_mode(cell, cluster):
    """The cell with its mode as TensorFlow's own."""
    return cell._replace(parallel=cluster.parallel if cluster else "none")
