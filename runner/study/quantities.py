"""Quantities: what studies print and claim, each with the measure, the unit and the way it is read from a run. Pure."""

import re
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import NamedTuple

from runner.results.rows import Row
from runner.results.runs import Run, step_seconds
from runner.study import operators
from workloads.spec import sequence_tasks
from workloads.spec.cell import Cell

EARLY_EPOCHS = 20              # of tian's Figure 9: before epoch 20
OF_SEEDS = ("accuracy", "early_accuracy")          # how well a model was trained: seeds change it, not rounds
# dispatch: what a coordinator takes to hand a worker its next step
PHASES = ("load", "forward", "backward", "communication", "update", "dispatch")
PASSES = ("pruning", "constant_folding", "arithmetic", "dependency")

Reader = Callable[[Row, Run], float | None]


class Quantity(NamedTuple):
    """A number of a run."""

    measure: str                 # whose runs have it
    unit: str                    # s, bytes, W, share (of one) or count
    of: Reader
    whole: str = ""              # the quantity that it is a part of, or is held against; "": a share as it is, or none
    is_least: bool = False       # of all runs the least counts, not the median: what every run could do
    is_of_rate: bool = False     # of all runs the geometric mean counts, as of a rate, which is made of it
    beside: str = ""             # our own quantity that is told beside a paper's
    definition: str = ""         # the paper's sentence, with its section, where a paper derives it from others


def of(name: str, row: Row, run: Run) -> float | None:
    """A run's quantity of that name, in its unit; None where the run does not tell."""
    return QUANTITIES[name].of(row, run)


def share(name: str, row: Row, run: Run) -> float | None:
    """The quantity over its whole, or as it is where it is a share already; None where the run does not tell.

    Parts of a step are means over the steps that count, and so is here their whole: its rate is another mean.
    """
    value, whole = of(name, row, run), QUANTITIES[name].whole
    if not whole or value is None:
        return value
    other = run.rest_seconds(()) if whole == "step" else of(whole, row, run)
    return value / other if other else None


def converted(name: str, unit: str, cell: Cell, value: float) -> float:
    """A quantity of a cell in a unit of units(name): seconds become rates of all workers together."""
    if unit in ("samples/s", "tokens/s"):
        return cell.batch * cell.nodes * cell.gpus / value
    if unit == "steps/s":
        return 1 / value
    return value * 100 if unit == "%" and QUANTITIES[name].unit == "share" else value


def units(name: str) -> tuple[str, ...]:
    """The units in which a study may print a quantity of one subject."""
    return _UNITS[QUANTITIES[name].unit] + _RATES.get(name, ())


_UNITS: Mapping[str, tuple[str, ...]] = {"s": ("s",), "bytes": ("bytes",), "W": ("W",), "share": ("share", "%"),
                                         "count": ("count",)}
# a sample of first_token is a prompt, of token a token
_SAMPLES = ("samples/s", "steps/s")
_RATES = {**dict.fromkeys(("step", "inference", "first_token"), _SAMPLES), "token": ("tokens/s", "steps/s")}
RATIO_UNITS = ("x", "% more", "mpe", "%")      # of two subjects: of / to, of it what is above 1, (of - to) / of, in %
UNITS = tuple(dict.fromkeys([*(unit for known in _UNITS.values() for unit in known), "samples/s", "steps/s", "tokens/s",
                             *RATIO_UNITS]))


def _peak_bytes(row: Row, run: Run) -> float | None:
    """The peak memory of a run, the sum over its nodes; None where not all told, as coordinators' in a venv."""
    peaks = place_peaks(run)
    if run.usage and len(peaks) < row.cell.nodes:
        return None
    return sum(peaks.values()) if peaks else run.after.get("peak_bytes")


def place_peaks(run: Run) -> dict[str, float]:
    """Peak bytes by node: of its control group where it has one of its own, else of the worker's process."""
    has_groups = run.place.get("isolation") not in ("venv", "apptainer")
    peaks = {node: (used.get("group_peak_bytes") if has_groups else None) or used.get("peak_bytes")
             for node, used in run.usage.items()}
    return {node: peak for node, peak in peaks.items() if peak is not None}


def watts(run: Run) -> float | None:
    """Mean power of the GPUs of all nodes over the timed window; None where it was not measured."""
    node_watts = [used["gpu_watts"] for used in (run.after, *run.usage.values()) if used.get("gpu_watts") is not None]
    return sum(filter(None, node_watts)) if node_watts else None


def _sample(row: Row, run: Run) -> float | None:
    step = step_seconds(run)
    return step / row.cell.batch if step is not None else None


def _token(row: Row, run: Run) -> float | None:
    """The seconds of a step, or of each of its tokens where it generates whole sequences."""
    step = step_seconds(run)
    return step / sequence_tasks.new_tokens(row.cell) if step and sequence_tasks.is_program(row.cell) else step


def _first_epoch_extra(row: Row, run: Run) -> float | None:
    """What the first epoch takes more than a later one."""
    first, later = of("first_epoch", row, run), of("epoch", row, run)
    return first - later if first is not None and later is not None else None


def _of_epochs(name: str, first: int, last: int | None, statistic: Callable[[list[float]], float] = fmean) -> Reader:
    """A statistic of what those epochs told under a name."""
    def read(row: Row, run: Run) -> float | None:
        told = [value for epoch in run.epochs[first:last] if (value := getattr(epoch, name)) is not None]
        return statistic(told) if told else None

    return read


