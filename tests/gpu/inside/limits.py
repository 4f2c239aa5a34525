"""python -m tests.gpu.inside limits ADAPTER '[<cell JSON>, ...]' SIZES COPIED_BYTES: the fastest that the device goes.

Square matrix products of random numbers (SIZES rows, as 4096,8192) in each precision, in FLOP/s, and a copy within the
device's memory in bytes/s, read and written. Each is the best size, of three blocks of at least 0.2 s. Then our own
training steps of each cell, in the same process, in seconds.
"""

import json
import os
import time

from tests.gpu.inside import ours

BLOCKS, SECONDS = 3, 0.2


def main(adapter, text, sizes, copied):
    cells = [ours.prepared(json.dumps(values)) for values in json.loads(text)]
    os.environ.pop("NVIDIA_TF32_OVERRIDE", None)       # 0 would make the TF32 product one in float32
    rates = {}
    for size in map(int, sizes.split(",")):
        products, copy, sync = {"pytorch": _torch, "jax": _jax}[adapter](cells[0], size, int(copied))
        for name, work in products.items():
            rates[name] = max(rates.get(name, 0.0), 2 * size ** 3 / _fastest(work, sync))
    for name, rate in rates.items():
        ours.say(event="product", precision=name, rate=rate)
    ours.say(event="copy", rate=2 * int(copied) / _fastest(copy, sync))
    del products, copy, work
    for index, cell in enumerate(cells):
        if cell.precision in rates:
            ours.say(index=index, **_steps(cell, adapter))


def _steps(cell, adapter):
    """The event of a cell's own steps; one that the framework cannot take says why."""
    from workloads.process.errors import Unsupported

    try:
        workload, batches, _ = ours.built(cell, adapter)
        ours.block(cell._replace(steps=cell.warmup), workload, batches)
        seconds = ours.block(cell, workload, batches) / cell.steps
    except Unsupported as error:
        return {"event": "unsupported", "message": str(error)}
    del workload, batches
    ours.freed(cell, adapter)
    return {"event": "steps", "seconds": seconds}


def _fastest(work, sync):
    """Seconds of one call."""
    count, seconds = 1, 0.0
    while seconds < SECONDS:                   # also warms up
        count, seconds = 2 * count, _timed(work, sync, 2 * count)
    return min(_timed(work, sync, count) for _ in range(BLOCKS)) / count


def _timed(work, sync, count):
    sync(work())
    began = time.perf_counter()
    for _ in range(count):
        done = work()
    sync(done)
    return time.perf_counter() - began


def _torch(cell, size, copied):
    import torch

    torch.set_num_threads(cell.cpus)
    device = torch.device("cuda" if cell.device == "gpu" else "cpu")

    def product(dtype, is_tf32=False):
        left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))

        def work():
            torch.backends.cuda.matmul.allow_tf32 = is_tf32
            return left @ right
        return work

    products = {"float32": product(torch.float32), "float64": product(torch.float64)}
    if device.type == "cuda":
        products.update(tf32=product(torch.float32, is_tf32=True), amp=product(torch.bfloat16))
    source = torch.randn(copied // 4, device=device)
    target = torch.empty_like(source)

    def sync(_):
        if device.type == "cuda":
            torch.cuda.synchronize()

    return products, lambda: target.copy_(source), sync


def _jax(cell, size, copied):
    import jax

    jax.config.update("jax_enable_x64", True)
    numpy, precisions = jax.numpy, jax.lax.Precision

    def product(dtype, precision=precisions.HIGHEST):
        left, right = (jax.random.normal(jax.random.key(seed), (size, size), dtype) for seed in range(2))
        compiled = jax.jit(lambda a, b: numpy.matmul(a, b, precision=precision))
        return lambda: compiled(left, right)

    products = {"float32": product(numpy.float32), "float64": product(numpy.float64)}
    if cell.device == "gpu":
        products.update(tf32=product(numpy.float32, precisions.DEFAULT), amp=product(numpy.bfloat16))
    source = jax.random.normal(jax.random.key(0), (copied // 4,), numpy.float32)
    copy = jax.jit(lambda x: x + 1)            # XLA would leave a mere copy out; this reads and writes as much
    return products, lambda: copy(source), jax.block_until_ready
