"""A job measured: asked about, built, proved, then run as a new or a resumed session."""

import json
import math
import shlex
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from runner import formatting, paths, schemas, screen
from runner.cells import built, comparison_key, model_name
from runner.errors import InputError, Stopped
from runner.grouping import grouped
from runner.measuring import (
    alone,
    building,
    equality,
    matrix_products,
    own_models,
    session,
    session_record,
    stopping_rule,
)
from runner.measuring import job as jobs
from runner.measuring.bench import Bench, Enough, Event, Request
from runner.measuring.session import INCOMPLETE
from runner.planning import paper_index, plan_listing
from runner.planning.plan import run_seconds
from runner.report.tables import Shown
from runner.report.writers.equality import outcome
from runner.results import sessions, store
from runner.results.records import best
from runner.results.sessions import Session
from runner.screen.progress import progress
from workloads.spec import frameworks
from workloads.spec.measures import TIMED


def named(request: Request) -> jobs.Job:
    """The planned job; --until is part of its facts, so that only the same command resumes it. Raises InputError."""
    job = jobs.planned(request, screen.say)
    if hint := on_a_cpu(request, job):
        raise InputError(f"nothing can run here: {reasons(job)}; {hint}")
    if request.until is None:
        return job
    stopping_rule.check(job.plan)
    return job._replace(plan=job.plan._replace(rounds=request.wishes.rounds or stopping_rule.CAP),
                        facts={**job.facts, "until": request.until})


def ahead(request: Request) -> tuple[Shown, str]:
    """The plan, and what else could run here, "" for nothing; what to know before it starts is said."""
    job = jobs.planned(request, screen.say)
    for line in (*jobs.warnings(job), *building.ahead(job)):
        screen.say(line)
    seconds, record = job.seconds(sessions.known_seconds(request.results)), job.plan.record()
    index = paper_index.rows(job.plan, lambda each: run_seconds(
        each.cell, cpus=job.machine.cpus * job.launcher.hosts))
    parts = (*paper_index.lines(index), *paper_index.pointer(job.plan), *plan_listing.parts(job.plan, seconds))
    shown = Shown(plan_listing.rows(job.plan), parts, {"schema": schemas.PLAN, **record, "estimate_seconds": seconds})
    return shown, on_a_cpu(request, job)


def on_a_cpu(request: Request, job: jobs.Job) -> str:
    """What of a study for GPUs runs on a CPU, where nothing of it runs as it is; "" else."""
    if job.plan.cells or request.models or "device" in request.wishes.settings:
        return ""
    wishes = request.wishes._replace(settings={**request.wishes.settings, "device": "cpu"})
    count = len(jobs.planned(request._replace(wishes=wishes), lambda line: None).plan.cells)
    return f"{formatting.count(count, 'cell')} of it can run on a CPU with --device cpu" if count else ""


def agree(request: Request, seconds: float) -> None:
    """Ask before more than an hour, unless the request agrees already. Raises InputError without a yes."""
    seconds = min(seconds, 60 * (request.going.minutes or math.inf))
    if seconds <= jobs.HOUR or request.going.is_agreed:
        return
    takes = f"{request.study} takes about {formatting.seconds(seconds)}"
    if not (sys.stdin.isatty() and screen.confirmed(f"{takes}. Measure it?")):
        raise InputError(f"{takes}: --yes measures it, a smaller --scale or fewer --rounds take less")


class Interrupted(SystemExit):
    """Ctrl-C stopped the command while it measured."""

    def __init__(self, folder: Path) -> None:
        super().__init__(130)
        self.folder = folder             # of the session


def ran(job: jobs.Job, show: Callable[[Path], None] = lambda folder: None, is_proved: bool = False,
        sides: tuple[str, ...] = (), enough: Enough | None = None, ends: float = math.inf) -> tuple[Path, int]:
    """Prepare and run a job, new or resumed, and show its folder, which comes back with the exit code.

    is_proved: the user's own models were compared already. sides: only comparisons of all these stacks are run.
    enough: which comparisons need no more rounds; None: as the request says. ends: no run begins after it, by
    time.monotonic().
    """
    if not job.plan.cells:
        raise InputError(f"nothing can run here: {reasons(job)}")
    job = _two_sided(job, sides).hashed()
    for warning in jobs.warnings(job):
        screen.say(warning)
    results, is_fresh = job.request.results, job.request.going.is_fresh
    store.check_usable(results)
    if is_fresh or sessions.unfinished(results, job.command()) is None:
        agree(job.request, job.seconds(sessions.known_seconds(results)))
    with alone.measuring_alone(paths.cache_folder(), job.request.going.waits, screen.say):
        job = _two_sided(building.prepared(job, screen.say), sides)
        check = equality.Check.by(job.launcher, job.data.folder, screen.say)
        if not is_proved and any(planned.cell.source for planned in job.plan.cells):
            job = _two_sided(job._replace(plan=own_models.prove(job.plan, job.stacks, check, results)), sides)
        elif job.request.is_proving:
            _prove(job, check)
        kept = None if is_fresh else session_record.resumable(job, screen.say)
        folder = kept.folder if kept else session_record.new_folder(job)
        if kept:
            screen.say(f"resuming {folder}: {formatting.count(len(kept.ended), 'run')} finished")
            job = session_record.resumed(job, kept)
        enough = enough or stopping_rule.of(job.request.until, job.plan.study.rounds)
        return _measured(job, folder, kept, show, enough, ends)


