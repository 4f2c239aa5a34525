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

    def block(inner: int) -> nn.Module:
        return nn.Sequential(*(layer for _ in range(4) for layer in (
            nn.Linear(256, inner), nn.GELU(), nn.Dropout(0.1), nn.Linear(inner, 256))))

    def inferred(model: nn.Module) -> Any:
        return torch.no_grad()(lambda: model(x))

    usual = inferred(block(1024).eval())
    ratio("threads unequal (1, not 2)", _after(torch.set_num_threads, 1, usual),
          _after(torch.set_num_threads, 2, usual))
    torch.set_num_threads(2)
    ratio("another size (1536, not 1024)", inferred(block(1536).eval()), usual)
    ratio("dropout on one side", inferred(block(1024).train()), usual)
    _of_convolutions(torch)
    a = torch.randn(1024, 1024)
    medium, highest = (_after(torch.set_float32_matmul_precision, name, lambda: nn.functional.linear(a, a))
                       for name in ("medium", "highest"))
    ratio("float32 that is not", medium, highest)
    _beside_a_neighbour(usual)


def _after(set_up: Callable[[Any], object], value: Any, step: Step) -> Step:
    """The step with what is set before it."""
    return lambda: (set_up(value), step())


def _of_convolutions(torch: Any) -> None:
    nn = torch.nn
    images = np.random.default_rng(0).integers(0, 256, (64, 32, 32, 3), np.uint8)
    ready = torch.randn(64, 3, 32, 32)
    convolutions = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1)).eval()

    def transformed() -> object:
        return convolutions((torch.from_numpy(images).float().permute(0, 3, 1, 2).contiguous() / 255 - 0.5) / 0.25)

    plain = torch.no_grad()(lambda: convolutions(ready))
    ratio("transforms on one side", torch.no_grad()(transformed), plain)
    ratio("oneDNN off", torch.backends.mkldnn.flags(enabled=False)(plain), plain)


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
