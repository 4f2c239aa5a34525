"""What TensorFlow needs around it. TensorFlow 1.15 and 2.x, Python 3.6."""
import ctypes
import glob
import json
import os
import sys

from workloads.places.addresses import interface, resolved
from workloads.spec.cell import Cell
from workloads.spec.cluster import PATIENCE_SECONDS

SEEN = ("TF_ENABLE_ONEDNN_OPTS", "XLA_FLAGS", "TF_XLA_FLAGS", "TF_CUDNN_USE_AUTOTUNE", "TF_CUDNN_DETERMINISTIC",
        "TF_DETERMINISTIC_OPS", "TF_CUDNN_USE_FRONTEND", "TF_CUDNN_RNN_USE_AUTOTUNE", "TF_CUDNN_WORKSPACE_LIMIT_IN_MB",
        "TF_SYNC_ON_FINISH", "TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR")
SEEN_FAMILIES = ()
SERVERS = {"rendezvous": "workloads.frameworks.servers.horovod"}       # others need the whole adapter
# How cuDNN's algorithms are chosen. fixed: TensorFlow 1.15 takes the algorithms that PyTorch's deterministic ones are
# (IMPLICIT_PRECOMP_GEMM, backwards ALGO_1); NVIDIA's build of it only without cuDNN's frontend, a variable that others
# do not know.
_CONVOLUTIONS = {"profiling": {"TF_CUDNN_USE_AUTOTUNE": "1"}, "heuristic": {"TF_CUDNN_USE_AUTOTUNE": "0"},
                 "fixed": {"TF_CUDNN_DETERMINISTIC": "1", "TF_CUDNN_USE_FRONTEND": "0"}}
_NAMES = {"worker": "worker", "server": "ps", "coordinator": "chief"}       # of roles, in TF_CONFIG


def variables(cell: Cell):
    """Its log, oneDNN and the choice of convolutions; of a GPU cuDNN's search for the fastest LSTM, its default."""
    own = dict({"TF_CPP_MIN_LOG_LEVEL": "2"}, **_CONVOLUTIONS.get(cell.conv, {}))
    if cell.onednn != "default":
        own["TF_ENABLE_ONEDNN_OPTS"] = str(int(cell.onednn == "on"))
    if cell.device == "gpu":
        own["TF_CUDNN_RNN_USE_AUTOTUNE"] = "1"
    return own


def place_variables(cluster, role: str):
    """TF_CONFIG, in which server and coordinator are ps and chief; or what Horovod reads."""
    if cluster.parallel == "horovod":
        return _horovod(cluster)
    names = {"worker": "worker"} if cluster.mode.is_synchronous else _NAMES
    addresses = {name: [cluster.address(each, rank) for rank, place in enumerate(cluster.places)
                        if each == place.main or each in place.helpers] for each, name in names.items()}
    index = 0 if role == "coordinator" else cluster.rank
    return {"TF_CONFIG": json.dumps({"cluster": addresses, "task": {"type": names[role], "index": index}})}


def _horovod(cluster):
    """What Horovod's own launcher sets where there is no MPI; workers meet at a store of keys on the first node."""
    host, port = cluster.address("rendezvous", 0).split(":")
    own = {"HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo",
           "HOROVOD_RANK": cluster.worker, "HOROVOD_SIZE": cluster.workers,
           "HOROVOD_LOCAL_RANK": cluster.process, "HOROVOD_LOCAL_SIZE": cluster.processes,
           "HOROVOD_CROSS_RANK": cluster.rank, "HOROVOD_CROSS_SIZE": len(cluster.places),
           "HOROVOD_HOSTNAME": cluster.place.name, "HOROVOD_GLOO_TIMEOUT_SECONDS": PATIENCE_SECONDS,
           "HOROVOD_GLOO_RENDEZVOUS_ADDR": resolved(host), "HOROVOD_GLOO_RENDEZVOUS_PORT": port}
    name = interface(resolved(cluster.addresses[cluster.rank][0]))
    if name:
        own.update(HOROVOD_GLOO_IFACE=name, NCCL_SOCKET_IFNAME=name)
    return {name: str(value) for name, value in own.items()}


def load_cuda() -> None:
    """Load CUDA 11 from its wheels, where they are there: TensorFlow looks for it in the system alone up to 2.13.

    It asks for each library by its name, which is then the loaded one's.
    """
    for name in _CUDA_11:
        for folder in sys.path:
            for path in glob.glob(os.path.join(folder, "nvidia", "*", "lib", name)):
                ctypes.CDLL(path, ctypes.RTLD_GLOBAL)


# in an order in which each finds those that it needs
_CUDA_11 = ("libcudart.so.11.0", "libcublasLt.so.11", "libcublas.so.11", "libcufft.so.10", "libcurand.so.10",
            "libcusparse.so.11", "libcusolver.so.11", "libcudnn.so.8", "libcupti.so.11.8", "libnccl.so.2")


def gpu_code(tensorflow):
    """CUDA's version and the architectures that TensorFlow was compiled for, from 2.3 on."""
    if not tensorflow.test.is_built_with_cuda():
        return "", []
    try:
        build = tensorflow.sysconfig.get_build_info()               # not before 2.3
    except AttributeError:
        build = {}
    return str(build.get("cuda_version", "0.0")), list(build.get("cuda_compute_capabilities", []))
