"""Commands that measure: run, plan, rerun, why, gate."""

import functools
import json
import math
import shlex
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Annotated, Any

import typer

from runner import formatting, paths, screen
from runner.analysis.agreement import Verdict as Agreement
from runner.analysis.between import regression
from runner.analysis.kinds import Parts
from runner.cells import built, comparison_key, model_name
from runner.cli import complete, options
from runner.cli.output import Output, checked
from runner.cli.request import Form, MoreFiles, Own, Processes, Settled
from runner.cli.results import keep_reasons, measured_in, show_result
from runner.errors import InputError, Stopped
from runner.measuring import equality, matrix_products, own_models, own_stacks, rerun, session, stopping_rule, why
from runner.measuring import job as jobs
from runner.measuring.bench import Bench, Enough, Event, Going, Request
from runner.measuring.session import INCOMPLETE, Endings
from runner.measuring.stopping_rule import CAP
from runner.measuring.stopping_rule import parse as parse_until
from runner.planning import paper_index, plan_listing
from runner.planning.plan import Plan, Wishes, run_seconds
from runner.report.between import reasons
from runner.report.between import regression as regression_forms
from runner.report.writers import spreadsheet
from runner.results import earlier_sessions, store
from runner.results.earlier_sessions import Kept
from runner.screen.progress import progress
from runner.stacks import definition, revisions
from runner.stacks.own import is_own, side
from workloads.spec import frameworks

app = options.Commands()


@app.command()
def run(name: options.StudyName, more: MoreFiles = None, *, own: Own, form: Form, settled: Settled, going: Going,
        processes: Processes, output: Output, prove: Annotated[bool, typer.Option(
            "--prove", help="First check what no check has shown equal yet.")] = False,
        width: Annotated[str | None, typer.Option(
            "--until", help="Add rounds until every ratio's interval is narrower, such as 2%.")] = None,
        cap: Annotated[int | None, typer.Option(min=1, max=1000, help=f"Rounds at most, with --until; {CAP} if left "
                                                "out.")] = None) -> None:
    """Measure a study; the same command resumes an interrupted session."""
    settled = settled._replace(launcher=processes.launcher(settled.launcher))
    request = own.of(form.request(name, settled), more)._replace(
        going=going, is_proving=prove, until=parse_until(width, cap))
    enough = stopping_rule.narrow(request.until) if request.until else stopping_rule.decided
    sys.exit(ran(_named(request), functools.partial(show_result, output=output), enough=enough)[1])


def _named(request: Request) -> jobs.Job:
    """The job of a study; what options ask for is part of it, so that only the same command resumes it."""
    job = jobs.planned(request, screen.say)
    if hint := _on_a_cpu(request, job):
        raise InputError(f"nothing can run here: {_reasons(job)}; {hint}")
    if not request.until:
        return job
    stopping_rule.check(job.plan)
    return job._replace(plan=job.plan._replace(rounds=request.until.cap),
                        facts={**job.facts, "until": request.until._asdict()})


def _on_a_cpu(request: Request, job: jobs.Job) -> str:
    """What of a study for GPUs runs on a CPU, where nothing of it runs as it is; "" else."""
    if job.plan.cells or "device" in request.wishes.settings:
        return ""
    wishes = request.wishes._replace(settings={**request.wishes.settings, "device": "cpu"})
    count = len(jobs.planned(request._replace(wishes=wishes), lambda line: None).plan.cells)
    return f"{formatting.count(count, 'cell')} of it can run on a CPU with --device cpu" if count else ""


def _agree(request: Request, seconds: float) -> None:
    """Ask before more than an hour, unless the command line says --yes. Raises InputError without a yes."""
    seconds = min(seconds, 60 * (request.going.minutes or math.inf))
    if seconds <= jobs.HOUR or request.going.is_agreed:
        return
    takes = f"{request.study} takes about {formatting.seconds(seconds)}"
    if not (sys.stdin.isatty() and typer.confirm(f"{takes}. Measure it?", err=True)):
        raise InputError(f"{takes}: --yes measures it, a smaller --scale or fewer --rounds take less")


class _Interrupted(SystemExit):
    """The end of a command that Ctrl-C stopped while it measured."""

    def __init__(self, folder: Path) -> None:
        super().__init__(130)
        self.folder = folder             # of the session


