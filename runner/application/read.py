"""A result read: what was measured, its summary, its report and the files beside its events."""

import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from runner import formatting, screen
from runner.analysis import agreement, summary
from runner.analysis.between import history
from runner.analysis.summary_format import Summary
from runner.cells import model_name
from runner.errors import InputError
from runner.measuring import equality
from runner.report import answer as answers
from runner.report import contents, run_listing
from runner.report.between import reasons
from runner.report.columns import rounds
from runner.report.document import Report, Trust
from runner.report.tables import Shown
from runner.report.writers import export, latex, markdown, page, spreadsheet
from runner.results import error_output, joined, manifest, store
from runner.results.reader import RecordError, measurements
from runner.results.rows import Measurements


class Result(NamedTuple):
    """What a result's events come to, as data and as text; `import evenbench` gives it to notebooks."""

    folder: Path                     # of a study of which all is told the folder of all results
    summary: Summary
    report: Report
    ids: tuple[str, ...] | None = None       # of the study's sessions

    def ratios(self) -> list[dict[str, Any]]:
        """A mapping a comparison and stack: its cell, rate and unit, ratio to the baseline, its interval and verdict.

        None where there is no number, as of the baseline's ratio to itself.
        """
        return [{"comparison": each.label, "task": each.task, "measure": each.measure, "batch": each.settings["batch"],
                 "stack": one.stack, "rate": one.rate_per_worker, "unit": each.unit, "ratio": one.ratio,
                 "low": one.ratio_interval and one.ratio_interval.low,
                 "high": one.ratio_interval and one.ratio_interval.high, "verdict": one.verdict.value}
                for each in self.summary.comparisons for one in each.results]

    def __repr__(self) -> str:
        """The answer in a line, not the whole summary."""
        count = formatting.count(len(self.summary.comparisons), "comparison")
        return f"<evenbench {self.summary.id}: {count}, {rounds(self.summary, self.summary.comparisons)}; see ratios()>"

    def frame(self) -> Any:
        """The raw samples as docs/export.md has the columns: a pandas.DataFrame, without pandas a list of dicts."""
        rows = list(export.rows(measured_in(self.folder)))
        try:
            import pandas
        except ImportError:
            return rows
        return pandas.DataFrame(rows)


def measured_in(folder: Path) -> Measurements:
    """What was measured in a result's folder. Raises InputError with the file."""
    name = folder.name if folder.parent == store.RESULTS else str(folder)
    try:
        return replace(measurements(store.read(folder)), name=name)
    except RecordError as error:
        raise InputError(f"{folder / store.EVENTS}: {error}") from error


def summarized(folder: Path) -> Result:
    """The session in a result's folder."""
    measured = measured_in(folder)
    summarised, made = reported(measured, folder.parent)
    made = _with_trust(made, measured, folder)
    found = reasons.section(_reasons(folder))
    return Result(folder, summarised, made._replace(sections=(*made.sections, *found)))


def keep_summary(result: Result) -> None:
    """Let summary.json stand beside a result's events; in a folder that is only to be read it does not."""
    with suppress(InputError):                   # which the page's line says
        store.write_beside(result.folder, "summary.json", summary.to_json(result.summary))


def reported(measured: Measurements, results: Path, said: int = 0) -> tuple[Summary, Report]:
    """The summary and the report of what was measured, by the checks in a folder of results; said: as summary_of's."""
    summarised = summary.summary_of(measured, equality.proved_in(measured, results), said)
    return summarised, contents.report(summarised, measured)


def runs(folder: Path, name: str) -> Shown:
    """A line a run; of those of a name, or of a cell's key, all that they wrote. Raises InputError without any."""
    found = run_listing.runs(measured_in(folder), error_output.read(folder), name)
    if name and not found.rows:
        raise InputError(f'--run: found "{name}", expected the name or the key of a run of {folder.name}; '
                         f"`evenbench report {shlex.quote(str(folder))} --run all` lists them")
    return found


