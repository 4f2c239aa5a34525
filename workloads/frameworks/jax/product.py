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
    last = [product(left, right)]

    def step():
        last[0] = product(left, right)

    return step, lambda: last[0].block_until_ready()
