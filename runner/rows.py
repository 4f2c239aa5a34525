"""Store records to rows: a row is a cell of the plan with its runs, raw samples and all. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workloads.spec import cell as cells
from workloads.spec.cell import Cell

Record = Mapping[str, Any]
_UNSTEADY = 0.10          # by which the halves of a run may differ before it is called unsteady
_FOREIGN = 0.10           # share of the machine's CPU time that others took
_DRAIN = 0.5              # of a median step, still to do after the sync that should have waited for all

# flags and the footnote that each puts under a table
FLAGS = {
    "venv": "ran in a virtual environment on the host: no memory limit, no isolation, the host's C library",
    "other_base": "not the study's base image but our own, since no registry of base images answered",
    "stand_in_data": "stand-in data (real digits in CIFAR-10's layout), not the study's data set",
    "synthetic_data": "synthetic input: no data pipeline in the steps",
    "few_runs": "fewer than three runs ended ok: no interval",
    "loaded_host": "the host was busy with other work during a run",
    "throttled": "the run was throttled by its CPU quota",
    "swapping": "the host had swapped memory out before a run",
    "unsteady": "the halves of a run differ by more than 10 %",
    "loss_not_falling": "the loss did not fall during training",
    "timer_mismatch": "work was left over after the sync that ends a step: the step times are too short",
    "threads_differ": "the framework ran with another number of threads than asked",
    "unproved": "no `evenbench check` has shown that these stacks compute the same",
}


@dataclass(frozen=True)
class Run:
    """One run as the store tells it; what was not heard is empty or None."""

    round: int
    attempt: int
    place: dict[str, Any]
    host_before: dict[str, Any]
    ending: str = "killed"
    message: str = ""
    total_seconds: float | None = None
    host_after: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    flops: int | None = None
    warm: tuple[float, ...] = ()
    samples: tuple[float, ...] = ()          # seconds of a step each, or of all steps (sync=end), or of an epoch
    steps: int = 0                           # that the samples cover
    load: tuple[float, ...] = ()             # seconds of loading in each step, where the framework shows them
    loss: tuple[float, ...] = ()
    drain: tuple[float, ...] = ()
    epochs: tuple[dict[str, Any], ...] = ()

    @property
    def is_ok(self) -> bool:
        """Whether it was measured to the end."""
        return self.ending == "ok"


@dataclass(frozen=True)
class Row:
    """A cell of the plan with its runs, one a round: the last attempt that ended by itself, else the last one."""

    key: str
    experiment: str
    cell: Cell
    runs: tuple[Run, ...]

    @property
    def good(self) -> tuple[Run, ...]:
        """The runs that count for rates."""
        return tuple(run for run in self.runs if run.is_ok and rate_per_worker(self.cell, run) is not None)


def rate_per_worker(cell: Cell, run: Run) -> float | None:
    """Samples a second of one worker: the samples of the timed window over its wall time. The only place that says so."""
    seconds = sum(run.samples)
    return cell.batch * run.steps / seconds if seconds > 0 and run.steps else None


def rows(records: Iterable[Record]) -> tuple[Row, ...]:
    """The rows of a session in the order of its last plan."""
    plan: Record = {"cells": []}
    runs: dict[str, dict[str, Any]] = {}
    keys: dict[str, str] = {}
    for record in records:
        match record["event"]:
            case "plan":
                plan = record
            case "begin":
                keys[record["run"]] = record["key"]
                runs[record["run"]] = {"round": record["round"], "attempt": record["attempt"],
                                       "place": record.get("place") or {}, "host_before": record.get("host") or {}}
            case "line" if record["run"] in runs:
                _hear(runs[record["run"]], record["line"])
            case "ending" if record["run"] in runs:
                runs[record["run"]].update(ending=record["ending"], message=record.get("message", ""),
                                           total_seconds=record.get("seconds"), host_after=record.get("host") or {})
    of_key: dict[str, list[Run]] = {}
    for name, values in runs.items():
        of_key.setdefault(keys[name], []).append(_run(values))
    return tuple(Row(planned["key"], planned["experiment"], cells.parse(planned["cell"]),
                     _one_a_round(of_key.get(planned["key"], []))) for planned in plan["cells"])


def _hear(values: dict[str, Any], line: Mapping[str, Any]) -> None:
    """Add what one event of the worker says."""
    match line["event"]:
        case "start":
            values.update(facts=line.get("facts") or {}, flops=line.get("flops"))
        case "warm":
            values["warm"] = line["seconds"]
        case "steps":
            for name, found in (("samples", line["seconds"]), ("loss", line.get("loss", [])),
                                ("load", (line.get("phases") or {}).get("load", []))):
                values.setdefault(name, []).extend(found)
            values["steps"] = values.get("steps", 0) + line.get("count", len(line["seconds"]))
            if "drain_seconds" in line:
                values.setdefault("drain", []).append(line["drain_seconds"])
        case "epoch":
            values.setdefault("epochs", []).append(dict(line))
            values.setdefault("samples", []).append(line["train_seconds"])
            values.setdefault("loss", []).append(line["loss"])
            values["steps"] = values.get("steps", 0) + line["steps"]


def _run(values: dict[str, Any]) -> Run:
    return Run(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _one_a_round(runs: list[Run]) -> tuple[Run, ...]:
    chosen: dict[int, Run] = {}
    for run in sorted(runs, key=lambda run: (run.ending not in ("killed", "not_started"), run.attempt)):
        chosen[run.round] = run
    return tuple(chosen[index] for index in sorted(chosen))


def flags(row: Row, is_proved: bool) -> tuple[str, ...]:
    """The words of FLAGS that hold for a row."""
    found = {flag for run in row.runs for flag in _run_flags(row.cell, run)}
    if 0 < len(row.good) < 3:
        found.add("few_runs")
    if row.runs and not is_proved:
        found.add("unproved")
    return tuple(flag for flag in FLAGS if flag in found)


def _run_flags(cell: Cell, run: Run) -> Iterable[str]:
    is_docker = run.place.get("isolation") == "docker"
    cpus = cell.cpus
    data = run.facts.get("data") or {}
    checks = {
        "venv": run.place.get("isolation") == "venv",
        "other_base": is_docker and run.place.get("base_is_default") is False,
        "stand_in_data": data.get("stand_in"),
        "synthetic_data": data.get("name") == "synthetic",
        "loaded_host": (run.host_after.get("foreign_cpu_share") or 0) > _FOREIGN,
        "throttled": run.host_after.get("throttled_periods"),
        "swapping": run.host_before.get("swap_used_bytes"),
        "unsteady": _is_unsteady(run.samples),
        "loss_not_falling": cell.measure == "train" and run.is_ok and _is_flat(run.loss),
        "timer_mismatch": _is_left_over(run),
        "threads_differ": run.facts.get("threads") not in (None, cpus),
    }
    return [flag for flag, holds in checks.items() if holds]


def _is_unsteady(samples: tuple[float, ...]) -> bool:
    half = len(samples) // 2
    if half < 10:
        return False
    first, second = sorted(samples[:half])[half // 2], sorted(samples[-half:])[half // 2]
    return abs(second / first - 1) > _UNSTEADY if first > 0 else False


def _is_flat(loss: tuple[float, ...]) -> bool:
    tenth = max(1, len(loss) // 10)
    return len(loss) >= 10 and sum(loss[-tenth:]) >= sum(loss[:tenth])


def _is_left_over(run: Run) -> bool:
    if not run.drain or not run.samples:
        return False
    drains, steps = sorted(run.drain), sorted(run.samples)
    return drains[len(drains) // 2] > _DRAIN * steps[len(steps) // 2]
