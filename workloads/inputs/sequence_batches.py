"""Batches of a sequence task: the same order, lengths and padding in every framework. Python 3.6, numpy only."""
import importlib
from typing import NamedTuple

from workloads.spec import sequence_tasks
from workloads.spec.cell import Cell

CHECKED = 16                 # batches of which a check takes the one with the most padding


class Sequences(NamedTuple):
    """Padded batches, each a dict of arrays, and where they came from."""

    batches: tuple
    facts: dict

    @property
    def inputs(self):
        """What a workload's batches and synthetic take."""
        return (self.batches,)

    @property
    def steps(self):
        """Of one pass."""
        return len(self.batches)

    def part(self, rank: int, count: int):
        """Every count-th of the batches, from rank on, as often as all have one; of fewer than count, one each."""
        kept = [(rank + turn * count) % len(self.batches) for turn in range(max(1, len(self.batches) // count))]
        return Sequences(tuple(self.batches[index] for index in kept), dict(
            self.facts, batches=len(kept), shard="%d of %d" % (rank, count), **self._of_pass(kept)))

    @property
    def pass_steps(self):
        """Of one pass over batches that are not alike; 0 where all are."""
        return len(self.batches) if "pass_tokens" in self.facts else 0

    def _of_pass(self, kept):
        """The fact of the tokens of these batches."""
        tokens = self.facts.get("pass_tokens")
        return {"pass_tokens": [tokens[index] for index in kept]} if tokens else {}

    def first(self, count: int):
        """What a workload's check takes: a batch."""
        return (self.batches[0],)


def read(folder: str, cell: Cell):
    """The batches of a cell, as many as spec.sequence_tasks says.

    A check's is the one with the most padding of CHECKED, so that masks count also where few sequences are short.
    Raises DataError where the folder of the model's own data set is not as it must be.
    """
    model = importlib.import_module("workloads.inputs.models." + cell.task)
    sizes, own = sequence_tasks.sizes(cell), sequence_tasks.SEQUENCES[cell.task].model.DATA
    is_own = cell.data == own and cell.input != "synthetic"
    is_searched = cell.measure == "check" and cell.input != "synthetic"
    count = CHECKED if is_searched else sequence_tasks.pass_batches(cell)
    samples = model.samples(sizes, count * cell.batch, cell.seed, folder if is_own else None)
    numbers = "float64" if cell.precision == "float64" else "float32"
    batches = tuple(model.collate(sizes, samples[first:first + cell.batch], numbers, cell.padding == "buckets")
                    for first in range(0, len(samples) - cell.batch + 1, cell.batch))
    if cell.measure == "check":
        batches = (min(batches, key=lambda batch: _share(*model.tokens(batch))),)
    counts = [model.tokens(batch) for batch in batches]
    shapes = len({tuple(array.shape for array in batch.values()) for batch in batches})
    facts = {
        "name": own if is_own else "seeded sequences", "stand_in": bool(own) and not is_own, "batches": len(batches),
        "tokens": sum(real for real, _ in counts) / len(counts),
        "padded_tokens": sum(padded for _, padded in counts) / len(counts),
        "padding": "to a batch's longest" if cell.padding == "batch" else "to the next of a few lengths",
        "shapes": shapes,
        "order": "seeded, the same in every epoch"}
    if shapes > 1 or len(set(counts)) > 1:          # else all batches are alike
        facts["pass_tokens"] = [int(padded) for _, padded in counts]
    return Sequences(batches, facts)


def _share(real, padded):
    """Of the tokens that are real."""
    return float(real) / padded
