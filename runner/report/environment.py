"""What measured: the machine, the stacks, the data, as the runs observed them. Pure."""

import json
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

from runner import formatting
from runner.analysis import summary_format
from runner.analysis.summary_format import Machine, Summary
from runner.report.tables import Column, Table, plain, table
from runner.results.rows import Measurements, recorded

_DIGEST_LETTERS = 19           # of "sha256:..." that a table shows; the facts below it have all


def machine(shown: Machine, hardware: Mapping[str, Any]) -> str:
    """The machine in a line, with what a control group left of it."""
    quota, limit = hardware.get("group_cpus"), hardware.get("group_memory_bytes")
    of_cpus = f" (a quota of {quota:g})" if isinstance(quota, int | float) else ""
    of_memory = " (a control group's limit)" if limit is not None and limit == shown.memory_bytes else ""
    facts = [shown.cpu, shown.cpus and formatting.count(shown.cpus, "CPU") + of_cpus,
             shown.memory_bytes and formatting.size(shown.memory_bytes) + of_memory, shown.system,
             shown.kernel and f"Linux {shown.kernel}"]
    return ", ".join(str(fact) for fact in facts if fact) or "an unknown machine"


_STACKS: tuple[Column[summary_format.Column], ...] = (
    *(Column(title, attrgetter(title.lower())) for title in ("stack", "framework", "version", "Python", "threads")),
    Column("oneDNN", attrgetter("onednn"), lambda is_on: "on" if is_on else "off"),
    Column("isolation", attrgetter("isolation")),
    Column("base", lambda stack: f"{stack.base or ''} (not the stack's own)" if stack.base_is_default is False
           else stack.base),
    Column("image", lambda stack: (stack.image or "")[:_DIGEST_LETTERS]),
)


def tables(summary: Summary, measured: Measurements) -> Iterator[Table[Any]]:
    """The stacks, the data, and every fact that each stack reported of itself."""
    yield from table("Stacks", _STACKS, {"": summary.columns})
    hardware = {**recorded(measured.session, "hardware"), **recorded(measured.session, "harness")}
    yield from plain("The machine and evenbench", ("fact", "value"), [*_facts(hardware)], is_extra=True)
    yield from plain("Data", ("data", "images of a run", "stand-in", "sha256"), [
        (data.name, "" if data.images is None else f"{data.images:,}", "yes" if data.is_stand_in else "no",
         data.sha256 or "") for data in summary.data])
    for column in summary.columns:
        runs = [run for row in measured.rows if row.cell.stack == column.stack for run in row.runs]
        told = {**next((run.facts for run in runs if run.facts), {}),
                **next((run.place for run in runs if run.place), {})}
        yield from plain(f"Facts of {column.stack}", ("fact", "value"), [*_facts(told)],
                         "By its first run; threads and data may differ between cells.", is_extra=True)


def _facts(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in told.items():
        if name == "packages" and isinstance(value, dict):
            yield from ((f"package {package}", str(entry)) for package, entry in value.items())
        elif value is not None:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield name.replace("_", " "), shown
