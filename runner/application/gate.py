"""A gate: base and head measured in one session, and whether the head is slower than allowed."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner import paths, screen
from runner.analysis.between import regression
from runner.analysis.between.regression import Answer, Outcome
from runner.application import measure
from runner.application.read import measured_in
from runner.errors import InputError, unknown
from runner.measuring import own_models, own_stacks
from runner.measuring.bench import Request
from runner.measuring.session import INCOMPLETE
from runner.stacks import definition, revisions
from runner.stacks.definition import Stack
from runner.stacks.own import side


def judged(request: Request, base: str, head: str, allow: float) -> tuple[Path, Outcome, dict[str, Any]]:
    """The session of both sides, its outcome, and the record that is kept beside it, with the exit code.

    base, head: as the options say. Raises InputError.
    """
    request, sides = _of_sides(request, base, head)
    judge = functools.partial(regression.judge, base=sides[0], head=sides[1], allow=allow)
    job = measure.named(request)
    if request.going.minutes and not request.wishes.rounds:          # as many as there is time for
        most = regression.rounds_within(60 * request.going.minutes, job.seconds() / job.plan.rounds)
        job = job._replace(plan=job.plan._replace(rounds=most))
    folder, ended = measure.ran(job, sides=sides, enough=lambda measured: judge(measured).decided)
    outcome = judge(measured_in(folder))
    is_too_short = ended == INCOMPLETE and not request.going.minutes
    code = ended if is_too_short and outcome.answer is Answer.UNCLEAR else regression.EXIT_CODES[outcome.answer]
    record = {**outcome.record(), "exit_code": code}
    measure.keep(folder, "gate.json", record)
    return folder, outcome, record


def _of_sides(request: Request, base: str, head: str) -> tuple[Request, tuple[str, str]]:
    """The request for both sides, and their names."""
    columns = own_models.columns(request.models) if request.models else []
    are_lanes = not {base, head}.isdisjoint(columns)
    if len(request.lanes) > (0 if are_lanes else 1):
        found, expected = ("columns on both sides", "no --lane") if are_lanes else ("several", "one")
        raise InputError(f"--lane {','.join(request.lanes)}: found {found}, expected {expected}")
    for option, word in (("--base", base), ("--head", head)) if are_lanes else ():
        if word not in columns:
            raise unknown(f"{option}: column", word, columns)
    words = base, head
    if not are_lanes:
        known = definition.read_all(request.places.stacks)
        words = _stack("base", base, known), _stack("head", head, known)
    names = (words[0].partition("=")[0], words[1].partition("=")[0])
    if names[0] == names[1]:
        raise InputError(f'gate: found "{base}" on both sides, expected two stacks')
    wishes = request.wishes._replace(stacks=() if are_lanes else words, baseline=names[0])
    lanes = names if are_lanes else request.lanes or tuple(columns[:1])       # of two environments one lane
    return request._replace(wishes=wishes, lanes=lanes), names


def _stack(role: str, word: str, known: Mapping[str, Stack]) -> str:
    """A side as a word of --stack; the revision of a git:REV is installed."""
    there = revisions.installed(word, paths.cache_folder(), screen.say)
    return side(role, own_stacks.full_name(there, known), known)
