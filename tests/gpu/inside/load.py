"""python -m tests.gpu.inside load PACKAGE SECONDS: keep a GPU busy with bfloat16 products, and say when it is."""

import time

from tests.gpu.inside import ours

SIZE, TOGETHER = 8192, 20             # rows; products between two looks at the clock: about 30 ms on an H100


def main(package, seconds):
    work, sync = {"torch": _torch, "jax": _jax}[package]()
    sync(work())
    ours.say(event="running")
    ends = time.perf_counter() + float(seconds)
    while time.perf_counter() < ends:
        for _ in range(TOGETHER):
            done = work()
        sync(done)
    ours.say(event="done")


def _torch():
    import torch

    left, right = (torch.randn(SIZE, SIZE, device="cuda").bfloat16() for _ in range(2))
    return lambda: left @ right, lambda _: torch.cuda.synchronize()


def _jax():
    import jax

    left, right = (jax.random.normal(jax.random.key(seed), (SIZE, SIZE), jax.numpy.bfloat16) for seed in range(2))
    product = jax.jit(jax.numpy.matmul)
    return lambda: product(left, right), jax.block_until_ready
