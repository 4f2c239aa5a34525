"""What JAX needs around it. JAX 0.10 and later."""
import importlib.util
import os

from workloads.places.addresses import resolved
from workloads.spec.cell import Cell

SEEN = ("NPROC",)                # the size of XLA's pool of threads, which its adapter sets
SEEN_FAMILIES = ("JAX_", "XLA_PYTHON_CLIENT_")         # the second is of its memory on a GPU
SERVERS = {}


def variables(cell: Cell):
    """None: its switches are set once it is imported."""
    return {}


def place_variables(cluster, role: str):
    """Where the first place's service of keys and barriers is; alone, a process needs none."""
    if len(cluster.places) == 1:
        return {}
    host, port = cluster.address("worker", 0).split(":")
    return {"JAX_COORDINATOR_ADDRESS": "%s:%s" % (resolved(host), port)}


def gpu_code(jax):
    """CUDA's version; its plugin compiles for the GPU that it finds. Raises RuntimeError where that finds none."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    try:
        devices = jax.devices("gpu")
    except RuntimeError:
        if _has_plugin():                # so a GPU's driver is too old, or others use it: JAX's own words say which
            raise
        return "", []
    version = getattr(devices[0].client, "platform_version", "") if devices else ""
    digits = [part for part in version.replace(",", " ").split() if part.isdigit() and len(part) >= 4]
    return ("%d.%d" % divmod(int(digits[0]) // 10, 100) if digits else "0.0") if devices else "", []


def _has_plugin() -> bool:
    """Whether JAX here has one for CUDA."""
    plugins = importlib.util.find_spec("jax_plugins")
    folders = list(plugins.submodule_search_locations or ()) if plugins else []
    return any(name.startswith("xla_cuda") for folder in folders for name in os.listdir(folder))
