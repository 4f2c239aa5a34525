"""What a reader must know beside a number: a closed list of flags, each with its footnote. Pure."""

from collections.abc import Callable, Set
from enum import StrEnum
from typing import NamedTuple

from runner.analysis.stats import LEAST_RUNS, median
from runner.cells import built, model_name
from runner.machine import host
from runner.machine.gpus import THROTTLED_SHARE
from runner.machine.host import FOREIGN_SHARE
from runner.results.rows import Row
from runner.results.runs import Run, Samples
from workloads.spec import cluster
from workloads.spec.cell import Cell

Proved = Set[tuple[str, str]]      # (task, stack as cells.built names it) that was checked to be the same model

_LEAST_LOSSES = 8                  # fewer do not show whether a loss falls
_BUSY_LOAD = 0.5                   # of the CPUs
_SWAP_BYTES = 2**20                # less is bookkeeping of the kernel
_CLOCK_SHARE = 0.02                # both clocks see the same steps: waiting for one takes microseconds
_DRAIN_SHARE = 0.05                # reading a finished loss takes microseconds


class Flag(StrEnum):
    """In the order of the footnotes."""

    UNPROVED = "unproved"
    TIMER_MISMATCH = "timer_mismatch"
    CLOCKS_DISAGREE = "clocks_disagree"
    FEW_RUNS = "few_runs"
    OTHER_BASE = "other_base"
    VENV = "venv"
    NOT_PINNED = "not_pinned"
    STAND_IN_DATA = "stand_in_data"
    THREADS_DIFFER = "threads_differ"
    TOO_FEW_CPUS = "too_few_cpus"
    ONEDNN_DIFFERS = "onednn_differs"
    LEFT_OFF = "left_off"
    OTHER_PRECISION = "other_precision"
    CONVERTED = "converted"
    WITHOUT_GRAPH = "without_graph"
    PART_OF_PASS = "part_of_pass"
    COMPILED = "compiled"
    GPUS_IN_PARALLEL = "gpus_in_parallel"
    THROTTLED = "throttled"
    GPU_THROTTLED = "gpu_throttled"
    LOADED_HOST = "loaded_host"
    BUSY = "busy"
    TURNS_REPEATED = "turns_repeated"
    APART = "apart"
    SWAPPING = "swapping"
    LOSS_NOT_FALLING = "loss_not_falling"
    WEIGHTS_DIFFER = "weights_differ"
    ABOVE_MACHINE = "above_machine"


FOOTNOTES = {
    Flag.UNPROVED: "It was not checked here that this stack builds the same model as the others: --prove "
                   "does.",
    Flag.TIMER_MISMATCH: "Reading losses took more than 5 % of the timed seconds: steps were not waited for.",
    Flag.CLOCKS_DISAGREE: "The GPU's own clock and the host's differ by more than 2 % over the timed steps of a run.",
    Flag.FEW_RUNS: f"Fewer than {LEAST_RUNS} runs ended ok: no interval.",
    Flag.OTHER_BASE: "Ran in an image on another base than the stack's pinned one.",
    Flag.VENV: "Ran in a virtual environment on the host, not in a container: the host's system libraries.",
    Flag.NOT_PINNED: "An environment or image of the user's own, as it was: not pinned; the record has all it held.",
    Flag.STAND_IN_DATA: "The data stand in for a published set: good for speed; losses and accuracies are the "
                        "stand-in's.",
    Flag.THREADS_DIFFER: "The framework used another number of threads than the cell asks for.",
    Flag.TOO_FEW_CPUS: "The cell asks for more CPUs than the session could use: its threads took turns on them.",
    Flag.ONEDNN_DIFFERS: "oneDNN was on where the cell asks for off, or off where it asks for on.",
    Flag.LEFT_OFF: "Off here by the framework's own default: {left_off}. `evenbench why` tries what it gains.",
    Flag.OTHER_PRECISION: "Computed in another precision than the cell says (amp is bfloat16), as loop tuned may: its "
                          "words are against stacks that may have kept the cell's.",
    Flag.CONVERTED: "amp is bfloat16, for which this CPU has no instructions: numbers are converted to float32 and "
                    "back, which is often slower than float32.",
    Flag.WITHOUT_GRAPH: "Ran operation by operation, as this model is written here for MXNet: its graphs, which fuse "
                        "and plan ahead, may be faster.",
    Flag.PART_OF_PASS: "A pass over the sequences would have taken more than a minute, so a part of one was timed: "
                       "other stacks may have timed other batches.",
    Flag.COMPILED: "The framework compiled programs within the timed steps of at least one run, for shapes that the "
                   "warm-up had not met: the rate is the compiler's, too, and gets no word.",
    Flag.GPUS_IN_PARALLEL: "Ran beside other cells on other GPUs, with which it shared the CPUs and the memory.",
    Flag.THROTTLED: "The CPU limit throttled at least one run.",
    Flag.GPU_THROTTLED: "Heat or its power supply slowed the GPU down, also when the run was repeated.",
    Flag.LOADED_HOST: "Other programs, or other guests of the machine's host, took more than 10 % of the CPUs it could "
                      "use (where that is not known: the load was high).",
    Flag.BUSY: "{busy} of {runs} runs: the machine was busy throughout; all their turns count.",
    Flag.TURNS_REPEATED: "{disturbed} of {turns} turns were disturbed: others took more than 5 % of the CPUs, or a GPU "
                         "was throttled. Those do not count, and were repeated.",
    Flag.APART: "The workers of this comparison did not fit into memory together: runs were made one after the other.",
    Flag.SWAPPING: "Swap in use grew during at least one run.",
    Flag.LOSS_NOT_FALLING: "The loss did not fall over the timed steps of at least one run.",
    Flag.WEIGHTS_DIFFER: "After synchronous steps the workers did not hold the same weights.",
    Flag.ABOVE_MACHINE: "More FLOPs a second than the machine's best matrix product: a step needs fewer than are "
                        "counted, or the product was disturbed.",
}
COUNTED = frozenset({Flag.BUSY, Flag.TURNS_REPEATED, Flag.LEFT_OFF})      # whose footnotes say which of the session's


