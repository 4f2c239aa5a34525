"""Commands that read what is stored: report, compare, history, export, curves."""

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from runner import formatting, screen
from runner.analysis import agreement, curves, summary
from runner.analysis.between import comparing, history
from runner.analysis.summary_format import Summary
from runner.cells import model_name
from runner.cli import complete
from runner.cli.options import RESULTS, Commands, Details, NewestResult, ResultName, Results
from runner.cli.output import NO_FILES, STANDARD_OUTPUT, Output, checked
from runner.errors import InputError
from runner.measuring import equality
from runner.report import answer as answers
from runner.report import contents, file_formats
from runner.report.between import history as history_report
from runner.report.between import reasons
from runner.report.document import Report, Trust
from runner.report.writers import export, markdown, spreadsheet
from runner.results import error_output, joined, manifest, run_listing, store
from runner.results.rows import Measurements, RecordError, measurements
from runner.screen.summary import summary_view

app = Commands()


class Session(NamedTuple):
    """What a result's events come to, as data and as text."""

    summary: Summary
    report: Report
    ids: tuple[str, ...] = ()        # of the sessions that it is of, where they are several


@app.command()
def report(name: NewestResult = store.LATEST, results: Results = RESULTS, details: Details = False,
           run: Annotated[str, typer.Option(help="Only how a run ended, and all that it wrote on standard error: its "
                                                 "name, or its cell's key; `all` lists the runs.")] = "",
           study: Annotated[str, typer.Option("--study", help="The figures of all sessions of a study on one page: of "
                                              "what is compared the newest session that has it.",
                                              autocompletion=complete.studies)] = "",
           html: Annotated[str | None, typer.Option(metavar="FILE", callback=checked, help="The page, instead of "
                                                    "report.html in the result's folder; - as below.")] = None,
           latex: Annotated[str | None, typer.Option(metavar="FILE", callback=checked, help="A table a comparison, for "
                                                     "booktabs; - as below.")] = None, *, output: Output) -> None:
    """Print the answer of a session again and write its page, report.html."""
    if run:
        _refuse("--run", study=study, html=html, latex=latex, details=details)
        _show_runs(store.located(name, results), "" if run == "all" else run, output)
        return
    if study:
        _refuse("--study", RESULT=name if name != store.LATEST else "")
        folder, session, page = None, _of_study(study, results), results / f"{study}.html"
    else:
        folder = store.located(name, results)
        session, page = summarized(folder), folder / file_formats.PAGE

    def show() -> None:
        written = None if html else _write_page(session.report, page)
        _show(session, folder, written, details,
              shlex.quote(name) if name != store.LATEST else _named(folder) if folder else "")

    output.give(show, _forms(session), html=html, latex=latex)


def _refuse(option: str, **others: Any) -> None:
    """Raise InputError for an option that says nothing beside this one."""
    for name, value in others.items():
        if value:
            raise InputError(f"found {option} and {name if name.isupper() else f'--{name}'}, expected one of them")


def _show_runs(folder: Path, name: str, output: Output) -> None:
    """A line a run, or of those of a name all that they wrote."""
    runs = run_listing.runs(measured_in(folder), error_output.read(folder), name)
    if name and not runs:
        raise InputError(f'--run: found "{name}", expected the name or the key of a run of {folder.name}; '
                         f"`evenbench report {shlex.quote(str(folder))} --run all` lists them")
    output.rows([each.row() for each in runs], [line for each in runs for line in each.lines()] if name else (),
                [each.record(has_errors=bool(name)) for each in runs])


def measured_in(folder: Path) -> Measurements:
    """What was measured in a result's folder. Raises InputError with the file."""
    try:
        return measurements(store.read(folder, is_judged=False))
    except RecordError as error:
        raise InputError(f"{folder / store.EVENTS}: {error}") from error


