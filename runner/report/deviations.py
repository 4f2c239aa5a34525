"""How a session differs from its study, and what else to know before reading its numbers. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from runner import formatting
from runner.analysis.summary_format import Summary
from runner.report.claims import wording
from runner.report.document import Deviation
from runner.results.rows import Measurements


def deviations(summary: Summary, measured: Measurements) -> tuple[Deviation, ...]:
    """All deviations, the one that changes most first."""
    return (*_unfinished(summary), *_stand_ins(summary), *_on_a_cpu(summary), *_scaled(summary, measured),
            *_chosen(measured),
            *_places(summary, measured), *_nodes(measured), *_left_out(summary),
            *_assumed(measured))


def is_published(summary: Summary) -> bool:
    """Whether the study is somebody's paper and not our own comparison."""
    return bool(summary.published or summary.claims)


def _unfinished(summary: Summary) -> Iterator[Deviation]:
    if not summary.is_complete:
        yield Deviation("not complete", "The session has not run to its end; the same command resumes it.")


def _stand_ins(summary: Summary) -> Iterator[Deviation]:
    """Which stacks ran in place of the study's, with their versions."""
    versions = {column.stack: column.version for column in summary.columns}
    ran_instead = (*(each.stand_ins for each in summary.published), *(each.stand_ins for each in summary.claims))
    pairs = dict.fromkeys(pair for each in ran_instead for pair in each.items())
    if pairs:
        said = ", ".join(f"{ran}{_versions(ran, versions)} ran for {stack}" for stack, ran in pairs)
        yield Deviation("stand-ins", f"Numbers and claims of the study's stacks are of others here: {said}.")


def _versions(ran: str, versions: Mapping[str, str | None]) -> str:
    known = [version for name in ran.split("/") if (version := versions.get(name))]
    return f" (version {', '.join(known)})" if known else ""


def _on_a_cpu(summary: Summary) -> Iterator[Deviation]:
    count = sum(map(wording.is_on_a_cpu, summary.claims))
    if count:
        yield Deviation("on a CPU", f"{formatting.count(count, 'claim')} of the paper's on a GPU are judged here on a "
                        "CPU; their verdicts say so.")


def _scaled(summary: Summary, measured: Measurements) -> Iterator[Deviation]:
    changed = [one.id for one in measured.experiments if one.scaled]
    if not is_published(summary) or (summary.scale in (None, "paper") and not changed):
        return
    if summary.scale == "paper":
        yield Deviation("budget", f"A budget of time cut steps or epochs of {', '.join(changed)}; each says how.")
        return
    where = f" It changes {', '.join(changed)}; each says how." if changed else ""
    yield Deviation("scale", f'Run at scale "{summary.scale}", which is smaller than the paper\'s.{where}')


def _chosen(measured: Measurements) -> Iterator[Deviation]:
    """What the command line changed."""
    settings = [f"{name} {' and '.join(map(str, value)) if isinstance(value, list) else value}"
                for name, value in measured.settings.items() if name != "data"]
    if settings:
        yield Deviation("settings", f"Set by hand over the study's: {', '.join(settings)}.")
    if measured.stacks:
        yield Deviation("stacks", f"Chosen by hand in place of the study's: {', '.join(measured.stacks)}.")


def _places(summary: Summary, measured: Measurements) -> Iterator[Deviation]:
    nodes = sorted({row.cell.nodes for row in measured.rows if row.cell.nodes > 1})
    if nodes and not any(run.place.get("remote") for row in measured.rows for run in row.runs):
        yield Deviation("one machine", f"All {'/'.join(map(str, nodes))} nodes are on this machine and share its "
                        f"{formatting.count(summary.machine.cpus or 0, 'CPU')}: no network lies between them.")


def _nodes(measured: Measurements) -> Iterator[Deviation]:
    """Where a node here has fewer CPUs or less memory than the study's, by what was asked and what there is."""
    cells = {row.key: row.cell for row in measured.rows}
    less: dict[str, dict[str, None]] = {}
    for one in measured.experiments:
        for cell in (cells[key] for key in one.cells if key in cells and one.node):
            if cell.cpus < one.node["cpus"] or cell.memory_bytes < one.node["memory_bytes"]:
                asked, has = _room(one.node["cpus"], one.node["memory_bytes"]), _room(cell.cpus, cell.memory_bytes)
                less.setdefault(f"The study's had {asked}, here each has {has}", {})[one.id] = None
    for what, experiments in less.items():
        yield Deviation("nodes", f"{what}: {', '.join(experiments)}.")


def _room(cpus: int, memory_bytes: int) -> str:
    return f"{formatting.count(cpus, 'CPU')} and {memory_bytes / 1e9:.3g} GB"


def _left_out(summary: Summary) -> Iterator[Deviation]:
    planned = {column.stack for column in summary.columns}
    by_reason: dict[str, dict[str, None]] = {}
    for skip in summary.skipped:
        if skip.stack not in planned:
            by_reason.setdefault(skip.reason, {})[skip.stack] = None
    for reason, stacks in by_reason.items():
        yield Deviation("stacks left out", f"{', '.join(stacks)}: {reason}.")
    partly = sum(skip.stack in planned for skip in summary.skipped)
    if partly:
        yield Deviation("cells left out",
                        f"{formatting.count(partly, 'cell')} of stacks that ran otherwise; reasons below.")
    if summary.failures:
        yield Deviation("failed runs", f"{formatting.count(len(summary.failures), 'run')} did not end ok: "
                        f"{_tally([failure.ending for failure in summary.failures])}.")


def _tally(endings: Sequence[str]) -> str:
    counts: Mapping[str, int] = {ending: endings.count(ending) for ending in dict.fromkeys(endings)}
    return ", ".join(f"{ending} {count}" for ending, count in counts.items())


def _assumed(measured: Measurements) -> Iterator[Deviation]:
    names = [one.id for one in measured.experiments if one.assumed]
    if names:
        yield Deviation("assumptions", f"Where the study is silent: stated with {', '.join(names)}.")