def ran(job: jobs.Job, show: Callable[[Path], None] = lambda folder: None, is_proved: bool = False,
        sides: tuple[str, ...] = (), enough: Enough = stopping_rule.decided, ends: float = math.inf
        ) -> tuple[Path, int]:
    """Prepare and run a job, new or resumed, and show its folder, which comes back with the exit code.

    is_proved: models of a user's own are known to be the same. sides: stacks of which none may be left out, and
    without which nothing is compared. enough: which comparisons need no more rounds. ends: by time.monotonic(), when
    no further run begins.
    """
    if not job.plan.cells:
        raise InputError(f"nothing can run here: {_reasons(job)}")
    job = _two_sided(job, sides)
    for warning in jobs.warnings(job):
        screen.say(warning)
    results, is_fresh = job.request.results, job.request.going.is_fresh
    store.check_usable(results)
    if is_fresh or earlier_sessions.unfinished(results, job.command()) is None:
        _agree(job.request, job.seconds(earlier_sessions.known_seconds(results)))
    is_here, waits = job.launcher.measures_here, job.request.going.waits
    with jobs.measuring_alone(paths.cache_folder() if is_here else results, is_here, waits, screen.say):
        job = _two_sided(jobs.prepared(job, screen.say), sides)
        check = equality.Check.by(job.launcher, job.data.folder, screen.say)
        if not is_proved and any(planned.cell.source for planned in job.plan.cells):
            job = _two_sided(job._replace(plan=own_models.prove(job.plan, job.stacks, check, results)), sides)
        elif job.request.is_proving:
            _prove(job, check)
        kept = None if is_fresh else jobs.resumable(job, screen.say)
        folder = kept.folder if kept else jobs.new_folder(job)
        if kept:
            screen.say(f"resuming {folder}: {formatting.count(kept.ended, 'run')} finished")
            job = jobs.resumed(job, kept)
        return _measured(job, folder, kept, show, enough, ends)


def _two_sided(job: jobs.Job, sides: tuple[str, ...]) -> jobs.Job:
    """The job with the comparisons that all sides are in. Raises InputError where one side is in none of them."""
    of_comparison: dict[str, set[str]] = {}
    for planned in job.plan.cells:
        of_comparison.setdefault(comparison_key(planned.cell), set()).add(planned.cell.stack)
    held = tuple(each for each in job.plan.cells if of_comparison[comparison_key(each.cell)] >= set(sides))
    if len(sides) == len(job.own()) == 2 and len({each.holds(is_here=False) for each in job.own().values()}) == 1:
        raise InputError(f"gate: {' and '.join(sides)} hold the same packages, expected two that differ; `python -m "
                         "tools aa` holds one against itself")
    if sides and not held:
        raise InputError(f"nothing is common to {' and '.join(sides)}: {_reasons(job)}")
    return job._replace(plan=job.plan._replace(cells=held))


def _measured(job: jobs.Job, folder: Path, kept: Kept | None, show: Callable[[Path], None], enough: Enough,
              ends: float) -> tuple[Path, int]:
    """Run the session, then show what there is, also after an interruption."""
    endings = Endings(store.read(folder) if kept else ())
    with store.Store(folder) as opened, progress(job.plan) as shown, _signals() as is_stopping:
        try:
            made = jobs.bench(job, folder, lambda: is_stopping() or time.monotonic() > ends)._replace(enough=enough)
            with closing(_events(job, made, kept is not None)) as events:
                for event in events:
                    for listener in (opened.append, shown.heard, endings.heard):
                        listener(event)
        except Stopped:
            show(folder)
            if time.monotonic() > ends and not is_stopping():
                return folder, INCOMPLETE
            screen.say("interrupted; the same command goes on from here")
            raise _Interrupted(folder) from None
    show(folder)
    return folder, endings.exit_code


def _events(job: jobs.Job, bench: Bench, is_resumed: bool) -> Generator[Event, None, None]:
    """All of a session. Raises Stopped."""
    yield jobs.session_record(job, bench.folder, is_resumed)
    if not is_resumed:
        yield job.plan.record()
    if job.request.with_products:
        yield from matrix_products.measure(bench, session.made)
    known = earlier_sessions.known_seconds(bench.folder.parent)
    yield from session.run(bench._replace(
        seconds_estimate=job.seconds(known, matrix_products.reached(bench.folder))))


