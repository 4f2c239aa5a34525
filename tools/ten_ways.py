"""The ways of docs/ten-ways.md as figures of this machine: by how much each changes what is measured.

Run it with the Python of a stack, such as ~/.cache/evenbench/venvs/torch-2.13-cpu-*/bin/python tools/ten_ways.py: it
does what its framework can. Each line is a ratio of times, wrong over right, the median of rounds in which both take
turns.
"""

import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROUNDS = 15
Step = Callable[[], object]


def seconds(step: Step, least: float = 0.1) -> float:
    """Seconds of a step, over as many as last that long."""
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < least:
        step()
        count += 1
    return (time.perf_counter() - began) / count


def ratio(name: str, wrong: Step, right: Step) -> None:
    """Print how many times as long the wrong step takes."""
    for step in (wrong, right):
        seconds(step)
    ratios = [seconds(wrong) / seconds(right) for _ in range(ROUNDS)]
    low, _, high = statistics.quantiles(ratios, n=4)
    print(f"{name:<28} {statistics.median(ratios):6.2f}  (middle half {low:.2f} to {high:.2f})", flush=True)


def of_torch() -> None:
    """PyTorch: threads, sizes, dropout, input, oneDNN, precision, neighbours."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(2)
    x = torch.randn(64, 256)

    def block(inner: int, dropout: float = 0.1) -> nn.Module:
        return nn.Sequential(*(layer for _ in range(4) for layer in (
            nn.Linear(256, inner), nn.GELU(), nn.Dropout(dropout), nn.Linear(inner, 256))))

    def inferred(model: nn.Module) -> Step:
        def step() -> object:
            with torch.no_grad():
                return model(x)
        return step

    def with_threads(count: int, step: Step) -> Step:
        def counted() -> object:
            torch.set_num_threads(count)
            return step()
        return counted

    usual = inferred(block(1024).eval())
    ratio("threads unequal (1, not 2)", with_threads(1, usual), with_threads(2, usual))
    torch.set_num_threads(2)
    ratio("another size (1536, not 1024)", inferred(block(1536).eval()), usual)
    ratio("dropout on one side", inferred(block(1024).train()), usual)
    _of_convolutions(torch)
    _of_products(torch)
    _beside_a_neighbour(usual)


def _of_convolutions(torch: Any) -> None:
    nn = torch.nn
    images = np.random.default_rng(0).integers(0, 256, (64, 32, 32, 3), np.uint8)
    convolutions = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1)).eval()
    ready = torch.randn(64, 3, 32, 32)

    def transformed() -> object:
        batch = (torch.from_numpy(images).float().permute(0, 3, 1, 2).contiguous() / 255 - 0.5) / 0.25
        with torch.no_grad():
            return convolutions(batch)

    def plain() -> object:
        with torch.no_grad():
            return convolutions(ready)

    def without_onednn() -> object:
        with torch.backends.mkldnn.flags(enabled=False):
            return plain()

    ratio("transforms on one side", transformed, plain)
    ratio("oneDNN off", without_onednn, plain)


def _of_products(torch: Any) -> None:
    a = torch.randn(1024, 1024)

    def product(precision: str) -> Step:
        def step() -> object:
            torch.set_float32_matmul_precision(precision)
            return torch.nn.functional.linear(a, a)
        return step

    ratio("float32 that is not", product("medium"), product("highest"))
    torch.set_float32_matmul_precision("highest")


def _beside_a_neighbour(step: Step) -> None:
    neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        seconds(step, 1.0)
        beside = [seconds(step) for _ in range(ROUNDS)]
    finally:
        neighbour.kill()
        neighbour.wait()
    alone = [seconds(step) for _ in range(ROUNDS)]
    print(f"{'another time or machine':<28} {statistics.median(beside) / statistics.median(alone):6.2f}  "
          "(one neighbour on one of the CPUs)")


def of_jax() -> None:
    """JAX: the first call in the mean, and what was not waited for."""
    import jax
    from jax import numpy as jnp

    weights = [jax.random.normal(jax.random.key(index), (512, 512)) for index in range(8)]

    def layers(x: Any) -> Any:
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return x

    step = jax.jit(layers)
    x = jnp.ones((512, 512))
    began = time.perf_counter()
    step(x).block_until_ready()
    first = time.perf_counter() - began
    later = seconds(lambda: step(x).block_until_ready())
    print(f"{'first call in the mean':<28} {(first + 99 * later) / (100 * later):6.2f}  (of 100 calls)")
    some = [step(x) for _ in range(3)]
    began = time.perf_counter()
    some.append(step(x))
    told = time.perf_counter() - began
    jax.block_until_ready(some)
    print(f"{'async, not waited for':<28} {told / later:6.2f}  (one call of {later * 1e3:.1f} ms)")


def of_tensorflow() -> None:
    """TensorFlow: predict in a loop."""
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(128, activation="relu"), tf.keras.layers.Dense(10)])
    batch = np.ones((32, 64), np.float32)
    model(batch)
    call = tf.function(model)
    ratio("predict in a loop", lambda: model.predict(batch, verbose=0), lambda: call(batch).numpy())


if __name__ == "__main__":
    for package, figures in (("torch", of_torch), ("jax", of_jax), ("tensorflow", of_tensorflow)):
        if importlib.util.find_spec(package):
            figures()
