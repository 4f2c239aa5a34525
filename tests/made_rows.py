"""Made store records, for tests of what is computed from them: every value is chosen here, none was measured."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from runner import __version__
from runner.analysis.flags import Proved
from runner.analysis.summary import summary_of
from runner.analysis.summary_format import Summary
from runner.cells import key
from runner.results.reader import measurements
from runner.results.rows import Measurements
from runner.results.store import SCHEMA, Store
from workloads.spec.cell import Cell

Record = dict[str, Any]
FACTS = {"framework": "pytorch", "version": "2.13.0", "python": "3.11.7", "device": "cpu", "threads": 2,
         "onednn": True, "data": {"name": "digits32", "images": 1000, "stand_in": False, "sha256": "0" * 64}}
PLACE = {"launcher": "docker", "isolation": "docker", "image": "sha256:" + "1" * 64, "base": "ubuntu:18.04",
         "base_is_default": True, "stack_version": "2.13.0"}
BEFORE = {"load_1m": 0.1, "frequency_hz": None, "free_bytes": 2**32, "swap_used_bytes": 0}
AFTER = {"load_1m": 1.0, "throttled_periods": 0, "periods": 0, "peak_bytes": 3 * 10**8,
         "frequency_hz": None, "swap_used_bytes": 0, "foreign_cpu_share": 0.02}
LENET5 = "LeNet-5 (tanh, 62 k parameters)"    # as labels name it
STEPS = 12                         # of a made run: as many as tell whether it was steady
KERNELS = {"event": "kernels", "steps": 4, "kernel_seconds": 6.0, "copy_seconds": 1.0, "gap_seconds": 3.0,
           "launch_seconds": 2.0, "kernels": 1000, "top": [["gemm", 40, 5.0]]}
GRAPH = {"event": "graph", "nodes_before": 200, "nodes_after": 80,
         "removed": {"expensive": 1, "cheap": 9, "noop": 90},
         "passes": {"pruning": 90, "constant_folding": -10, "arithmetic": 30, "dependency": 10}}
DONE = {"event": "closed", "reason": "done"}
INCOMPLETE = {"event": "closed", "reason": "incomplete"}
MACHINE = {"cpu": "a CPU", "cpus": 2, "memory_bytes": 2**33, "kernel": "6.1", "system": "Debian", "hostname": "host"}


def cell(stack: str = "torch", **values: Any) -> Cell:
    return Cell(**{"stack": stack, "task": "lenet5", "measure": "train", "batch": 10, "steps": 2, "cpus": 2, **values})


def session(**values: Any) -> Record:
    return {"schema": SCHEMA, "event": "session", "id": "made", "study": "quick", "scale": "quick", "seed": 7,
            "evenbench": __version__, "argv": [], "began": "2026-11-21T03:40:00+00:00", "machine": MACHINE,
            "launcher": "docker", **values}


def plan(*cells: Cell, rounds: int = 5, baseline: str = "torch", skipped: Mapping[Cell, str] | None = None,
         claims: Sequence[Mapping[str, Any]] = (), experiment: str = "e") -> Record:
    return {"event": "plan", "rounds": rounds, "baseline": baseline, "claims": list(claims),
            "experiments": [{"id": experiment, "title": "", "cells": [key(each) for each in cells], "assumed": {},
                             "scaled": []}],
            "cells": [{"key": key(each), "experiment": experiment, "cell": each._asdict()} for each in cells],
            "skipped": [{"experiment": experiment, "cell": each._asdict(), "reason": reason}
                        for each, reason in (skipped or {}).items()]}


def steps(seconds: list[float], **values: Any) -> Record:
    return {"event": "steps", "first": 0, "seconds": seconds, **values}


def epoch(index: int = 0, seconds: float = 1.0, accuracy: float = 0.5, **values: Any) -> Record:
    return {"event": "epoch", "index": index, "steps": 1, "train_seconds": seconds, "validation_seconds": 1.0,
            "loss": 1.0, "accuracy": accuracy, **values}


def turn(seconds: list[float], foreign: float = 0.0, before: int = 0, **values: Any) -> Record:
    """A turn of these steps, in which others took such a share of two CPUs."""
    wall = sum(seconds)
    return steps(seconds, before=before, turn={
        "index": 0, "lead_steps": 1, "seconds": wall, "cpus": 2, "own_seconds": wall, "stolen_seconds": 0.0,
        "busy_seconds": wall * (1 + 2 * foreign)}, **values)


def run(measured: Cell, round: int, *lines: Record, attempt: int = 1, ending: str | None = "ok", message: str = "",
        facts: Mapping[str, Any] = FACTS, place: Mapping[str, Any] | None = PLACE, before: Mapping[str, Any] = BEFORE,
        after: Mapping[str, Any] = AFTER, warm: Sequence[float] | None = (1.5, 0.1),
        places: Record | None = None) -> Iterator[Record]:
    """The records of one run; ending None: the session was killed meanwhile.

    warm: seconds of warm-up's steps; None: no such line.
    """
    name = f"{key(measured)}.{round}.{attempt}"
    yield {"event": "begin", "run": name, "key": key(measured), "round": round, "attempt": attempt, "began": "",
           "place": place, "host": dict(before)}
    start = {"event": "start", "facts": dict(facts), "parameters": 62006, "flops": 1}
    warmed = [] if warm is None else [{"event": "warm", "seconds": list(warm)}]
    for line in (start, *warmed, *lines):
        yield {"event": "line", "run": name, "line": line}
    if ending is not None:
        yield {"event": "ending", "run": name, "ending": ending, "message": message, "seconds": 4.0,
               "host": dict(after), **({"places": places} if places else {})}
        yield DONE                # so that words are said of what there is


def kept(folder: Path, *records: Mapping[str, Any]) -> Path:
    """A result's folder, which holds these records."""
    with Store(folder) as opened:
        for record in records:
            opened.append(dict(record))
    return folder