def summarized(folder: Path) -> Session:
    """The session in a result's folder."""
    measured = measured_in(folder)
    summarised = summary.summary_of(measured, equality.proved(folder.parent, measured.made_of()))
    made = _with_files(contents.report(summarised, measured), folder)
    made = _with_code_compared(made, measured, folder.parent)
    found = reasons.section(_reasons(folder))
    return Session(summarised, made._replace(sections=(*made.sections, *found)))


def _reasons(folder: Path) -> list[Any]:
    """What `why` kept of a result."""
    with suppress(OSError, ValueError, AttributeError):
        return list(json.loads((folder / reasons.FILE).read_text()).get("reasons", ()))
    return []


def keep_reasons(folder: Path, told: dict[str, Any]) -> None:
    """Let reasons stand beside a result's events with those of other rows, and write its page again."""
    rows = {reasons.of(each) for each in told["reasons"]}
    all_of_them = [*(each for each in _reasons(folder) if reasons.of(each) not in rows), *told["reasons"]]
    try:
        store.write_beside(folder, reasons.FILE, json.dumps({**told, "reasons": all_of_them}, indent=2))
    except InputError as error:
        screen.say(f"no page: {error}")
        return
    if page := _write_page(summarized(folder).report, folder / file_formats.PAGE):
        screen.say(f"page: {page}")


def _with_files(made: Report, folder: Path) -> Report:
    """The report; where files changed since the session, its answer says so."""
    if made.answer is None or not (folder / manifest.NAME).is_file():
        return made
    if not (names := manifest.differing(folder)):
        return made
    found_text = f"not as the session left them: {', '.join(names)}"
    return made._replace(answer=made.answer._replace(trust=(*made.answer.trust, Trust("Files", found_text, False))))


def _with_code_compared(made: Report, measured: Measurements, results: Path) -> Report:
    """The report; where it is of code, its answer says how far the stacks' results were apart."""
    tasks = dict.fromkeys(model_name(row.cell) for row in measured.rows if row.cell.measure == "step")
    told = [agreement.apart(each) for task in tasks
            for each in equality.of_code(results, task, measured.made_of())]
    if made.answer is None or not told:
        return made
    trust = tuple(Trust(each.name, f"{each.text}; {'; '.join(dict.fromkeys(told))}", each.is_good)
                  if each.name == answers.EQUAL else each for each in made.answer.trust)
    return made._replace(answer=made.answer._replace(trust=trust))


def _of_study(name: str, results: Path) -> Session:
    """All that was measured of a study. Raises InputError where nothing was."""
    folders = [path.parent for path in sorted(results.glob(f"*-{name}-*/{store.EVENTS}"), reverse=True)]
    sessions = [each for each in _readable(folders) if each.session.get("study") == name]
    if not sessions:
        raise InputError(f"--study {name}: {results} has none of it; `evenbench list results` shows all")
    fit, unlike = joined.alike(sessions)
    for line in unlike:
        screen.say(f"left out: {line}")
    measured = joined.joined(fit)
    summarised = summary.summary_of(measured, equality.proved(results, measured.made_of()))
    return Session(summarised, contents.report(summarised, measured), tuple(dict.fromkeys(measured.sessions.values())))


def show_result(folder: Path, output: Output = NO_FILES, has_page: bool = False) -> None:
    """Write summary.json and perhaps the page beside the events, and print the answer."""
    session = summarized(folder)
    page = _write_page(session.report, folder / file_formats.PAGE) if has_page else None
    output.give(lambda: _show(session, folder, page, named=_named(folder)), _forms(session))


def _forms(session: Session) -> dict[str, Callable[[], str]]:
    """The session's text in each form."""
    return {**{name: partial(form, session.report) for name, form in file_formats.FORMS.items()},
            "json": partial(summary.to_json, session.summary)}


def _named(folder: Path) -> str:
    """How commands name a result that was just made: the newest of the usual folder needs no name."""
    return "" if folder.parent == RESULTS else shlex.quote(str(folder))


