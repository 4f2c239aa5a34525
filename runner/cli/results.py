"""Commands that read what is stored: report, compare, history, export, curves, verify."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from runner import formatting, screen
from runner.analysis import curves, summary
from runner.analysis.between import comparing, over_time
from runner.analysis.summary_format import Summary
from runner.cli.options import RESULTS, AsJson, Details, NewestResult, ResultName, Results, print_rows
from runner.errors import InputError
from runner.measuring import equality
from runner.report import contents, forms
from runner.report.between import history as over_time_report
from runner.report.document import Report, Trust
from runner.report.writers import export
from runner.results import error_output, joined, manifest, shown, store
from runner.results.rows import Measurements, RecordError, measurements
from runner.screen.summary import summary_view

app = typer.Typer()


class Session(NamedTuple):
    """What a result's events come to, as data and as text."""

    summary: Summary
    report: Report
    ids: tuple[str, ...] = ()        # of the sessions that it is of, where they are several


@app.command()
def report(name: NewestResult = "",
           results: Results = RESULTS, as_json: AsJson = False,
           html: Annotated[bool, typer.Option("--html", help="Only the page.")] = False,
           markdown: Annotated[bool, typer.Option("--markdown", help="The same as Markdown.")] = False,
           csv: Annotated[bool, typer.Option("--csv", help="A line a result.")] = False,
           latex: Annotated[bool, typer.Option("--latex", help="A table a comparison, for booktabs.")] = False,
           details: Details = False,
           run: Annotated[str, typer.Option(help="Only how a run ended, and all that it wrote on standard error: its "
                                                 "name, or its cell's key; `all` lists the runs.")] = "",
           study: Annotated[str, typer.Option("--study", help="The figures of all sessions of a study on one page: of "
                                              "what is compared the newest session that has it.")] = "",
           out: Annotated[Path | None, typer.Option(help="The file, instead of report.html in the result's folder, "
                                                         "or of standard output for the other forms.")] = None) -> None:
    """Print the summary of a session again and write its page, report.html; or only one form of it."""
    form = forms.chosen({"html": html, "markdown": markdown, "csv": csv, "latex": latex}, out)
    if form and (as_json or details):
        raise InputError(f"report: found --{form} and {'--json' if as_json else '--details'}, expected one of them")
    if run and form:
        raise InputError(f"report: found --run and --{form}, expected one of them; --run has --json alone")
    if study:
        if name or run:
            raise InputError(f"report: found --study and {name or '--run'}, expected one of them")
        folder, session, page = None, _of_study(study, results), results / f"{study}.html"
    else:
        folder = store.located(name, results)
        if run:
            _show_runs(folder, "" if run == "all" else run, as_json)
            return
        session, page = summarized(folder), folder / forms.PAGE
    if form in (None, "html"):
        _write_page(session, out or page, is_asked=out is not None or form is not None)
    if form is None:
        _show(session, folder, as_json, details, name or (_named(folder) if folder else ""))
    if form in (None, "html"):
        return
    text = forms.FORMS[form](session.report)
    if out:
        screen.say(f"written: {forms.write(text, out)}")
    else:
        print(text, end="")


def _show_runs(folder: Path, name: str, is_json: bool) -> None:
    """A line a run, or of those of a name all that they wrote."""
    runs = shown.runs(measured_in(folder), error_output.read(folder), name)
    if name and not runs:
        raise InputError(f'--run: found "{name}", expected the name or the key of a run of {folder.name}; '
                         f"`evenbench report {folder} --run all` lists them")
    if is_json:
        print(json.dumps([each.record(has_errors=bool(name)) for each in runs], indent=2))
    elif name:
        screen.show(screen.parts_view([line for each in runs for line in each.lines()]))
    else:
        screen.show(screen.list_view([each.row() for each in runs]))


def measured_in(folder: Path) -> Measurements:
    """What was measured in a result's folder. Raises InputError with the file."""
    try:
        return measurements(store.read(folder))
    except RecordError as error:
        raise InputError(f"{folder / store.EVENTS}: {error}") from error


def summarized(folder: Path) -> Session:
    """The session in a result's folder."""
    measured = measured_in(folder)
    summarised = summary.summary_of(measured, equality.proved(folder.parent, measured.made_of()))
    return Session(summarised, _with_files(contents.report(summarised, measured), folder))


def _with_files(made: Report, folder: Path) -> Report:
    """The report; where files changed since the session, as `verify` finds, its answer says so."""
    if made.answer is None or not (folder / manifest.NAME).is_file():
        return made
    found = manifest.verify(folder)
    if not (names := (*found.missing, *found.changed)):
        return made
    found_text = f"not as the session left them: {', '.join(names)}"
    return made._replace(answer=made.answer._replace(trust=(*made.answer.trust, Trust("Files", found_text, False))))


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


def show_result(folder: Path) -> None:
    """Write summary.json beside the events, and print the answer."""
    _show(summarized(folder), folder, is_json=False, named=_named(folder))


