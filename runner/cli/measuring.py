"""Commands that measure: run, plan, rerun, why, gate, blame."""

import functools
import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from runner import screen
from runner.analysis.between import regression
from runner.application import blame, crossing, explain, gate, measure
from runner.cli import complete, options
from runner.cli.options import Folders
from runner.cli.output import Output, file_option
from runner.cli.request import Form, MoreFiles, Own, Processes, Settled
from runner.cli.results import show_result
from runner.errors import InputError
from runner.measuring import own_models, rerun, stopping_rule
from runner.measuring.bench import Going, Request
from runner.measuring.why import reasons as why_reasons
from runner.planning.plan import Wishes
from runner.report import blaming
from runner.report.between import crossing as crossing_forms
from runner.report.between import reasons
from runner.report.between import regression as regression_forms
from runner.results import store
from runner.stacks.own import is_own

app = options.Commands()


@app.command()
def run(name: options.StudyName, more: MoreFiles = None, *, own: Own, form: Form, settled: Settled, going: Going,
        processes: Processes, folders: Folders, output: Output, prove: Annotated[bool, typer.Option(
            "--prove", help="First check what no check has shown equal yet.")] = False,
        width: Annotated[str | None, typer.Option(
            "--until", help="Add rounds until every ratio's interval is narrower, such as 2%; as many as --rounds says "
            f"at most, else {stopping_rule.CAP}.")] = None,
        sweep: Annotated[str, typer.Option(metavar="KEY=LOW..HIGH", help="Find from which value of a setting on one "
                                           "of two columns is faster, such as batch=1..256.")] = "") -> None:
    """Measure a study; the same command resumes an interrupted session."""
    settled = settled._replace(launcher=processes.launcher(settled.launcher))

    def requested(*pairs: str) -> Request:
        return own.of(form.request(name, settled._replace(pairs=[*(settled.pairs or ()), *pairs])), more)._replace(
            going=going, places=folders.places, is_proving=prove,
            until=None if width is None else options.share("--until", width, is_some=True))

    if sweep:
        if width:
            raise InputError(f"--until {width}: found it with --sweep, whose rounds end once each value is decided")
        key, low, high = options.span("--sweep", sweep)
        form = form._replace(rounds=form.rounds or crossing.ROUNDS)
        requested()                                    # what is wrong without the sweep is not its fault

        def of_value(value: int) -> Request:
            try:
                return requested(f"{key}={value}")._replace(with_products=False)
            except InputError as error:
                raise InputError(str(error).replace("--set", "--sweep", 1)) from error

        found, code = crossing.swept(of_value, key, low, high)
        rows = crossing_forms.rows(found)
        output.rows(rows, [rows, crossing_forms.conclusion(found)], crossing_forms.record(found))
        sys.exit(code)
    sys.exit(measure.ran(measure.named(requested()), functools.partial(show_result, output=output))[1])


@app.command()
def plan(name: options.StudyName, more: MoreFiles = None, *, own: Own, form: Form, settled: Settled, folders: Folders,
         output: Output) -> None:
    """Show the cells of a study, the skipped ones with reasons, and about how long it takes; runs nothing."""
    request = own.of(form.request(name, settled), more)._replace(places=folders.places)
    shown, hint = measure.ahead(request)
    output.rows(*shown)
    if hint:
        screen.say(hint)


@app.command("rerun")
def rerun_(name: options.ResultName, cell: Annotated[str, typer.Option(
               "--cell", "--key", help="The cell of this key, or its beginning, or of this number in the plan.")] = "",
           stacks: Annotated[list[str] | None, typer.Option(
               "--stack", help="NAME=PATH or NAME=image:NAME, where the record has a stack of a user's own.")] = None,
           rounds: options.Rounds = None,
           launcher: Annotated[str, typer.Option(help="Another launcher than then.")] = "",
           data: options.DataArgument = None, run_code: options.RunCode = False,
           results: options.Results = options.RESULTS, *, going: Going, folders: Folders, output: Output) -> None:
    """Repeat a stored session, or one of its cells, from its record, and say what differs now."""
    record = rerun.chosen(rerun.named(name, results), cell)
    rerun.check_trusted(record, run_code)
    request = Request(name, None, launcher, data, Wishes(options.split_stacks(stacks), rounds), results=results,
                      going=going, places=folders.places, until=rerun.until(record))
    sys.exit(measure.ran(rerun.again(record, request, screen.say), functools.partial(show_result, output=output))[1])


