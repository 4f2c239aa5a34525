"""A product of two square matrices in PyTorch."""
import torch

from workloads.frameworks.pytorch import settings
from workloads.process.errors import Unsupported


def made(cell, size, numbers):
    """(step, sync): step() issues a product of (size, size) matrices of these numbers, sync() waits for all of them.

    Raises Unsupported where the device has no such product.
    """
    device, dtype = settings.device(cell), getattr(torch, numbers)
    left, right = (torch.rand(size, size).to(device, dtype) for _ in range(2))
    out = torch.empty(size, size, device=device, dtype=dtype)
    try:
        torch.mm(left, right, out=out)
    except RuntimeError as error:
        if "not implemented" in str(error):
            raise Unsupported("no product of %s on a %s" % (numbers, cell.device)) from error
        raise
    sync = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    return lambda: torch.mm(left, right, out=out), sync