def runs(measured: Cell, rates: Sequence[float], first_round: int = 0, **values: Any) -> Iterator[Record]:
    """A run a rate, in consecutive rounds, each of STEPS steps of equal seconds."""
    for index, rate in enumerate(rates, first_round):
        yield from run(measured, index, steps([measured.batch / rate] * STEPS, loss=[2.0, 1.0],
                                              phases={"load": [0.1 * measured.batch / rate] * STEPS}), **values)


def repeated(measured: Cell, rounds: int, *lines: Record, **values: Any) -> list[Record]:
    """The same run in each of so many rounds."""
    return [record for index in range(rounds) for record in run(measured, index, *lines, **values)]


def rated(rates: Mapping[Cell, Sequence[float]], **values: Any) -> list[Record]:
    """The runs of each cell, a run a rate."""
    return [record for each, found in rates.items() for record in runs(each, found, **values)]


def measured(*parts: Cell | Record, rates: Mapping[Cell, Sequence[float]] | None = None, **values: Any) -> Measurements:
    """What a session of these cells measured, by these records and rates; values: of plan.

    The first record may be a session's own.
    """
    cells, records = ([part for part in parts if isinstance(part, Cell) is is_cell] for is_cell in (True, False))
    own = [session()] if not records or records[0].get("event") != "session" else [records.pop(0)]
    return measurements([*own, plan(*(rates or ()), *cells, **values), *rated(rates or {}), *records])


def told(lines: Mapping[Cell, Sequence[Record]], rounds: int = 5, **values: Any) -> Measurements:
    """What a session measured of these cells, whose runs tell the same lines in each of so many rounds."""
    return measured(*lines, *(record for each, found in lines.items()
                              for record in repeated(each, rounds, *found, **values)))


def summarised(*parts: Cell | Record, proved: Proved = MappingProxyType({}), **values: Any) -> Summary:
    """The summary of the same; proved: by task and stack whether a check passed."""
    return summary_of(measured(*parts, **values), proved)