@app.command("why")
def why_(name: options.NewestResult = store.LATEST,
         stacks: Annotated[list[str] | None, typer.Option(
             "--stack", help="Rows of these, however far they are behind; repeat, or put commas. NAME=PATH says where "
                             "one of your own is.")] = None,
         budget: Annotated[str, typer.Option(help="What it may take; the likeliest switches are tried first.")] = "10m",
         trace: Annotated[str | None, file_option("Write a profiled step of each as a trace that ui.perfetto.dev "
                                                  "reads.")] = None,
         run_code: options.RunCode = False, results: options.Results = options.RESULTS, *, going: Going,
         folders: Folders, output: Output) -> None:
    """Say why rows of a result are behind: what takes the time, and which switch moves it."""
    seconds = options.duration("--budget", budget)
    folder, record = explain.source(store.located(name, results), results)
    rerun.check_trusted(record, run_code)
    words = options.split_stacks(stacks)
    request = Request(record.id, launcher="", wishes=Wishes(tuple(filter(is_own, words))), results=results,
                      places=folders.places, with_products=False, going=going._replace(is_agreed=True))
    known = explain.asked(folder, record, request, [word for word in words if not is_own(word)], seconds)
    if known is None:
        output.rows([], ["no row to explain"], explain.record_of(record.id, ()))
        return
    try:
        known.look(time.monotonic() + seconds, Path(trace) if trace else None)
    finally:                                           # what is known when Ctrl-C comes, too
        found = known.so_far()
        kept = known.keep(found)
        output.rows(why_reasons.rows(found), list(reasons.told(kept["reasons"])), kept)


@app.command("gate")
def gate_(name: Annotated[str, typer.Argument(metavar="[STUDY]", help="The study that both sides run, or "
                                                   "MODEL.py, whose columns they are.",
                                              show_default=True, autocompletion=complete.studies)] = "upgrade",
          base: Annotated[str, typer.Option(help="A stack, an environment's PATH, image:NAME, git:REV of "
                                          "this directory, or a column of MODEL.py.",
                                            show_default=False)] = ...,  # type: ignore[assignment]
          head: Annotated[str, typer.Option(help="The same, of what may have become slower.",
                                            show_default=False)] = ...,  # type: ignore[assignment]
          allow: Annotated[str, typer.Option("--allow", "--within", help="How much slower the head may be.")] = "3%",
          rounds: Annotated[int | None, typer.Option(
              min=5, max=regression.MOST_ROUNDS, help=f"Rounds of both sides at most; {regression.ROUNDS} if left out, "
              "with --minutes as many as there is time for.")] = None,
          junit: Annotated[str | None, file_option("Write JUnit's XML; - as below.")] = None,
          benchmark: Annotated[str | None, file_option("Write the ratios as customBiggerIsBetter of "
                                                       "github-action-benchmark; - as below.")] = None,
          scale: options.Scale = None, more: MoreFiles = None, *, own: Own, settled: Settled, going: Going,
          folders: Folders, output: Output) -> None:
    """Is the head slower than the base? Exit code 1 where it is, by more than allowed, 0 where not, 3 if unclear."""
    request = own.of(settled.request(name, Wishes(rounds=rounds), scale), more)._replace(
        places=folders.places, with_products=False, going=going)
    folder, outcome, record = gate.judged(request, base, head, options.share("--allow", allow))
    output.rows(record["compared"], [regression.columns(outcome), regression.conclusion(outcome)], record, made={
        "markdown": lambda: regression_forms.markdown(outcome, folder.name),
        "junit": lambda: regression_forms.junit(outcome),
        "benchmark": lambda: json.dumps(regression_forms.benchmark(outcome), indent=2)}, junit=junit,
                benchmark=benchmark)
    sys.exit(record["exit_code"])


@app.command("blame")
def blame_(old: Annotated[str, typer.Argument(metavar="OLD", help="An environment's PATH, requirements.txt, "
                                              "pylock.toml, uv.lock, or git:REV of this directory.")],
           new: Annotated[str, typer.Argument(metavar="NEW", help="The same, of what may have become slower.")],
           model: Annotated[str, typer.Option("--model", metavar="MODEL.py", help="The file that both run.",
                                              show_default=False)] = ...,  # type: ignore[assignment]
           rounds: Annotated[int, typer.Option(min=5, max=1000, help="Rounds of a measurement at most.")] = 20,
           python: Annotated[str, typer.Option(help="The Python that environments of lock files are made of.")
                             ] = sys.executable,
           is_kept: Annotated[bool, typer.Option("--keep", help="Leave the environments that it makes.")] = False,
           *, own: Own, settled: Settled, going: Going, folders: Folders, output: Output) -> None:
    """Which package, and which release of it, made your file slower? By mixes of two environments."""
    if not own_models.is_file(model):
        raise InputError(f"--model {model}: expected a Python file, MODEL.py: `evenbench init torch` writes one")
    request = own.of(settled.request(model, Wishes(rounds=rounds)))._replace(
        places=folders.places, with_products=False, going=going)
    answer, code = blame.blamed(request, (old, new), python, is_kept)
    output.rows(blaming.rows(answer), blaming.parts(answer), blaming.record(answer))
    sys.exit(code)