def _two_sided(job: jobs.Job, sides: tuple[str, ...]) -> jobs.Job:
    """The job with the timed comparisons that all sides are in. Raises InputError where one side is in none of them."""
    if not sides:
        return job
    of_comparison = grouped(job.plan.cells, lambda planned: comparison_key(planned.cell))
    held = tuple(planned for planned in job.plan.cells if planned.cell.measure in TIMED and set(sides) <= {
        each.cell.stack for each in of_comparison[comparison_key(planned.cell)]})
    if len(sides) == len(job.own()) == 2 and len({each.holds(is_here=False) for each in job.own().values()}) == 1:
        raise InputError(f"gate: {' and '.join(sides)} hold the same packages, expected two that differ")
    if not held:
        why = reasons(job) if job.plan.skipped else "no timed comparison has both"
        raise InputError(f"nothing is common to {' and '.join(sides)}: {why}")
    return job._replace(plan=job.plan._replace(cells=held))


def _measured(job: jobs.Job, folder: Path, kept: Session | None, show: Callable[[Path], None], enough: Enough,
              ends: float) -> tuple[Path, int]:
    """Run the session, then show what there is, also after an interruption."""
    with store.Store(folder) as opened, progress(job.plan) as shown, _signals() as is_stopping:
        try:
            made = jobs.bench(job, folder, lambda: is_stopping() or time.monotonic() > ends)._replace(enough=enough)
            with closing(_events(job, made, kept)) as events:
                for event in events:
                    for listener in (opened.append, shown.heard):
                        listener(event)
        except Stopped:
            show(folder)
            if time.monotonic() > ends and not is_stopping():
                return folder, INCOMPLETE
            screen.say(f"interrupted; {job.request.going.goes_on} from here")
            raise Interrupted(folder) from None
    show(folder)
    return folder, session.exit_code(sessions.read(folder))


def _events(job: jobs.Job, bench: Bench, kept: Session | None) -> Generator[Event, None, None]:
    """All of a session. Raises Stopped."""
    yield session_record.of(job, bench.folder, is_resumed=kept is not None)
    if not (kept and kept.plan):
        yield job.plan.record()
    if job.request.with_products:
        yield from matrix_products.measure(bench)
    seconds = job.seconds(sessions.known_seconds(bench.folder.parent), best(sessions.read(bench.folder).products))
    yield from session.run(bench._replace(seconds_estimate=seconds))


def reasons(job: jobs.Job) -> str:
    """Why no cell of the job can run."""
    if not job.gpus.gpus and all(s.cell.device == "gpu" for s in job.plan.skipped) and job.plan.skipped:
        return (f"{job.request.study} needs an NVIDIA GPU, and this machine has none ({job.gpus.problem}); "
                f"`evenbench plan {shlex.quote(job.request.study)}` shows what would run")
    return formatting.reasons(job.plan.skipped) or "the study has no cells"


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM came, or the terminal was closed; a second one ends the session at once.

    The session looks between two lines, so no container is left half started.
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
    """Check the tasks and stacks of the plan that have not passed a check yet, and say what fails."""
    names = dict.fromkeys(planned.cell.stack for planned in job.plan.cells)
    stacks = [job.stacks[name] for name in names]
    known = equality.proved(job.request.results, {job.stacks[name].name: job.fingerprint(name) for name in names})
    of_model = {model_name(planned.cell): planned.cell.task for planned in job.plan.cells}
    tasks = [task for name, task in of_model.items() if not all(known.get((name, each.name)) for each in stacks)]
    training = [each for each in stacks if not frameworks.only_infers(each.framework)]
    verdicts = []
    if len(training) > 1 and tasks:
        verdicts += check.kept(tasks, training, job.request.results)
    if len(stacks) > max(1, len(training)) and tasks:
        verdicts += check._replace(precision="float32").kept(
            tasks, [*training[:1], *(each for each in stacks if each not in training)], job.request.results)
    tuned = [planned.cell for planned in job.plan.cells if planned.cell.loop == "tuned"
             and not known.get((model_name(planned.cell), built(planned.cell.stack, "tuned")))]
    if tuned:
        in_tuned = {cell.stack for cell in tuned}
        verdicts += check._replace(loop="tuned").kept(
            list(dict.fromkeys(cell.task for cell in tuned)), [each for each in stacks if each.name in in_tuned],
            job.request.results)
    for each in verdicts:
        if not each.passed:
            screen.say(f"check: {each.task} in {built(each.stack, each.loop)} against {each.reference}: "
                       f"{outcome(each)}")


def keep(folder: Path, name: str, record: Mapping[str, Any]) -> None:
    """Let a record stand beside the events as JSON, and say where."""
    store.write_beside(folder, name, json.dumps(record, indent=2, allow_nan=False))
    screen.say(f"results: {folder}")
