"""The numbers of a stack's result that are medians over runs: what each means, how a run tells it, how it is shown.

A row is a key of summary.json, a column of the CSV and, where it has a title, one of terminal and page. Pure.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from runner import formatting
from runner.results.rows import Row
from runner.results.runs import Run, rate_per_worker
from runner.study import quantities
from runner.study.quantities import Reader
from workloads.spec.measures import RATED

# the tables of results: the rates, what was measured beside them, and three that few sessions have
RATES, BESIDE, SEQUENCES, EPOCHS, ENERGY = "", "beside", "sequences", "epochs", "energy"


class Number(NamedTuple):
    """A number, in SI."""

    says: str                                # in summary.json's methods; "" where another number's line says it
    read: Reader                             # of a run that ended ok; None where it does not tell
    title: str = ""                          # of its column
    text: Callable[[Any], str] = str         # how people read it
    part: str = RATES                        # the table that has the column
    is_whole: bool = False                   # a count
    is_of_all: bool = False                  # None where one of the runs does not tell: who does may be the fast ones


def joules(row: Row, run: Run, watts: float | None) -> float | None:
    """The energy of a sample: watts over samples a second."""
    rate = None if watts is None else rate_per_worker(row.samples(run), run)
    return watts / (rate * len(run.workers)) if watts is not None and rate else None


def _first_step_seconds(row: Row, run: Run) -> float | None:
    is_waited = row.cell.sync != "end" or row.cell.warm == "steady"        # for each step of the warm-up
    seconds = run.first.warmup_seconds
    return float(seconds[0]) if is_waited and len(seconds) else None       # with sync=end no single one is waited for


def _percentile(percent: int) -> Reader:
    """Seconds that so many of a run's single timed steps that count stay below; None of too few, and of blocks."""
    def read(row: Row, run: Run) -> float | None:
        if row.cell.measure not in RATED or any(set(worker.sample_steps) != {1} for worker in run.workers):
            return None
        steps = np.concatenate([worker.sample_seconds[worker.counts] for worker in run.workers])
        return float(np.quantile(steps, percent / 100)) if len(steps) >= 100 / (100 - percent) else None

    return read


def _of_one_node(name: str) -> Reader:
    """Bytes of a run on one node, by that name; None of one on many."""
    return lambda row, run: None if run.usage else run.after.get(name)


NUMBERS: dict[str, Number] = {
    **{f"step_p{percent}": Number(
        f"seconds that {percent} % of a run's single timed steps stay below; null where they are not timed one by one, "
        "or in one of them too few", _percentile(percent), f"step p{percent}", formatting.milliseconds, BESIDE,
        is_of_all=True)
       for percent in (50, 95, 99)},
    "first_step_seconds": Number(
        "the first warm-up step, compilation included", _first_step_seconds, "first step", formatting.seconds, BESIDE),
    "compile_seconds": Number(
        "of the compiler alone, where the framework keeps an account of it (docs/report.md says which do); of one "
        "worker, from start to last step, most of it in the first",
        lambda row, run: run.compiled.seconds if run.compiled else None, "compile time", formatting.seconds, BESIDE),
    "compiled_programs": Number(
        "", lambda row, run: run.compiled.programs if run.compiled else None, is_whole=True),
    "load_share": Number("seconds of waiting for input over seconds of the timed steps",
                         partial(quantities.share, "load"), "input wait", formatting.share, BESIDE),
    "peak_bytes": Number("peak resident memory of the worker, on one node", _of_one_node("peak_bytes"), "peak memory",
                         formatting.size, BESIDE, is_whole=True),
    "accuracy": Number("on the held-out images after the last epoch", lambda row, run: run.accuracy, "accuracy",
                       formatting.share, BESIDE),
    "first_epoch_seconds": Number("", partial(quantities.of, "first_epoch"), "first epoch", formatting.seconds, EPOCHS),
    "epoch_seconds": Number(
        "training of the epochs after the first, the mean of each run; so are validation_seconds",
        partial(quantities.of, "epoch"), "later epochs", formatting.seconds, EPOCHS),
    "validation_seconds": Number("", partial(quantities.of, "validation"), "validation", formatting.seconds, EPOCHS),
    "best_accuracy": Number("", partial(quantities.of, "accuracy"), "best accuracy", formatting.share, EPOCHS),
    "gpu_watts": Number(
        "power of all of a run's GPUs over the timed steps, by their energy counters where they have them, of less "
        "than a second by five readings of the moment at least; of a MIG slice the whole board's",
        lambda row, run: quantities.watts(run), "GPU power", "{:.0f} W".format, ENERGY),
    "joules_per_sample": Number(
        "gpu_watts over the samples a second of all workers", lambda row, run: joules(row, run, quantities.watts(run)),
        "a sample", "{:.3g} J".format, ENERGY),
    "gpu_sm_clock": Number("hertz, the mean over the timed steps", lambda row, run: run.after.get("gpu_sm_clock"),
                           "SM clock", lambda hertz: f"{hertz / 1e6:,.0f} MHz", ENERGY),
    "gpu_peak_bytes": Number(
        "the most that the framework's own allocator held of a GPU, searches for algorithms included; of one node, "
        "null where the framework does not tell", _of_one_node("gpu_allocated_bytes"), "GPU memory", formatting.size,
        ENERGY, is_whole=True),
    "cpu_watts": Number(
        "power of all CPU packages of the machine over the timed steps, by the kernel's RAPL counters: idle cores and "
        "other programs count too, memory does not",
        lambda row, run: run.after.get("cpu_watts"), "CPU power", "{:.0f} W".format, ENERGY),
    "cpu_joules_per_sample": Number(
        "cpu_watts over the samples a second of all workers",
        lambda row, run: joules(row, run, run.after.get("cpu_watts")), "a sample, CPU", "{:.3g} J".format, ENERGY),
    "places_peak_bytes": Number("of all places of a parallel run together; null on one node, and where one tells none",
                                lambda row, run: quantities.of("memory", row, run) if run.usage else None,
                                is_whole=True),
}
