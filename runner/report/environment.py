"""What measured: machine, stacks and data, as the runs observed them; and how that differs from the study. Pure."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from runner import formatting
from runner.analysis.summary_format import Machine, Summary
from runner.grouping import grouped
from runner.report.claims import wording
from runner.report.document import Named
from runner.report.tables import Table, plain, table, texts
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


def tables(summary: Summary, measured: Measurements) -> Iterator[Table[Any]]:
    """The stacks, the data, and every fact that each stack reported of itself."""
    titles = texts("stack", "framework", "version", "Python", "threads", "oneDNN", "isolation", "base", "image")
    yield from table("Stacks", titles, {"": [(
        each.stack, each.framework, each.version, each.python, each.threads,
        None if each.onednn is None else "on" if each.onednn else "off", each.isolation,
        f"{each.base or ''} (not the stack's own)" if each.base_is_default is False else each.base,
        (each.image or "")[:_DIGEST_LETTERS]) for each in summary.columns]})
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


# ---- deviations

def deviations(summary: Summary, measured: Measurements, missing: str) -> Iterator[Named]:
    """What is not as in the study, or what to mistrust: the one that changes most first; missing: of the answer."""
    if missing:
        yield "not complete", f"{missing}."
    yield from _stand_ins(summary)
    if count := sum(map(wording.is_on_a_cpu, summary.claims)):
        yield "on a CPU", (f"{formatting.count(count, 'claim')} of the paper's on a GPU are judged here on a CPU; "
                           "their verdicts say so.")
    changed = ", ".join(one.id for one in measured.experiments if one.scaled)
    is_published = summary.published or summary.claims         # somebody's paper, not our own comparison
    if is_published and summary.scale != "paper" and (summary.scale or changed):
        where = f" It changes {changed}; each says how." if changed else ""
        yield "scale", f'Run at scale "{summary.scale}", which is smaller than the paper\'s.{where}'
    settings = [f"{name} {' and '.join(map(str, value)) if isinstance(value, list) else value}"
                for name, value in measured.settings.items() if name != "data"]
    if settings:
        yield "settings", f"Set by hand over the study's: {', '.join(settings)}."
    if measured.stacks:
        yield "stacks", f"Chosen by hand in place of the study's: {', '.join(measured.stacks)}."
    nodes = sorted({row.cell.nodes for row in measured.rows if row.cell.nodes > 1})
    if nodes and not any(run.place.get("remote") for row in measured.rows for run in row.runs):
        yield "one machine", (f"All {'/'.join(map(str, nodes))} nodes are on this machine and share its "
                              f"{formatting.count(summary.machine.cpus or 0, 'CPU')}: no network lies between them.")
    yield from _nodes(measured)
    yield from _left_out(summary)
    if names := [one.id for one in measured.experiments if one.assumed]:
        yield "assumptions", f"Where the study is silent: stated with {', '.join(names)}."


def _stand_ins(summary: Summary) -> Iterator[Named]:
    """Which stacks ran in place of the study's, with their versions."""
    versions = {column.stack: column.version for column in summary.columns}
    said = []
    for stack, ran in dict.fromkeys(pair for each in (*summary.published, *summary.claims)
                                    for pair in each.stand_ins.items()):
        known = ", ".join(version for name in ran.split("/") if (version := versions.get(name)))
        said.append(f"{ran}{f' (version {known})' if known else ''} ran for {stack}")
    if said:
        yield "stand-ins", f"Numbers and claims of the study's stacks are of others here: {', '.join(said)}."


def _nodes(measured: Measurements) -> Iterator[Named]:
    """Where a node here has fewer CPUs or less memory than the study's, by what was asked and what there is."""
    def room(cpus: int, memory_bytes: int) -> str:
        return f"{formatting.count(cpus, 'CPU')} and {memory_bytes / 1e9:.3g} GB"

    cells = {row.key: row.cell for row in measured.rows}
    less = ((f"The study's had {room(one.node['cpus'], one.node['memory_bytes'])}, here each has "
             f"{room(cell.cpus, cell.memory_bytes)}", one.id)
            for one in measured.experiments if one.node for cell in map(cells.get, one.cells)
            if cell and (cell.cpus < one.node["cpus"] or cell.memory_bytes < one.node["memory_bytes"]))
    yield from (("nodes", f"{what}: {experiments}.") for what, experiments in _grouped(less))


def _grouped(pairs: Iterable[Named]) -> Iterator[Named]:
    """Each first of the pairs once, with all of its seconds."""
    return ((first, ", ".join(dict.fromkeys(second for _, second in alike)))
            for first, alike in grouped(pairs, itemgetter(0)).items())


def _left_out(summary: Summary) -> Iterator[Named]:
    planned = {column.stack for column in summary.columns}
    skipped = [(skip.reason, skip.stack) for skip in summary.skipped]
    for reason, stacks in _grouped(pair for pair in skipped if pair[1] not in planned):
        yield "stacks left out", f"{stacks}: {reason}."
    if partly := sum(stack in planned for _, stack in skipped):
        yield "cells left out", f"{formatting.count(partly, 'cell')} of stacks that ran others; reasons below."
    if summary.failures:
        endings = Counter(failure.ending for failure in summary.failures)
        yield "failed runs", (f"{formatting.count(len(summary.failures), 'run')} did not end ok: "
                              f"{', '.join(f'{ending} {count}' for ending, count in endings.items())}.")
