"""python -m tests.gpu.inside facts PACKAGE|any DEVICE: the frameworks that are here, a line each, and their GPU."""

import ctypes
import importlib.metadata
import importlib.util
import json
import platform
import uuid

PACKAGES = ("torch", "jax")


def main(package: str, device: str) -> None:
    """Say the facts, with a "problem" where nothing can be proved here."""
    present = [name for name in PACKAGES if importlib.util.find_spec(name)]
    asked = present if package == "any" else [name for name in present if name == package]
    if not asked:
        _say(problem=f"found no {' or '.join(PACKAGES) if package == 'any' else package}: install it there, or name "
                     "another environment with --stack NAME=PATH")
        return
    for name in asked:
        found = {"package": name, "python": platform.python_version(), "versions": _versions()}
        found.update(_torch() if name == "torch" else _jax(device))
        if device == "gpu" and not found.get("gpu"):
            found["problem"] = f"{name} {found['version']} sees no GPU here"
        _say(**found)


def _say(**values: object) -> None:
    print(json.dumps(values))


def _versions() -> dict:
    names = ("numpy", "torchvision", "transformers")
    return {name: importlib.metadata.version(name) for name in names if importlib.util.find_spec(name)}


def _torch() -> dict:
    import torch

    found = {"version": torch.__version__, "cuda": torch.version.cuda}
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        found.update(gpu=properties.name, capability=list(torch.cuda.get_device_capability(0)),
                     memory_bytes=properties.total_memory,
                     architectures=torch.cuda.get_arch_list(), cudnn=torch.backends.cudnn.version(),
                     uuid=str(getattr(properties, "uuid", "")) or first_uuid())
    return found


def _jax(device: str) -> dict:
    import jax

    found = {"version": jax.__version__}
    gpus = [each for each in jax.devices() if each.platform in ("gpu", "cuda")] if device == "gpu" else []
    if gpus:
        capability = getattr(gpus[0], "compute_capability", "0.0")
        found.update(gpu=gpus[0].device_kind, capability=[int(part) for part in str(capability).split(".")],
                     uuid=first_uuid())
    return found


def first_uuid(library: ctypes.CDLL | None = None) -> str:
    """The uuid of the first GPU that this process sees, as the driver says it; "" where it does not.

    JAX and older PyTorches tell none, and the management library's first GPU is another one where
    CUDA_VISIBLE_DEVICES chooses.
    """
    try:
        library = library or ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ""
    device, told = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    if library.cuInit(0) or library.cuDeviceGet(ctypes.byref(device), 0) or library.cuDeviceGetUuid(told, device):
        return ""
    return str(uuid.UUID(bytes=bytes(told)))