class _Seen(NamedTuple):
    """What a run is judged by."""

    cell: Cell
    run: Run
    cpus: int              # of the machine


def flags(row: Row, cpus: int | None, proved: Proved) -> tuple[Flag, ...]:
    """What holds for the row or any of its ok runs, in the order of the footnotes; cpus: the machine's."""
    seen = [_Seen(row.cell, run, cpus or row.cell.cpus) for run in row.ok_runs]
    raised = {flag for flag, holds in _OF_A_RUN.items() if any(map(holds, seen))}
    if row.ok_runs and len(row.ok_runs) < LEAST_RUNS:
        raised.add(Flag.FEW_RUNS)
    if row.ok_runs and (model_name(row.cell), built(row.cell.stack, row.cell.loop)) not in proved:
        raised.add(Flag.UNPROVED)
    if row.is_apart:
        raised.add(Flag.APART)
    return tuple(flag for flag in Flag if flag in raised)


def left_off(run: Run) -> list[str]:
    """What a run's framework left off by itself, as its worker told."""
    told = run.facts.get("left_off")
    return [each for each in told if isinstance(each, str)] if isinstance(told, list) else []


def is_not_falling(losses: Samples) -> bool:
    """Whether the median of the last quarter of the losses is no lower than the first's."""
    if len(losses) < _LEAST_LOSSES:
        return False
    quarter = len(losses) // 4
    return (median(losses[-quarter:]) or 0.0) >= (median(losses[:quarter]) or 0.0)


def _is_loaded(seen: _Seen) -> bool:
    """The share that others took says more than the load, which the run before this one raises as well.

    Turns say it of themselves. Of many nodes the share is not known, and the load tells nothing of others: each of
    them raises it by itself.
    """
    if seen.run.turns:
        return False
    share = seen.run.after.get("foreign_cpu_share")
    if share is not None:
        return share > FOREIGN_SHARE
    if seen.cell.nodes > 1:
        return False
    return (seen.run.before.get("load_1m") or 0.0) > _BUSY_LOAD * seen.cpus


def _is_swapping(seen: _Seen) -> bool:
    before, after = seen.run.before.get("swap_used_bytes"), seen.run.after.get("swap_used_bytes")
    return before is not None and after is not None and after - before > _SWAP_BYTES


def _is_mistimed(seen: _Seen) -> bool:
    return any(worker.drain_seconds > _DRAIN_SHARE * worker.timed_seconds for worker in seen.run.workers)


