"""A product of two square matrices in MXNet."""
import mxnet as mx

from workloads.frameworks.mxnet import settings
from workloads.process.errors import Unsupported


def made(cell, size, numbers):
    """(step, sync): step() issues a product of (size, size) matrices of these numbers, sync() waits for all of them.

    Raises Unsupported where the device has no such product.
    """
    if numbers == "bfloat16":
        raise Unsupported("MXNet 1 multiplies matrices of bfloat16 inside a graph alone")
    device = settings.device(cell)
    left, right = (mx.nd.random.uniform(shape=(size, size), ctx=device, dtype=numbers) for _ in range(2))
    out = mx.nd.empty((size, size), ctx=device, dtype=numbers)
    return lambda: mx.nd.dot(left, right, out=out), out.wait_to_read