def over_time(results: Path) -> history.History:
    """Each cell's ratios in all sessions of a folder. Raises InputError for fewer than two."""
    folders = store.folders(results)
    if len(folders) < 2:
        raise InputError(f"history: found {formatting.count(len(folders), 'result')} in {results}, expected two "
                         "or more sessions; `evenbench run quick` makes one")
    return history.over_time(list(readable(folders)))


def _reasons(folder: Path) -> list[Any]:
    """What `why` kept of a result."""
    with suppress(OSError, ValueError, AttributeError):
        return list(json.loads((folder / reasons.FILE).read_text()).get("reasons", ()))
    return []


def keep_reasons(folder: Path, record: dict[str, Any]) -> None:
    """Let reasons stand beside a result's events with those of other rows, and write its page again."""
    rows = {reasons.of(each) for each in record["reasons"]}
    all_of_them = [*(each for each in _reasons(folder) if reasons.of(each) not in rows), *record["reasons"]]
    try:
        store.write_beside(folder, reasons.FILE, json.dumps({**record, "reasons": all_of_them}, indent=2))
    except InputError as error:
        screen.say(f"no page: {error}")
        return
    if written := write_page(summarized(folder).report, folder / page.NAME):
        screen.say(f"page: {written}")


def _with_trust(made: Report, measured: Measurements, folder: Path) -> Report:
    """The report; its answer also says which files changed since, and of code how far the stacks' results are apart."""
    if made.answer is None:
        return made
    names = manifest.differing(folder) if (folder / manifest.NAME).is_file() else []
    files = [Trust("Files", f"not as the session left them: {', '.join(names)}", False)] if names else []
    tasks = dict.fromkeys(model_name(row.cell) for row in measured.rows if row.cell.measure == "step")
    distances = dict.fromkeys(agreement.apart(each) for task in tasks
                              for each in equality.of_code(folder.parent, task, measured.made_of()))
    trust = (each._replace(text="; ".join([each.text, *distances])) if each.name == answers.EQUAL else each
             for each in made.answer.trust)
    return made._replace(answer=made.answer._replace(trust=(*trust, *files)))


def of_study(name: str, results: Path) -> Result:
    """All that was measured of a study. Raises InputError where nothing was."""
    folders = [path.parent for path in sorted(results.glob(f"*-{name}-*/{store.EVENTS}"), reverse=True)]
    sessions = [each for each in readable(folders) if each.session.get("study") == name]
    if not sessions:
        raise InputError(f"--study {name}: {results} has none of it; `evenbench list results` shows all")
    fit, unlike = joined.alike(sessions)
    for line in unlike:
        screen.say(f"left out: {line}")
    measured = joined.joined(fit)
    return Result(results, *reported(measured, results), tuple(dict.fromkeys(measured.sessions.values())))


def forms(result: Result) -> dict[str, Callable[[], str]]:
    """The session's text in each form."""
    written: dict[str, Callable[[Report], str]] = {
        "html": page.html, "markdown": markdown.markdown, "csv": spreadsheet.comma_separated, "latex": latex.latex}
    return {**{name: partial(form, result.report) for name, form in written.items()},
            "json": partial(summary.to_json, result.summary)}


def write_page(report: Report, to: Path) -> Path | None:
    """Write the page; None, and why, where its folder cannot be written."""
    try:
        store.write_beside(to.parent, to.name, page.html(report).rstrip("\n"))
    except InputError as error:
        screen.say(f"no page: {error}")
        return None
    return to


def readable(folders: Iterable[Path]) -> Iterator[Measurements]:
    """What was measured in each folder; unreadable folders and copies are said and left out."""
    seen: dict[str, Path] = {}
    for folder in folders:
        try:
            measured = measured_in(folder)
            if (first := seen.setdefault(str(measured.session.get("id")), folder)) != folder:
                screen.say(f"left out: {folder} is a copy of {first}")
                continue
            yield measured
        except InputError as error:
            screen.say(f"left out: {error}")
