"""A product of two square matrices in JAX."""
import jax
import jax.numpy as jnp
import numpy as np

from workloads.frameworks.jax import settings


def made(cell, size, numbers):
    """(step, sync): step() issues a product of (size, size) matrices of these numbers, sync() waits for the last."""
    device = settings.device(cell)
    left, right = (jax.device_put(jnp.asarray(np.random.rand(size, size), numbers), device) for _ in range(2))
    product = jax.jit(jnp.matmul)
    issued = [product(left, right)]

    def step():
        if cell.device == "gpu":                 # one after the other; a CPU's may be computed at once
            issued.clear()
        issued.append(product(left, right))

    def sync():
        jax.block_until_ready(issued)
        issued.clear()

    return step, sync
