"""What MXNet needs around it. MXNet 1.7 (Python 3.6) and 1.9."""
import os
import tempfile

from workloads.places.addresses import resolved
from workloads.spec.cell import Cell

SEEN = ("MXNET_MKLDNN_ENABLED", "MXNET_CUDNN_AUTOTUNE_DEFAULT", "MXNET_ENFORCE_DETERMINISM")
SEEN_FAMILIES = ()
SERVERS = dict.fromkeys(("server", "scheduler"), "workloads.frameworks.servers.mxnet")
# How cuDNN's algorithms are chosen. profiling: all are tried, and the fastest is kept, as PyTorch's cudnn.benchmark
# does; MXNet's documentation says 2 for that, but from 1.5.1 to 1.9.1 a condition is the wrong way round, and 2 tries
# only what fits its workspace while 1 tries all. heuristic: cuDNN's own choice.
_CONVOLUTIONS = {"profiling": {"MXNET_CUDNN_AUTOTUNE_DEFAULT": "1"}, "heuristic": {"MXNET_CUDNN_AUTOTUNE_DEFAULT": "0"}}


# commands of the first worker to all servers, beside MXNet's own
START_PROFILE, STOP_PROFILE = "evenbench: start the profile", "evenbench: stop the profile"


def profile_path(worker: int):
    """Where the server of a place writes its profile, by the process id of the worker, which started it."""
    return os.path.join(tempfile.gettempdir(), "evenbench-server-%d.json" % worker)


def variables(cell: Cell):
    """oneDNN, which it calls MKLDNN, and the choice of convolutions."""
    own = dict(_CONVOLUTIONS.get(cell.conv, {}))
    if cell.onednn != "default":
        own.update(MXNET_MKLDNN_ENABLED=str(int(cell.onednn == "on")),
                   MXNET_STORAGE_FALLBACK_LOG_VERBOSE="0")         # else a line for every operator
    return own


def place_variables(cluster, role: str):
    """Where the scheduler is, as an address: ps-lite binds to an address, not to a name."""
    host, port = cluster.address("scheduler", 0).split(":")
    return {"DMLC_ROLE": role, "DMLC_PS_ROOT_URI": resolved(host), "DMLC_PS_ROOT_PORT": port,
            "DMLC_NUM_WORKER": str(cluster.workers), "DMLC_NUM_SERVER": str(cluster.workers),
            "DMLC_NODE_HOST": resolved(cluster.addresses[cluster.rank][0])}


def gpu_code(mxnet):
    """It tells neither version nor architectures."""
    return ("0.0", []) if mxnet.context.num_gpus() else ("", [])
