"""What a reader must know beside a number: a closed list of flags, each with its footnote. Pure."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from runner.analysis.stats import LEAST_RUNS, median
from runner.cells import built, model_name
from runner.machine.gpus import THROTTLED_SHARE
from runner.results.rows import Row
from runner.results.runs import Run, Samples
from runner.results.turns import disturbed
from workloads.spec import cluster
from workloads.spec.cell import Cell
from workloads.spec.refusals import BFLOAT16

# by task and stack, as cells.built names it: whether a check showed it to be the same model; absent: none was made
Proved = Mapping[tuple[str, str], bool]

_LEAST_LOSSES = 8                  # fewer do not show whether a loss falls
_SWAP_BYTES = 2**20                # less is bookkeeping of the kernel
_CLOCK_SHARE = 0.02                # both clocks see the same steps: waiting for one takes microseconds
_DRAIN_SHARE = 0.05                # reading a finished loss takes microseconds


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


def _is_swapping(cell: Cell, run: Run) -> bool:
    before, after = run.before.get("swap_used_bytes"), run.after.get("swap_used_bytes")
    return before is not None and after is not None and after - before > _SWAP_BYTES


def _has_clocks_that_disagree(cell: Cell, run: Run) -> bool:
    """Whether the clocks disagree, for workers that report both times of every step."""
    return any(abs(float(worker.device_seconds.sum()) / worker.timed_seconds - 1) > _CLOCK_SHARE
               for worker in run.workers
               if len(worker.device_seconds) and len(worker.device_seconds) == len(worker.step_seconds)
               and worker.timed_seconds > 0)


def _is_converted(cell: Cell, run: Run) -> bool:
    """Whether bfloat16 was computed by a CPU that is known to have no instructions for it."""
    features, precision = run.facts.get("cpu_features"), run.facts.get("precision", cell.precision)
    return (precision == "amp" and cell.device == "cpu" and isinstance(features, list) and bool(features)
            and not set(BFLOAT16).intersection(map(str, features)))


class Flag(StrEnum):
    """In the order of the footnotes."""

    text: str                               # its footnote, a format of the session's counts
    holds: Callable[[Cell, Run], bool]          # of a run that ended ok

    def __new__(cls, name: str, text: str, holds: Callable[[Cell, Run], bool] = lambda cell, run: False) -> "Flag":
        """The flag of that name."""
        flag = str.__new__(cls, name)
        flag._value_, flag.text, flag.holds = name, text, holds
        return flag

    UNPROVED = ("unproved",
        "It was not checked here that this stack builds the same model as the others: --prove does.")
    CHECK_FAILED = ("check_failed",
        "A check failed here that this stack builds the same model as the others: --prove says where.")
    TIMER_MISMATCH = ("timer_mismatch",
        "Reading losses took more than 5 % of the timed seconds: steps were not waited for.",
        lambda cell, run: any(worker.drain_seconds > _DRAIN_SHARE * worker.timed_seconds for worker in run.workers))
    CLOCKS_DISAGREE = ("clocks_disagree",
        "The GPU's own clock and the host's differ by more than 2 % over the timed steps of a run.",
        _has_clocks_that_disagree)
    FEW_RUNS = ("few_runs", f"Fewer than {LEAST_RUNS} runs ended ok: no interval.")
    OTHER_BASE = ("other_base",
        "Ran in an image on another base than the stack's pinned one.",
        lambda cell, run: run.place.get("base_is_default") is False and run.place.get("isolation") != "venv")
    VENV = ("venv",
        "Ran in a virtual environment on the host, not in a container: the host's system libraries.",
        lambda cell, run: run.place.get("isolation") == "venv")
    NOT_PINNED = ("not_pinned",
        "An environment or image of the user's own, as it was: not pinned; the record has all it held.",
        lambda cell, run: run.place.get("pinned") is False)
    STAND_IN_DATA = ("stand_in_data",
        "The data stand in for a published set: good for speed; losses and accuracies are the stand-in's.",
       lambda cell, run: (run.facts.get("data") or {}).get("stand_in") is True)
    THREADS_DIFFER = ("threads_differ",
        "The framework used another number of threads than the cell asks for.",
        lambda cell, run: run.facts.get("threads") not in (None, cell.cpus))
    TOO_FEW_CPUS = ("too_few_cpus",
        "The cell asks for more CPUs than the session could use: its threads took turns on them.")
    ONEDNN_DIFFERS = ("onednn_differs",
        "oneDNN was on where the cell asks for off, or off where it asks for on.",
        lambda cell, run: cell.onednn == {True: "off", False: "on"}.get(run.facts.get("onednn")))
    LEFT_OFF = ("left_off",
        "Off here by the framework's own default: {left_off}. `evenbench why` tries what it gains.",
        lambda cell, run: bool(left_off(run)))
    OTHER_PRECISION = ("other_precision",
        "Computed in another precision than the cell's (amp is bfloat16), as loop tuned may. Verdicts compare it with "
        "stacks that may have kept the requested precision.",
        lambda cell, run: (run.facts.get("precision") or cell.precision) != cell.precision)
    CONVERTED = ("converted",
        "amp is bfloat16, for which this CPU has no instructions: numbers are converted to float32 and back, which "
        "is often slower than float32.", _is_converted)
    WITHOUT_GRAPH = ("without_graph",
        "Ran operation by operation, as this model is written here for MXNet: its graphs, which fuse and plan ahead, "
        "may be faster.",
        lambda cell, run: (run.facts.get("framework"), run.facts.get("loop"), cell.loop)
        == ("mxnet", "eager", "native"))
    PART_OF_PASS = ("part_of_pass",
        "A pass over the sequences would have taken more than a minute, so a part of one was timed: other stacks may "
        "have timed other batches.", lambda cell, run: any(worker.is_part_of_pass for worker in run.workers))
    COMPILED = ("compiled",
        "The framework compiled programs within the timed steps of at least one run, for shapes that the warm-up had "
        "not met: the rate is the compiler's, too, and gets no verdict.",
        lambda cell, run: any(worker.timed_compiled for worker in run.workers))
    THROTTLED = ("throttled", "The CPU limit throttled at least one run.",
        lambda cell, run: any(used.get("throttled_periods") for used in (run.after, *run.usage.values())))
    GPU_THROTTLED = ("gpu_throttled",
        "Heat or its power supply slowed the GPU down, also when the run was repeated.",
        lambda cell, run: (run.after.get("gpu_throttled_share") or 0.0) > THROTTLED_SHARE)
    LOADED_HOST = ("loaded_host",
        "Other programs, or other guests of the machine's host, took more than 10 % of the CPUs it could use.",
        lambda cell, run: run.is_loaded)
    BUSY = ("busy",
        "{lost} of {runs} runs are of rounds that do not count: a stack had fewer than three undisturbed turns, or its "
        "run was lost.")
    TURNS_REPEATED = ("turns_repeated",
        "{disturbed} of {turns} turns were disturbed: others took time from them, or they stood still. They do "
        "not count, and were repeated. The turns of a run that count lost at most 1 % of their time together.",
        lambda cell, run: disturbed(run.turns) > 0)
    APART = ("apart",
        "The workers of this comparison could not be alive at once, since memory was too small or one computed while "
        "it waited: runs were made one after the other.")
    SWAPPING = ("swapping", "Swap in use grew during at least one run.", _is_swapping)
    LOSS_NOT_FALLING = ("loss_not_falling",
        "The loss did not fall over the timed steps of at least one run.",
        lambda cell, run: cell.measure == "train" and is_not_falling(run.first.losses))
    WEIGHTS_DIFFER = ("weights_differ",
        "After synchronous steps the workers did not hold the same weights.",
        lambda cell, run: len(set(run.digests.values())) > 1 and cluster.kind(cell.parallel) == "sync")
    ABOVE_MACHINE = ("above_machine",
        "More FLOPs a second than the machine's best matrix product: a step needs fewer than are counted, or the "
        "product was disturbed.")


def flags(row: Row, cpus: int | None, proved: Proved) -> tuple[Flag, ...]:
    """What holds for the row or any of its ok runs, in the order of the footnotes; cpus: the machine's."""
    runs, shown = row.ok_runs, proved.get((model_name(row.cell), built(row.cell.stack, row.cell.loop)))
    is_model = runs and row.cell.measure != "step"            # and no code, which nobody can prove
    of_row = {
        Flag.UNPROVED: is_model and shown is None, Flag.CHECK_FAILED: is_model and shown is False,
        Flag.FEW_RUNS: 0 < len(runs) < LEAST_RUNS, Flag.TOO_FEW_CPUS: runs and cpus and row.cell.cpus > cpus,
        Flag.BUSY: row.lost, Flag.APART: row.is_apart}
    return tuple(flag for flag in Flag if of_row.get(flag) or any(flag.holds(row.cell, run) for run in runs))