def _lstm_share(row: Row, run: Run) -> float | None:
    """The share of the operations' time in those whose names say LSTM or RNN; None where none has a name."""
    seconds = {name: each for name, _, each in run.kernels.top} if run.kernels else {}
    whole = sum(seconds.values())
    return sum(each for name, each in seconds.items() if _LSTM.search(name)) / whole if whole else None


_LSTM = re.compile("lstm|rnn", re.IGNORECASE)


def _passes(*names: str) -> Reader:
    """The share of a graph's nodes that optimisations took away."""
    return lambda row, run: sum(
        getattr(run.graph.passes, name) / run.graph.nodes_before for name in names) if run.graph else None


def _of_removed(kind: str) -> Reader:
    """The share of a kind among the nodes removed; None where none was."""
    def read(row: Row, run: Run) -> float | None:
        kinds = run.graph.removed.model_dump() if run.graph else {}
        return kinds[kind] / sum(kinds.values()) if any(kinds.values()) else None

    return read


_SHARES = """dai2022 4.3: "We calculate the ratio of memory copy time and GPU kernel execution time to the overall \
training time, respectively\""""
# of units of two subjects, whose values are times
UNIT_DEFINITIONS = {
    "mpe": """mahorker Table 2: "negative numbers mean the second kernel is slower than the first one": the mean over \
all cases of (of - to) / of""",
    "%": """dai2022 5: communication overhead = 1 - (m_step/s) / (s_step/s), of GPUs together and of one alone; 4.4.1: \
"consumes less training time": (of - to) / of""",
}

QUANTITIES: dict[str, Quantity] = {
    "step": Quantity("train", "s", lambda row, run: step_seconds(run), is_of_rate=True),
    **{name: Quantity("phases", "s", lambda row, run, name=name: run.phase_seconds(name), "step")      # type: ignore[misc]
       for name in PHASES},
    "communication_by_difference": Quantity(
        "phases", "s", lambda row, run: run.rest_seconds(("load", "forward", "backward")), "step",
        beside="communication", definition="""krisilias IV-C: "Communication cost is identified as the difference \
between the total execution time and the sum of the forward pass, backward pass and data loading time\""""),
    "memory": Quantity("train", "bytes", _peak_bytes),
    **{name: Quantity("operators", "s", lambda row, run, name=name: operators.seconds(              # type: ignore[misc]
        run.framework, run.operators).get(name)) for name in operators.WORDS},
    **{name: Quantity(measure, "s", lambda row, run: step_seconds(run), is_of_rate=True)
       for name, measure in (("inference", "infer"), ("first_token", "prefill"))},
    "token": Quantity("decode", "s", _token, is_of_rate=True),
    "sample": Quantity("infer", "s", _sample, is_of_rate=True, definition="""patel VI-C: "as the batch size increases, \
the inference time decreases up to a limit": of an image, the step over the batch"""),
    "power": Quantity("infer", "W", lambda row, run: watts(run)),
    "epoch": Quantity("epochs", "s", _of_epochs("train_seconds", 1, None), definition="""tian 3.2.2: "The first epoch \
is skipped ... Total training time will be total time subtract validation time\""""),
    "first_epoch": Quantity("epochs", "s", _of_epochs("train_seconds", 0, 1), "epoch"),
    "first_epoch_extra": Quantity("epochs", "s", _first_epoch_extra, "epoch", definition="""tian 4.1: "TensorFlow took \
an estimated 8.68 seconds longer than its average training time\""""),
    "validation": Quantity("epochs", "s", _of_epochs("validation_seconds", 1, None)),
    "accuracy": Quantity("epochs", "share", _of_epochs("accuracy", 0, None, max), definition="""tian 3.2.2: "I \
calculate the trace of confusion matrix for validation accuracy"; of all epochs the best"""),
    # of two that end alike, that of the one which rises faster is the higher
    "early_accuracy": Quantity("epochs", "share", _of_epochs("accuracy", 0, EARLY_EPOCHS), definition="""tian 4.1: \
"has faster converge rate": the mean accuracy of the first 20 epochs, by 5.1"""),
    **{f"{kind}_share": Quantity("kernels", "share", lambda row, run, kind=kind: run.kernels.share(   # type: ignore[misc]
        getattr(run.kernels, f"{kind}_seconds")) if run.kernels else None, definition=definition)
       for kind, definition in (("kernel", _SHARES), ("copy", _SHARES), ("launch", """mahorker 4.1: "spent about 72.4% \
of the sampled time within the kernel launch state\""""))},
    "kernels": Quantity("kernels", "count",
                        lambda row, run: run.kernels.kernels / run.kernels.steps if run.kernels else None),
    "lstm_share": Quantity("kernels", "share", _lstm_share),
    "max_batch": Quantity("max_batch", "count",
                          lambda row, run: run.max_batch.largest if run.max_batch else None, is_least=True),
    "nodes_removed": Quantity("graph", "share", lambda row, run: run.graph.removed_share if run.graph else None,
                              definition="""dai2022 4.5.2: "we use the number of reduced nodes to represent the effect \
of graph optimizations": of all nodes before"""),
    **{f"removed_{kind}": Quantity("graph", "share", _of_removed(kind), definition="""dai2022 4.5.2: "we count the \
types of the operations corresponding to the reduced nodes and calculate the percentage\"""")
       for kind in ("expensive", "cheap", "noop")},
    **{name: Quantity("graph", "share", _passes(name)) for name in PASSES},
    "arithmetic_dependency": Quantity("graph", "share", _passes("arithmetic", "dependency")),
    "parameters": Quantity("train", "count", lambda row, run: run.parameters),
}
# shares, or parts of a whole
SHARABLE = tuple(name for name, each in QUANTITIES.items() if each.whole or each.unit == "share")