def _reasons(job: jobs.Job) -> str:
    if not job.gpus.gpus and all(s.cell.device == "gpu" for s in job.plan.skipped) and job.plan.skipped:
        return (f"{job.request.study} needs an NVIDIA GPU, and this machine has none ({job.gpus.problem}); "
                f"`evenbench plan {shlex.quote(job.request.study)}` shows what would run")
    reasons = dict.fromkeys(f"{s.cell.stack}: {s.reason}" for s in job.plan.skipped)
    return "; ".join(reasons) or "the study has no cells"


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM came, or the terminal was closed.

    The session looks between two lines, so no container is left half started.

    A second one ends the session at once.
    """
    seen: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        if len(seen) > 1:
            raise Stopped

    earlier = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _prove(job: jobs.Job, check: equality.Check) -> None:
    """Check the tasks and stacks of the plan that have not passed a check yet."""
    stacks = [job.stacks[name] for name in dict.fromkeys(planned.cell.stack for planned in job.plan.cells)]
    known = equality.proved(job.request.results, {each.name: job.launcher.fingerprint(each) for each in stacks})
    of_model = {model_name(planned.cell): planned.cell.task for planned in job.plan.cells}
    tasks = [task for name, task in of_model.items() if any((name, each.name) not in known for each in stacks)]
    training = [each for each in stacks if not frameworks.only_infers(each.framework)]
    if len(training) > 1 and tasks:
        check.kept(tasks, training, job.request.results)
    if len(stacks) > max(1, len(training)) and tasks:
        check._replace(precision="float32").kept(
            tasks, [*training[:1], *(each for each in stacks if each not in training)], job.request.results)
    tuned = [planned.cell for planned in job.plan.cells if planned.cell.loop == "tuned"
             and (model_name(planned.cell), built(planned.cell.stack, "tuned")) not in known]
    if tuned:
        names = {cell.stack for cell in tuned}
        check._replace(loop="tuned").kept(list(dict.fromkeys(cell.task for cell in tuned)),
                                          [each for each in stacks if each.name in names], job.request.results)


@app.command()
def plan(name: options.StudyName, more: MoreFiles = None, *, own: Own, form: Form, settled: Settled, output: Output
         ) -> None:
    """Show the cells of a study, the skipped ones with reasons, and about how long it takes; runs nothing."""
    request = own.of(form.request(name, settled), more)
    job = jobs.planned(request, screen.say)
    for line in (*jobs.warnings(job), *jobs.ahead(job)):
        screen.say(line)
    seconds = job.seconds(earlier_sessions.known_seconds(settled.results))
    record = job.plan.record()
    index = paper_index.lines(paper_index.rows(
        job.plan, lambda each: run_seconds(each.cell, job.gpus, cpus=job.machine.cpus * job.launcher.hosts)))
    output.rows(plan_listing.rows(record), [
        *index, *paper_index.pointer(job.plan), *plan_listing.parts(record, seconds)],
                {**record, "estimate_seconds": seconds})
    if hint := _on_a_cpu(request, job):
        screen.say(hint)


@app.command("rerun")
def rerun_(name: options.ResultName, cell: Annotated[str, typer.Option(
               "--cell", "--key", help="The cell of this key, or its beginning, or of this number in the plan.")] = "",
           stacks: Annotated[list[str] | None, typer.Option(
               "--stack", help="NAME=PATH or NAME=image:NAME, where the record has a stack of a user's own.")] = None,
           rounds: options.Rounds = None,
           launcher: Annotated[str, typer.Option(help="Another launcher than then.")] = "",
           data: options.DataArgument = None, run_code: options.RunCode = False,
           results: options.Results = options.RESULTS, *, going: Going, output: Output) -> None:
    """Repeat a stored session, or one of its cells, from its record, and say what differs now."""
    record = rerun.chosen(rerun.recorded(store.located(name, results)), cell)
    rerun.check_trusted(record, run_code)
    request = Request(name, None, launcher, data, Wishes(options.split_stacks(stacks), rounds), results=results,
                      going=going)
    sys.exit(ran(rerun.again(record, definition.read_all(paths.STACKS), request, screen.say),
                 functools.partial(show_result, output=output))[1])


def keep(folder: Path, name: str, record: Mapping[str, Any]) -> None:
    """Let a record stand beside the events as JSON, and say where."""
    store.write_beside(folder, name, json.dumps(record, indent=2, allow_nan=False))
    screen.say(f"results: {folder}")


@app.command("why")
def why_(name: options.NewestResult = store.LATEST,
         stacks: Annotated[list[str] | None, typer.Option(
             "--stack", help="Rows of these, however far they are behind; repeat, or put commas. NAME=PATH says where "
                             "one of your own is.")] = None,
         budget: Annotated[str, typer.Option(help="What it may take; the likeliest switches are tried first.")] = "10m",
         trace: Annotated[str | None, typer.Option(metavar="FILE", callback=checked, help="Write a profiled step of "
                                                   "each as a trace that ui.perfetto.dev reads.")] = None,
         run_code: options.RunCode = False, results: options.Results = options.RESULTS, *, going: Going,
         output: Output) -> None:
    """Say why rows of a result are behind: what takes the time, and which switch moves it."""
    seconds = options.duration("--budget", budget)
    folder = store.located(name, results)
    record = rerun.recorded(folder)
    if record.session.get("study") in (why.ID, why.ID_OF_PARTS):             # asked again about what it was asked about
        folder = store.located(str(record.session.get("rerun_of")), results)
        record = rerun.recorded(folder)
    rerun.check_trusted(record, run_code)
    words = options.split_stacks(stacks)
    asked = why.questions(measured_in(folder), [word for word in words if not is_own(word)])
    if not asked:
        screen.say(f"{folder.name}: no row is more than {formatting.share(why.BEHIND)} behind: --stack NAME asks")
        return
    request = Request(record.id, launcher="", wishes=Wishes(tuple(filter(is_own, words))), results=results,
                      with_products=False, going=going._replace(is_agreed=True))
    job = rerun.again(record, definition.read_all(paths.STACKS), request, screen.say)
    there = {planned.key for planned in job.plan.cells}
    asked = [each for each in asked if {each.row.key, each.best.key} <= there]
    if not asked:
        raise InputError(f"why: nothing of {record.id} that was asked about can run here: {_reasons(job)}")
    took = earlier_sessions.seconds_of(folder)
    chosen = why.affordable(asked, took, seconds)
    if late := [f"{each.row.comparison.label}: {each.row.cell.stack}" for each in asked if each not in chosen]:
        screen.say(f"not asked for want of time (--budget): {'; '.join(late)}")
    known = _Known(folder, folder, chosen)
    try:
        known.look(job, took, time.monotonic() + seconds, Path(trace) if trace else None)
    finally:                                           # what is known when Ctrl-C comes, too
        found = known.reasons()
        records = [each.record() for each in found]
        kept = {"schema": why.FORMAT, "result": record.id, "reasons": records}
        if known.session != folder:
            keep(known.session, reasons.FILE, kept)
            keep_reasons(folder, kept)
        output.rows(why.rows(found), list(reasons.told(records)), kept)


@dataclass
class _Known:
    """What is known of questions about a result, whenever that is asked."""

    result: Path
    session: Path                # that has the ratios: the result, then that of the switches
    asked: Sequence[why.Question]
    parts: Mapping[str, Parts] = field(default_factory=dict)
    tried: Sequence[why.Trial] = ()
    untried: Sequence[why.Trial] = ()
    checks: Mapping[str, Agreement] = field(default_factory=dict)

    def look(self, job: jobs.Job, took: Mapping[str, float], ends: float, trace: Path | None) -> None:
        """Profile, check and try switches until the time, of time.monotonic(); took: seconds of a run by cell key."""
        seed, (_, self.untried) = job.plan.seed, why.trials(self.asked, {}, took, 0.0)
        for folder in _of_plan(job, why.parts_plan(self.asked, seed), ends):
            profiled = measured_in(folder)
            self.parts = why.parts_of(profiled, self.asked)
            if trace:
                store.write_beside(trace.parent, trace.name, json.dumps(why.trace(profiled)))
                screen.say(f"written: {trace}")
        tried, untried = why.trials(self.asked, self.parts, took, ends - time.monotonic())
        self.untried = [*tried, *untried]
        checks = equality.of_switches(
            [(each.cell, each.question.row.cell, job.stacks[each.question.row.cell.stack]) for each in tried],
            equality.Check.by(job.launcher, job.data.folder, screen.say), job.request.results,
            lambda: time.monotonic() > ends)
        tried = [each for each in tried if each.cell.stack in checks]
        names = {trial.cell.stack: trial.question.row.cell.stack for trial in tried}
        for folder in _of_plan(job, why.switches_plan(self.asked, tried, seed), ends, names):
            self.session, self.tried, self.checks = folder, tried, checks
            self.untried = [each for each in self.untried if each not in tried]

    def reasons(self) -> list[why.Reason]:
        """What may be said so far: by the session of the switches where it has a round, else by the result."""
        found = why.reasons(measured_in(self.session), self.asked, self.tried, self.untried, self.parts, self.checks)
        if self.session != self.result and all(each.ratio.value is None for each in found):
            return why.reasons(measured_in(self.result), self.asked, (), [*self.tried, *self.untried], self.parts)
        return found


def _of_plan(job: jobs.Job, plan: Plan, ends: float, names: Mapping[str, str] = MappingProxyType({})) -> Iterator[Path]:
    """The folder of a session of the plan, made now, gone on with or done before; names: of stacks under others.

    It comes also where the session is interrupted. It ends with the round in which the time ends.
    """
    stacks = {**job.stacks, **{name: job.stacks[of] for name, of in names.items()}}
    job = job._replace(plan=plan, stacks=stacks)
    if not job.request.going.is_fresh and (done := earlier_sessions.finished(job.request.results, job.command())):
        yield done
        return
    try:
        folder, _ = ran(job, is_proved=bool(names), ends=ends)             # by its switches, where it has some
    except _Interrupted as stop:
        yield stop.folder
        raise
    yield folder


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
          junit: Annotated[str | None, typer.Option(metavar="FILE", callback=checked, help="Write JUnit's XML; - as "
                                                    "below.")] = None,
          benchmark: Annotated[str | None, typer.Option(
              metavar="FILE", callback=checked, help="Write the ratios as customBiggerIsBetter of "
              "github-action-benchmark; - as below.")] = None,
          scale: options.Scale = None, more: MoreFiles = None, *, own: Own, settled: Settled, going: Going,
          output: Output) -> None:
    """Is the head slower than the base? Exit code 1 where it is, by more than allowed, 0 where not, 3 if unclear."""
    allowed = options.share("--allow", allow)
    known = definition.read_all(paths.STACKS)
    columns = own_models.columns([name, *(more or ())]) if own_models.is_file(name) else []
    are_lanes = {base, head} <= {*columns}
    sides = [base, head] if are_lanes else [side(role, own_stacks.full_name(_installed(word), known), known)
                                              for role, word in (("base", base), ("head", head))]
    names = tuple(word.partition("=")[0] for word in sides)
    if names[0] == names[1]:
        raise InputError(f'gate: found "{base}" on both sides, expected two stacks; `python -m tools aa` holds one '
                         "against itself")
    wishes = Wishes(() if are_lanes else tuple(sides), rounds, baseline=names[0])
    request = own.of(settled.request(name, wishes, scale), more)._replace(with_products=False, going=going)
    if columns:                                # of two environments one lane
        request = request._replace(lanes=names if are_lanes else request.lanes or tuple(columns[:1]))
    judge = functools.partial(regression.judge, base=names[0], head=names[1], allow=allowed)
    job = _named(request)
    if going.minutes and not rounds:
        most = regression.rounds_within(60 * going.minutes, job.seconds() / job.plan.rounds)
        job = job._replace(plan=job.plan._replace(rounds=most))
    folder, ended = ran(job, sides=names, enough=lambda measured: judge(measured).decided)
    outcome = judge(measured_in(folder))
    is_too_short = ended == INCOMPLETE and not going.minutes
    code = (ended if is_too_short and outcome.answer is regression.Answer.UNCLEAR
            else regression.EXIT_CODES[outcome.answer])
    record, rows = {**outcome.record(), "exit_code": code}, regression.columns(outcome)
    keep(folder, "gate.json", record)
    output.give(lambda: screen.show(screen.parts_view([rows, regression.conclusion(outcome)])), {
        "csv": lambda: spreadsheet.of_rows(record["compared"]),
        "markdown": lambda: regression_forms.markdown(outcome, folder.name),
        "json": lambda: json.dumps(record, indent=2, allow_nan=False),
        "junit": lambda: regression_forms.junit(outcome),
        "benchmark": lambda: json.dumps(regression_forms.benchmark(outcome), indent=2)}, junit=junit,
                benchmark=benchmark)
    sys.exit(code)


def _installed(word: str) -> str:
    """A side's word; of git:REV the environment in which that revision is installed."""
    if not word.startswith(revisions.PREFIX):
        return word
    return str(revisions.environment(word, Path.cwd(), paths.cache_folder(), screen.say))
