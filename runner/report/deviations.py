"""How a session differs from its study, and what else to know before reading its numbers. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from operator import itemgetter

from runner import formatting
from runner.analysis.summary_format import Summary
from runner.grouping import grouped
from runner.report.claims import wording
from runner.report.document import Named
from runner.results.rows import Measurements


def is_published(summary: Summary) -> bool:
    """Whether the study is somebody's paper and not our own comparison."""
    return bool(summary.published or summary.claims)


def deviations(summary: Summary, measured: Measurements, missing: str) -> Iterator[Named]:
    """What is not as in the study, or what to mistrust: the one that changes most first; missing: of the answer."""
    if missing:
        yield "not complete", f"{missing}."
    yield from _stand_ins(summary)
    if count := sum(map(wording.is_on_a_cpu, summary.claims)):
        yield "on a CPU", (f"{formatting.count(count, 'claim')} of the paper's on a GPU are judged here on a CPU; "
                           "their verdicts say so.")
    changed = ", ".join(one.id for one in measured.experiments if one.scaled)
    if is_published(summary) and summary.scale != "paper" and (summary.scale or changed):
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
    less = []
    for one in measured.experiments:
        for cell in (cells[key] for key in one.cells if key in cells and one.node):
            if cell.cpus < one.node["cpus"] or cell.memory_bytes < one.node["memory_bytes"]:
                less.append((f"The study's had {room(one.node['cpus'], one.node['memory_bytes'])}, here each has "
                             f"{room(cell.cpus, cell.memory_bytes)}", one.id))
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