def _write_page(report: Report, to: Path) -> Path | None:
    """Write the page; None, and why, where its folder cannot be written."""
    try:
        store.write_beside(to.parent, to.name, file_formats.page(report).rstrip("\n"))
    except InputError as error:
        screen.say(f"no page: {error}")
        return None
    return to


def _show(session: Session, folder: Path | None, page: Path | None = None, is_detailed: bool = False, named: str = ""
          ) -> None:
    if folder:
        with suppress(InputError):               # of a folder that is only to be read, the page's line says it
            store.write_beside(folder, "summary.json", summary.to_json(session.summary))
    screen.say(f"results: {folder}" if folder else f"results: {formatting.count(len(session.ids), 'session')}")
    screen.show(summary_view(session.report, is_detailed, named, page))


@app.command("compare")
def compare_(a: ResultName, b: ResultName, results: Results = RESULTS, details: Details = False, *,
             output: Output) -> None:
    """Compare two sessions: which ratios to the baseline moved, and what differed around them."""
    compared = comparing.compare(*(measured_in(store.located(name, results)) for name in (a, b)))
    record = {"schema": comparing.FORMAT, **comparing.plain(compared)}
    output.rows(record["rows"], comparing.lines(compared, details), record)


@app.command("history")
def history_(results: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of all results.")] = RESULTS,
             html: Annotated[str | None, typer.Option(metavar="FILE", callback=checked, help="The page, instead of "
                                                      "history.html in FOLDER; - as below.")] = None, *,
             output: Output) -> None:
    """Show each cell's ratio to its baseline over all sessions, where it moved, and what had changed then."""
    folders = [path.parent for path in sorted(results.glob(f"*/{store.EVENTS}"))]
    if len(folders) < 2:
        raise InputError(f"history: found {formatting.count(len(folders), 'result')} in {results}, expected two "
                         "or more sessions; `evenbench run quick` makes one")
    trend = history.over_time(list(_readable(folders)))
    page = history_report.report(trend, str(results))
    record = {"schema": comparing.FORMAT, **comparing.plain(trend)}

    def show() -> None:
        screen.show(screen.parts_view([page.title, *page.in_short]))
        if not html and (written := _write_page(page, results / "history.html")):
            screen.say(f"page: {written}")

    output.give(show, {"csv": lambda: spreadsheet.of_rows(trend.rows()), "markdown": lambda: markdown.markdown(page),
                       "json": lambda: json.dumps(record, indent=2, allow_nan=False),
                       "html": lambda: file_formats.page(page)}, html=html)


def _readable(folders: Iterable[Path]) -> Iterator[Measurements]:
    """What was measured in each folder; one that cannot be read is told and hides no other, and a copy counts once."""
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


@app.command("export")
def export_(name: ResultName,
            to_csv: Annotated[str, typer.Option("--csv", metavar="FILE", callback=checked,
                                                help="The file to write; -: standard output.")] = STANDARD_OUTPUT,
            results: Results = RESULTS) -> None:
    """Write a session's raw samples as one table, a row a sample, for notebooks."""
    count = export.to_csv(measured_in(store.located(name, results)), Path(to_csv))
    screen.say(f"{to_csv}: {formatting.count(count, 'row')}")


@app.command("curves")
def curves_(name: NewestResult = store.LATEST, results: Results = RESULTS, *, output: Output) -> None:
    """Say how far the loss curves of a session's stacks lie apart; 1 where equal trainings in float64 do not agree."""
    measured = measured_in(store.located(name, results))
    distances = curves.compared(measured)
    for line in curves.apart(measured):
        screen.say(f"not compared: {line}")
    output.rows([apart._asdict() for apart in distances],
                [curves.listed(distances)] if distances else ["nothing to compare"])
    sys.exit(0 if all(apart.does_agree for apart in distances if apart.should_agree) else 1)
