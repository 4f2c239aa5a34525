"""What PyTorch needs around it. PyTorch 1.4 and later, Python 3.6."""
from workloads.places.addresses import interface, resolved
from workloads.spec.cell import Cell

SEEN = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")
SEEN_FAMILIES = ("TORCHINDUCTOR_", "TRITON_")
SERVERS = {}


def variables(cell: Cell):
    """None: its switches are set once it is imported."""
    return {}


def place_variables(cluster, role: str):
    """Where the first worker is, as an address: PyTorch 1.4 and 1.7 give up at once on a name that is not known yet."""
    host, port = cluster.address("worker", 0).split(":")
    own = {"MASTER_ADDR": resolved(host), "MASTER_PORT": port, "RANK": str(cluster.worker),
           "WORLD_SIZE": str(cluster.workers)}
    # a container without a network has nothing but lo to offer; elsewhere Gloo takes the interface of the host's name
    name = "lo" if len(cluster.places) == 1 else interface(resolved(cluster.addresses[cluster.rank][0]))
    return dict(own, GLOO_SOCKET_IFNAME=name, NCCL_SOCKET_IFNAME=name) if name else own


def gpu_code(torch):
    """CUDA's version and the architectures that torch was compiled for."""
    if not torch.version.cuda:
        return "", []
    asked = getattr(torch.cuda, "get_arch_list", lambda: [])        # not before 1.8; empty without a GPU
    return torch.version.cuda, list(asked())
