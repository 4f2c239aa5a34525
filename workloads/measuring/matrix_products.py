"""Measure product: how fast this machine multiplies matrices in this stack, which is the limit beside every rate.

Blocks of products of square matrices of growing sizes, about a second in all; their best is for the host to take.
"""
import importlib
import time

from workloads.frameworks import contract
from workloads.process import environment
from workloads.process.errors import Unsupported, refuse_missing_tf32
from workloads.spec.cell import Cell

SIZES = (512, 1024, 2048, 4096, 8192)
_BLOCK_SECONDS = 0.01        # at least: many times what a clock and a call cost, and short enough to be left alone once
_SIZE_SECONDS = 0.25         # of a size: the best of its blocks is free of what others did
_LONGEST_SECONDS = 0.25      # of one product; a larger one tells no more
_GROWTH = 8                  # how much longer a product of the next size takes at least
# amp computes in both, so a step's limit is the faster of them
_NUMBERS = {"float32": ("float32",), "float64": ("float64",), "tf32": ("float32",), "amp": ("bfloat16", "float32")}


def measure(cell: Cell, adapter: "contract.Adapter", emit, clock=time.perf_counter) -> None:
    """Send "start", then a "product" event for each size. Raises Unsupported."""
    made = importlib.import_module(adapter.__name__ + ".product").made
    importlib.import_module(adapter.__name__ + ".settings").apply(cell)
    facts = dict(environment.facts(), **adapter.facts(cell))
    if cell.precision == "tf32":
        refuse_missing_tf32(_capability(facts))
    emit("start", facts=facts, parameters=None, flops=0, cpu_seconds=environment.used()["cpu_seconds"])
    refusals = []
    for numbers in _NUMBERS[cell.precision]:
        try:
            sizes(cell, made, numbers, emit, clock)
        except Unsupported as refusal:
            refusals.append(refusal)
    if len(refusals) == len(_NUMBERS[cell.precision]):
        raise refusals[0]


def _capability(facts: dict):
    """The (major, minor) of the GPU, None where the framework does not tell."""
    told = facts.get("compute_capability")
    return tuple(map(int, told.split("."))) if told else None


def sizes(cell: Cell, made, numbers, emit, clock) -> None:
    """Send a "product" event for each size, up to the one whose next would take too long, or too much memory."""
    for size in SIZES:
        if not _fits(cell, size):
            return
        step, sync = made(cell, size, numbers)
        _seconds(step, sync, 1, clock)               # the first one sets up
        count, blocks = _blocks(step, sync, clock)
        emit("product", numbers=numbers, size=size, count=count, seconds=blocks)
        if _GROWTH * min(blocks) / count > _LONGEST_SECONDS:
            return


def _blocks(step, sync, clock):
    """(products a block, seconds of each block), at least one."""
    count, blocks, spent = 1, [], 0.0
    while spent < _SIZE_SECONDS or not blocks:
        seconds = _seconds(step, sync, count, clock)
        spent += seconds
        if seconds < _BLOCK_SECONDS and not blocks:
            count *= 2
        else:
            blocks.append(seconds)
    return count, blocks


def _fits(cell: Cell, size):
    """Whether three matrices take no more than an eighth of what the cell may have."""
    return not cell.memory_bytes or 3 * 8 * size * size <= cell.memory_bytes // 8


def _seconds(step, sync, count: int, clock):
    began = clock()
    for _ in range(count):
        step()
    sync()
    return clock() - began
