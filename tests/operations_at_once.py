"""What tf.function gains by running as many operations at once as there are CPUs: python -m tests.operations_at_once.

Two workers of a stack and model, one operation at once and one for each CPU, take blocks of steps by turns
while the other waits: TensorFlow 2 cannot change the number in a process. A pair of workers is one number, the median
over its blocks; PAIRS of them, in virtual environments, are the ratio's interval. Prints a line a stack and cell, a
minute on two CPUs: python -m tests.operations_at_once [PAIRS]
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from runner import formatting, paths
from runner.analysis import stats
from runner.stacks import definition, environments
from workloads.spec.cell import Cell

STACKS = ("tf-2.21", "tf-2.5")
BLOCKS = 6                     # of each worker; one more before them warms up
# steps: a block takes about half a second on two CPUs
CELLS = (
    Cell(stack="", task="lenet5", measure="train", input="synthetic", steps=100, warmup=0),
    Cell(stack="", task="resnet50", measure="train", input="synthetic", batch=8, image=64, classes=1000, steps=3,
         warmup=0, learning_rate=1e-4),
    Cell(stack="", task="bert", measure="train", input="synthetic", batch=8, steps=12, warmup=0, learning_rate=1e-4),
    Cell(stack="", task="gpt2", measure="train", input="synthetic", batch=4, steps=20, warmup=0, learning_rate=1e-4),
    Cell(stack="", task="bert", measure="infer", input="synthetic", batch=8, steps=40, warmup=0),
)


class Worker:
    """A process that takes a block of steps whenever it is asked."""

    def __init__(self, python: Path, cell: Cell, at_once: int) -> None:
        self._process = subprocess.Popen(
            [python, "-m", "tests.stack.blocks_by_turns", str(at_once), json.dumps(cell._asdict())], cwd=paths.ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._at_once = at_once

    def ask(self) -> None:
        """Begin a block."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def seconds(self) -> float:
        """Of the block that it was asked for."""
        assert self._process.stdout
        told = json.loads(self._process.stdout.readline())
        assert told["at_once"] == self._at_once
        return float(told["seconds"])

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()              # closes its input, which ends it


def pair(python: Path, cell: Cell, cpus: int) -> tuple[float, float]:
    """Median seconds of a block: one operation at once, and one for each CPU."""
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(python, cell, at_once)) for at_once in (1, cpus)]
        for worker in workers:                   # both start and trace side by side
            worker.ask()
        for worker in workers:
            worker.seconds()
        blocks: list[list[float]] = [[], []]
        for turn in range(BLOCKS):
            for index in (0, 1) if turn % 2 else (1, 0):
                workers[index].ask()
                blocks[index].append(workers[index].seconds())
    one, many = (stats.median(seconds) or 0.0 for seconds in blocks)
    return one, many


def lines(pairs: int) -> Iterator[str]:
    """The table of docs/measurements.md."""
    cpus = len(os.sched_getaffinity(0))
    known = definition.read_all(paths.STACKS)
    yield f"| stack, cell | a step, one at once | {cpus} at once | rate, {cpus} / one |"
    yield "|---|---|---|---|"
    for name in STACKS:
        python = environments.ready(known[name], say=print)
        for cell in CELLS:
            cell = cell._replace(stack=name, cpus=cpus)
            found = [pair(python, cell, cpus) for _ in range(pairs)]
            steps = [formatting.milliseconds((stats.median(seconds) or 0.0) / cell.steps)
                     for seconds in zip(*found, strict=True)]
            ratios = [one / many for one, many in found]
            yield (f"| {name}, {cell.task} {cell.measure}, batch {cell.batch} | {steps[0]} | {steps[1]} | "
                   f"{formatting.ratio(stats.geometric_mean(ratios) or 0.0, stats.interval(ratios))} |")


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        print(line, flush=True)
