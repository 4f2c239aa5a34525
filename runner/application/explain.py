"""Why rows of a result are behind: a session that profiles their steps, and one that tries switches."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from runner import formatting, schemas, screen
from runner.analysis.agreement import Verdict
from runner.analysis.step_parts import Parts
from runner.application import measure
from runner.application.measure import Interrupted, ran
from runner.application.read import keep_reasons, measured_in
from runner.cells import key
from runner.errors import InputError
from runner.measuring import equality, rerun
from runner.measuring.bench import Request
from runner.measuring.job import Job
from runner.measuring.why import profiles, questions, reasons, trials
from runner.planning.plan import Plan
from runner.report.between import reasons as reasons_report
from runner.results import sessions, store
from runner.results.sessions import Session


def source(folder: Path, results: Path) -> tuple[Path, Session]:
    """The result that is asked about, and its record: of an earlier answer the result that it was about."""
    record = rerun.recorded(folder)
    if record.first.get("study") in (trials.ID, profiles.ID):
        folder = store.located(str(record.first.get("rerun_of")), results)
        record = rerun.recorded(folder)
    return folder, record


def asked(folder: Path, record: Session, request: Request, stacks: Sequence[str], seconds: float
          ) -> "Explanation | None":
    """What is to be explained of these stacks' rows, else of all behind; None, and said, of none. Raises InputError."""
    rows = questions.of(measured_in(folder), stacks)
    if not rows:
        screen.say(f"{folder.name}: no row is more than {formatting.share(questions.BEHIND)} behind: --stack NAME asks")
        return None
    job = rerun.again(record, request, screen.say).hashed()
    there = {planned.key for planned in job.plan.cells}
    rows = [each for each in rows if {each.row.key, each.best.key} <= there]
    if not rows:
        raise InputError(f"why: nothing of {record.id} that was asked about can run here: {measure.reasons(job)}")
    took = sessions.seconds_of(folder)
    chosen = questions.affordable(rows, took, seconds)
    if late := [f"{each.row.comparison.label}: {each.row.cell.stack}" for each in rows if each not in chosen]:
        screen.say(f"not asked for want of time (--budget): {'; '.join(late)}")
    return Explanation(folder, folder, job, took, chosen)


def record_of(result: str, found: Sequence[reasons.Reason]) -> dict[str, Any]:
    """The reasons of rows of a result as JSON values."""
    return {"schema": schemas.REASONS, "result": result, "reasons": [each.record() for each in found]}


@dataclass
class Explanation:
    """What is known of questions about a result, at any moment."""

    result: Path
    session: Path                # that has the ratios: the result, then that of the switches
    job: Job                     # that repeats the result
    took: Mapping[str, float]    # seconds of a run, by cell key
    asked: Sequence[questions.Question]
    parts: Mapping[str, Parts] = field(default_factory=dict)
    tried: Sequence[trials.Trial] = ()
    untried: Sequence[trials.Trial] = ()
    checks: Mapping[str, Verdict] = field(default_factory=dict)

    def look(self, ends: float, trace: Path | None) -> None:
        """Profile, check and try switches until `ends`, of time.monotonic(); trace: file for the profiled steps."""
        job, (_, self.untried) = self.job, trials.of(self.asked, {}, self.took, 0.0)
        for folder in _ran(_of_plan(job, profiles.plan(self.asked, job.plan.seed)), ends):
            profiled = measured_in(folder)
            self.parts = profiles.parts(profiled, self.asked)
            if trace:
                store.write_beside(trace.parent, trace.name, json.dumps(profiles.trace(profiled)))
                screen.say(f"written: {trace}")
        tried, self.untried = self._chosen(ends - time.monotonic())
        checks = equality.of_switches(
            [(each.cell, each.question.row.cell, job.stacks[each.question.row.cell.stack]) for each in tried],
            equality.Check.by(job.launcher, job.data.folder, screen.say), job.request.results,
            lambda: time.monotonic() > ends)
        tried = [each for each in tried if each.cell.stack in checks]
        for folder in _ran(self._by_turns(tried), ends, is_proved=bool(tried)):             # by its switches
            self.session, self.tried, self.checks = folder, tried, checks
            self.untried = [each for each in self.untried if each not in tried]

    def _chosen(self, budget: float) -> tuple[list[trials.Trial], list[trials.Trial]]:
        """The trials of the session that goes on, else those that the budget has room for; and all trials."""
        tried, untried = trials.of(self.asked, self.parts, self.took, budget)
        request, of_key = self.job.request, {key(each.cell): each for each in (*tried, *untried)}
        if not request.going.is_fresh and (begun := sessions.unfinished(request.results, request.study, "rerun_of")):
            kept = [of_key[item["key"]] for item in begun.plan.get("cells", ()) if item["key"] in of_key]
            if self._by_turns(kept).command() == begun.first.get("command"):
                tried = kept
        return tried, [*of_key.values()]

    def _by_turns(self, tried: Sequence[trials.Trial]) -> Job:
        """The job of the session of switches."""
        return _of_plan(self.job, trials.plan(self.asked, tried, self.job.plan.seed),
                        {trial.cell.stack: trial.question.row.cell.stack for trial in tried})

    def keep(self, found: Sequence[reasons.Reason]) -> dict[str, Any]:
        """Keep the reasons beside their session and the result; their record."""
        record = record_of(self.job.request.study, found)
        if self.session != self.result:
            measure.keep(self.session, reasons_report.FILE, record)
            keep_reasons(self.result, record)
        return record

    def so_far(self) -> list[reasons.Reason]:
        """The reasons so far: by the session of switches where it has a round, else by the result."""
        found = reasons.of(measured_in(self.session), self.asked, self.tried, self.untried, self.parts, self.checks)
        if self.session != self.result and all(each.ratio.value is None for each in found):
            return reasons.of(measured_in(self.result), self.asked, (), [*self.tried, *self.untried], self.parts)
        return found


def _of_plan(job: Job, plan: Plan, names: Mapping[str, str] = MappingProxyType({})) -> Job:
    """The job with another plan; names: aliases of stacks."""
    stacks = {**job.stacks, **{name: job.stacks[of] for name, of in names.items()}}
    made_of = {**job.made_of, **{name: job.fingerprint(of) for name, of in names.items()}}
    return job._replace(plan=plan, stacks=stacks, made_of=made_of)


def _ran(job: Job, ends: float, is_proved: bool = False) -> Iterator[Path]:
    """The folder of the job's session: done before, resumed or made now, also of one that is interrupted.

    No run begins after `ends`.
    """
    if not job.request.going.is_fresh and (done := sessions.finished(job.request.results, job.command())):
        yield done.folder
        return
    try:
        folder, _ = ran(job, is_proved=is_proved, ends=ends)
    except Interrupted as stop:
        yield stop.folder
        raise
    yield folder
