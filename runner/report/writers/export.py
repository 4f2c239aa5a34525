"""A session's raw samples as one flat table, for notebooks: a row a sample, as CSV (docs/export.md).

A run without samples (out of memory, skipped by its worker, dead) keeps one row with empty seconds.
"""

import csv
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from runner.errors import InputError
from runner.formatting import clean
from runner.report.writers.spreadsheet import harmless
from runner.results.rows import Measurements, Row
from runner.results.runs import Run, Worker
from runner.results.turns import counting
from runner.study.quantities import PHASES
from workloads.spec.cell import FIELDS

_OF_CELL = [name for name in FIELDS if name != "source"]     # told apart by key
_NO_SAMPLE: dict[str, Any] = dict.fromkeys((
    "is_warmup", "index", "turn", "is_disturbed", "counts", "steps", "seconds",
    *(f"{phase}_seconds" for phase in PHASES)))
COLUMNS = [*dict.fromkeys((
    "result", "study", "experiment", "key", *_OF_CELL, "round", "ending", "worker", "ran_precision", "amount", "unit",
    *_NO_SAMPLE))]                                           # a sample's steps and seconds stand in place of the cell's


def rows(measured: Measurements) -> Iterator[dict[str, Any]]:
    """A mapping a sample with every key of COLUMNS; None where a value is absent."""
    for row in measured.rows:
        for run in row.runs:
            for worker in run.workers:
                about = _about(measured.session, row, run, worker)
                yield from ({**about, **sample} for sample in _samples(worker, run in row.ok_runs))


def _about(session: Mapping[str, Any], row: Row, run: Run, worker: Worker) -> dict[str, Any]:
    seed = row.cell.seed if run.seed is None else run.seed
    of_cell = {name: getattr(row.cell, name) for name in _OF_CELL}
    told = {"result": clean(session.get("id", "")), "study": clean(session.get("study", "")),
            "experiment": row.experiment, "key": row.key, **of_cell, "seed": seed, "round": run.round,
            "ending": run.ending, "worker": worker.name,
            "ran_precision": str(run.facts["precision"]) if "precision" in run.facts else None,
            "amount": float(row.amount(run)), "unit": row.unit}
    return {name: clean(value) if isinstance(value, str) else value for name, value in told.items()}


def _samples(worker: Worker, is_counted: bool) -> Iterator[dict[str, Any]]:
    """Warm-up first, then the timed samples; one empty one where there are none at all."""
    if not len(worker.warmup_seconds) and not len(worker.sample_seconds):
        yield _NO_SAMPLE
    for index, seconds in enumerate(worker.warmup_seconds.tolist()):
        yield {**_NO_SAMPLE, "is_warmup": True, "index": index, "counts": False, "steps": 1, "seconds": seconds}
    count = len(worker.sample_seconds)
    phases = {f"{name}_seconds": samples.tolist() for name, samples in worker.phases.items()
              if f"{name}_seconds" in _NO_SAMPLE and len(samples) == count}
    turns = [{"turn": place, "is_disturbed": not counts} for place, counts in enumerate(counting(worker.turns))
             for _ in range(worker.turn_samples[place])] or [{}] * count
    for index, seconds in enumerate(worker.sample_seconds.tolist()):
        yield {**_NO_SAMPLE, "is_warmup": False, "index": index, **turns[index],
               "counts": is_counted and bool(worker.counts[index]), "steps": worker.sample_steps[index],
               "seconds": seconds, **{name: samples[index] for name, samples in phases.items()}}


def to_csv(measured: Measurements, path: Path) -> int:
    """Write the table, "-": to standard output; how many rows it has. Raises InputError where it cannot be written."""
    count = 0
    try:
        with nullcontext(sys.stdout) if path == Path("-") else path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            for row in rows(measured):
                writer.writerow({name: harmless(value) for name, value in row.items()})
                count += 1
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; choose another file") from error
    return count