def _has_clocks_that_disagree(seen: _Seen) -> bool:
    """Whether the clocks disagree, for workers that report both times of every step."""
    return any(abs(float(worker.device_seconds.sum()) / worker.timed_seconds - 1) > _CLOCK_SHARE
               for worker in seen.run.workers
               if len(worker.device_seconds) and len(worker.device_seconds) == len(worker.step_seconds)
               and worker.timed_seconds > 0)


def _have_other_weights(seen: _Seen) -> bool:
    return len(set(seen.run.digests.values())) > 1 and bool(cluster.kind(seen.cell.parallel) == "sync")


def _is_throttled(seen: _Seen) -> bool:
    return any((used.get("throttled_periods") or 0) > 0 for used in (seen.run.after, *seen.run.usage.values()))


def _has_stand_in(seen: _Seen) -> bool:
    data = seen.run.facts.get("data")
    return isinstance(data, dict) and data.get("stand_in") is True


def _has_other_threads(seen: _Seen) -> bool:
    threads = seen.run.facts.get("threads")
    return bool(threads is not None and threads != seen.cell.cpus)


def _has_other_onednn(seen: _Seen) -> bool:
    is_on = seen.run.facts.get("onednn")
    return isinstance(is_on, bool) and seen.cell.onednn != "default" and is_on != (seen.cell.onednn == "on")


def _has_other_precision(seen: _Seen) -> bool:
    return bool(seen.run.facts.get("precision", seen.cell.precision) != seen.cell.precision)


def _is_converted(seen: _Seen) -> bool:
    """Whether bfloat16 was computed by a CPU that is known to have no instructions for it."""
    features, precision = seen.run.facts.get("cpu_features"), seen.run.facts.get("precision", seen.cell.precision)
    return (precision == "amp" and seen.cell.device == "cpu" and isinstance(features, list) and bool(features)
            and not host.BFLOAT16.intersection(map(str, features)))


def _is_without_graph(seen: _Seen) -> bool:
    """Whether MXNet ran eagerly where nobody asked for that: the models of images it makes to graphs."""
    return (seen.run.facts.get("framework"), seen.run.facts.get("loop"), seen.cell.loop) == ("mxnet", "eager", "native")


def _is_venv(seen: _Seen) -> bool:
    return bool(seen.run.place.get("isolation") == "venv")


_OF_A_RUN: dict[Flag, Callable[[_Seen], bool]] = {
    Flag.TIMER_MISMATCH: _is_mistimed,
    Flag.CLOCKS_DISAGREE: _has_clocks_that_disagree,
    Flag.OTHER_BASE: lambda seen: seen.run.place.get("base_is_default") is False and not _is_venv(seen),
    Flag.VENV: _is_venv,
    Flag.NOT_PINNED: lambda seen: seen.run.place.get("pinned") is False,
    Flag.STAND_IN_DATA: _has_stand_in,
    Flag.THREADS_DIFFER: _has_other_threads,
    Flag.TOO_FEW_CPUS: lambda seen: seen.cell.cpus > seen.cpus,
    Flag.ONEDNN_DIFFERS: _has_other_onednn,
    Flag.LEFT_OFF: lambda seen: bool(left_off(seen.run)),
    Flag.OTHER_PRECISION: _has_other_precision,
    Flag.CONVERTED: _is_converted,
    Flag.WITHOUT_GRAPH: _is_without_graph,
    Flag.PART_OF_PASS: lambda seen: any(worker.is_part_of_pass for worker in seen.run.workers),
    Flag.COMPILED: lambda seen: any(worker.timed_compiled for worker in seen.run.workers),
    Flag.GPUS_IN_PARALLEL: lambda seen: seen.run.place.get("gpus_in_parallel") is True,
    Flag.THROTTLED: _is_throttled,
    Flag.GPU_THROTTLED: lambda seen: (seen.run.after.get("gpu_throttled_share") or 0.0) > THROTTLED_SHARE,
    Flag.LOADED_HOST: _is_loaded,
    Flag.BUSY: lambda seen: seen.run.is_busy,
    Flag.TURNS_REPEATED: lambda seen: not seen.run.is_busy and any(turn.is_disturbed for turn in seen.run.turns),
    Flag.SWAPPING: _is_swapping,
    Flag.LOSS_NOT_FALLING: lambda seen: seen.cell.measure == "train" and is_not_falling(seen.run.first.losses),
    Flag.WEIGHTS_DIFFER: _have_other_weights,
}