def show_with_page(folder: Path) -> None:
    """Write summary.json and the page beside the events, and print the answer."""
    session = summarized(folder)
    _write_page(session, folder / forms.PAGE)
    _show(session, folder, is_json=False, named=_named(folder))


def _named(folder: Path) -> str:
    """How commands name a result that was just made: the newest of the usual folder needs no name."""
    return "" if folder.parent == RESULTS else str(folder)


def _write_page(session: Session, to: Path, is_asked: bool = False) -> None:
    """Write the page; a folder that cannot be written has none, unless it is what was asked for."""
    try:
        screen.say(f"page: {forms.write(forms.page(session.report), to)}")
    except InputError as error:
        if is_asked:
            raise
        screen.say(f"no page: {error}")


def _show(session: Session, folder: Path | None, is_json: bool, is_detailed: bool = False, named: str = "") -> None:
    text = summary.to_json(session.summary)
    if folder:
        with suppress(InputError):               # of a folder that is only to be read, the page's line says it
            store.write_beside(folder, "summary.json", text)
    if is_json:
        print(text)
    else:
        screen.say(f"results: {folder}" if folder else f"results: {formatting.count(len(session.ids), 'session')}")
        screen.show(summary_view(session.report, is_detailed, named))


@app.command("compare")
def compare_(a: ResultName, b: ResultName, results: Results = RESULTS, details: Details = False,
             as_json: AsJson = False) -> None:
    """Compare two sessions: which ratios to the baseline moved, and what differed around them."""
    compared = comparing.compare(*(measured_in(store.located(name, results)) for name in (a, b)))
    if as_json:
        print(json.dumps(compared.record(), indent=2, allow_nan=False))
    else:
        screen.show(screen.parts_view(comparing.lines(compared, details)))


@app.command("history")
def history_(results: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of all results.")] = RESULTS,
             out: Annotated[Path | None, typer.Option(help="The page, instead of history.html in FOLDER.")] = None,
             as_json: AsJson = False) -> None:
    """Show each cell's ratio to its baseline over all sessions, where it moved, and what had changed then."""
    folders = [path.parent for path in sorted(results.glob(f"*/{store.EVENTS}"))]
    if len(folders) < 2:
        raise InputError(f"history: found {formatting.count(len(folders), 'result')} in {results}, expected two "
                         "or more sessions; `evenbench run quick` makes one")
    trend = over_time.over_time(list(_readable(folders)))
    if as_json:
        print(json.dumps(trend.record(), indent=2, allow_nan=False))
        return
    page = over_time_report.report(trend, str(results))
    screen.show(screen.parts_view([page.title, *page.in_short]))
    screen.say(f"page: {forms.write(forms.page(page), out or results / 'history.html')}")


def _readable(folders: Iterable[Path]) -> Iterator[Measurements]:
    """What was measured in each folder; one that cannot be read is told and hides no other."""
    for folder in folders:
        try:
            yield measured_in(folder)
        except InputError as error:
            screen.say(f"left out: {error}")


@app.command("export")
def export_(name: ResultName, parquet: Annotated[Path | None, typer.Option(help="Write a Parquet file.")] = None,
            to_csv: Annotated[Path | None, typer.Option("--csv", help="Write a CSV file.")] = None,
            results: Results = RESULTS) -> None:
    """Write a session's raw samples as one table, a row a sample, for notebooks."""
    if not parquet and not to_csv:
        raise InputError("export: found no file to write, expected --parquet FILE or --csv FILE")
    measured = measured_in(store.located(name, results))
    for path, write in ((parquet, export.to_parquet), (to_csv, export.to_csv)):
        if path:
            screen.say(f"{path}: {formatting.count(write(measured, path), 'row')}")


@app.command("curves")
def curves_(name: NewestResult = "", results: Results = RESULTS, as_json: AsJson = False) -> None:
    """Say how far the loss curves of a session's stacks lie apart; 1 where equal trainings in float64 do not agree."""
    measured = measured_in(store.located(name, results))
    distances = curves.compared(measured)
    for line in curves.apart(measured):
        screen.say(f"not compared: {line}")
    if as_json:
        print_rows([apart._asdict() for apart in distances], as_json)
    else:
        screen.show(screen.parts_view([curves.listed(distances)] if distances else ["nothing to compare"]))
    sys.exit(0 if all(apart.does_agree for apart in distances if apart.should_agree) else 1)


@app.command("verify")
def verify_(name: NewestResult = "", results: Results = RESULTS, as_json: AsJson = False) -> None:
    """Say which files of a result are not as its session and reports left them; 1 where any is not."""
    named = (folder for folder in (results / name, Path(name)) if name and (folder / manifest.NAME).is_file())
    folder = next(named, None) or store.located(name, results)        # events that are missing are to be told too
    checked = manifest.verify(folder)
    if as_json:
        print(json.dumps(checked._asdict()))
    elif not checked.is_whole:
        print_rows(checked.rows(), is_json=False)
    else:
        screen.say(f"{folder}: {formatting.count(checked.files, 'file')}, all as {manifest.NAME} says")
    sys.exit(0 if checked.is_whole else 1)
