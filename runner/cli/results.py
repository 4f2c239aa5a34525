"""Commands that look things up: report, compare, history, export, curves, list, help, paper."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from runner import formatting, paths, schemas, screen
from runner.analysis import curves
from runner.analysis.between import comparing
from runner.application import listing, read
from runner.cli import complete
from runner.cli.options import RESULTS, Commands, Details, Folders, NewestResult, ResultName, Results
from runner.cli.output import STANDARD_OUTPUT, Output, file_option
from runner.errors import InputError
from runner.report.between import history as history_report
from runner.report.writers import export, markdown, spreadsheet
from runner.report.writers import page as pages
from runner.results import store
from runner.screen.summary import summary_view

app = Commands()


@app.command()
def report(name: NewestResult = store.LATEST, results: Results = RESULTS, details: Details = False,
           run: Annotated[str, typer.Option(help="Only how a run ended, and all that it wrote on standard error: its "
                                                 "name, or its cell's key; `all` lists the runs.")] = "",
           study: Annotated[str, typer.Option("--study", help="The figures of all sessions of a study on one page, "
                                              "each comparison by the session with most of its stacks.",
                                              autocompletion=complete.studies)] = "",
           html: Annotated[str | None, file_option("The page, instead of report.html in the result's folder; - as "
                                                   "below.")] = None,
           latex: Annotated[str | None, file_option("A table a comparison, for booktabs; - as below.")] = None, *,
           output: Output) -> None:
    """Print the answer of a session again and write its page, report.html."""
    if run:
        _refuse("--run", study=study, html=html, latex=latex, details=details)
        output.rows(*read.runs(store.located(name, results), "" if run == "all" else run))
        return
    if study:
        _refuse("--study", RESULT=name if name != store.LATEST else "")
        result = read.of_study(study, results)
    else:
        result = read.summarized(store.located(name, results))
    page = result.folder / (f"{study}.html" if study else pages.NAME)

    def show() -> None:
        written = None if html else read.write_page(result.report, page)
        _show(result, _named(result, name), written, details)

    output.give(show, read.forms(result), html=html, latex=latex)


def _refuse(option: str, **others: Any) -> None:
    """Raise InputError for an option that says nothing beside this one."""
    for name, value in others.items():
        if value:
            raise InputError(f"found {option} and {name if name.isupper() else f'--{name}'}, expected one of them")


def show_result(folder: Path, output: Output) -> None:
    """Write summary.json beside the events, and print the answer."""
    result = read.summarized(folder)
    output.give(lambda: _show(result, _named(result)), read.forms(result))


def _named(result: read.Result, name: str = store.LATEST) -> str:
    """How commands name it: as it was asked for; a study, or the newest of the usual folder, needs no name."""
    if name != store.LATEST:
        return shlex.quote(name)
    return "" if result.ids is not None or result.folder.parent == RESULTS else shlex.quote(str(result.folder))


def _show(result: read.Result, named: str, page: Path | None = None, is_detailed: bool = False) -> None:
    if result.ids is None:
        read.keep_summary(result)
    screen.say(f"results: {result.folder if result.ids is None else formatting.count(len(result.ids), 'session')}")
    screen.show(summary_view(result.report, is_detailed, named, page))


@app.command("compare")
def compare_(a: ResultName, b: ResultName, results: Results = RESULTS, details: Details = False, *,
             output: Output) -> None:
    """Compare two sessions: which ratios to the baseline moved, and what differed around them."""
    compared = comparing.compare(*(read.measured_in(store.located(name, results)) for name in (a, b)))
    record = {"schema": schemas.COMPARISON, **comparing.plain(compared)}
    output.rows(record["rows"], comparing.lines(compared, details), record)


@app.command("history")
def history_(results: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of all results.")] = RESULTS,
             html: Annotated[str | None, file_option("The page, instead of history.html in FOLDER; - as below.")
                             ] = None, *, output: Output) -> None:
    """Show each cell's ratio to its baseline over all sessions, where it moved, and what had changed then."""
    trend = read.over_time(results)
    page = history_report.report(trend, str(results))
    record = {"schema": schemas.COMPARISON, **comparing.plain(trend)}

    def show() -> None:
        screen.show(screen.parts_view([page.title, *page.in_short]))
        if not html and (written := read.write_page(page, results / "history.html")):
            screen.say(f"page: {written}")

    output.give(show, {"csv": lambda: spreadsheet.of_rows(trend.rows()), "markdown": lambda: markdown.markdown(page),
                       "json": lambda: json.dumps(record, indent=2, allow_nan=False),
                       "html": lambda: pages.html(page)}, html=html)


@app.command("export")
def export_(name: ResultName,
            to_csv: Annotated[str, file_option("The file to write; -: standard output.", "--csv")] = STANDARD_OUTPUT,
            results: Results = RESULTS) -> None:
    """Write a session's raw samples as one table, a row a sample, for notebooks."""
    count = export.to_csv(read.measured_in(store.located(name, results)), Path(to_csv))
    screen.say(f"{to_csv}: {formatting.count(count, 'row')}")


@app.command("list")
def list_(what: Annotated[str, typer.Argument(metavar="WHAT", autocompletion=lambda: complete.LISTS,
                                              help="stacks, outdated, tasks, studies or results.")] = "stacks",
          results: Results = RESULTS,
          scale: Annotated[str | None, typer.Option(help="Of studies; if left out each one's first, and all that have "
                                                         "results.")] = None,
          *, folders: Folders, output: Output) -> None:
    """List stacks, their pins that the package index has left behind (outdated), tasks, studies or results.

    Of each experiment of a study what is done, stale and missing.
    """
    output.rows(*listing.of(what, results, scale, folders.places))
    for line in listing.left_behind() if what == "results" else ():
        screen.say(line)


@app.command("help")
def help_(context: typer.Context,
          topic: Annotated[str, typer.Argument(metavar="[TOPIC]", help="agents, or a command.")] = "") -> None:
    """Print a command's help, or how agents and scripts use evenbench (help agents)."""
    root = context.find_root()
    command = root.command.get_command(root, topic) if topic else root.command    # type: ignore[attr-defined]
    if topic == "agents":
        typer.echo((paths.ROOT / "AGENTS.md").read_text(encoding="utf-8"), nl=False)
    elif command is None:
        raise InputError(f'help: found "{topic}", expected agents or a command: run `evenbench --help`')
    else:
        typer.echo(command.get_help(typer.Context(command, parent=root, info_name=topic) if topic else root))


@app.command("paper")
def paper_(name: Annotated[str, typer.Argument(metavar="STUDY", help="A published study's id, or its file.",
                                               autocompletion=complete.studies)],
           scale: Annotated[str, typer.Option(help="One of the study's scales.")] = "quick", *, folders: Folders,
           output: Output) -> None:
    """Show a paper's figures and tables by its own numbers, what of them runs here, its numbers and claims."""
    output.rows(*listing.paper(name, scale, folders.places))


@app.command("curves")
def curves_(name: NewestResult = store.LATEST, results: Results = RESULTS, *, output: Output) -> None:
    """Say how far the loss curves of a session's stacks lie apart; 1 where equal trainings in float64 do not agree."""
    measured = read.measured_in(store.located(name, results))
    pairs = curves.compared(measured)
    for line in curves.apart(measured):
        screen.say(f"not compared: {line}")
    output.rows([pair.record() for pair in pairs], [curves.listed(pairs)] if pairs else ["nothing to compare"])
    sys.exit(0 if all(pair.does_agree for pair in pairs if not pair.why_apart) else 1)
