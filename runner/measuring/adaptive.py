"""A session in one go, or with --until in stages, each with more rounds than the one before, in the same folder.

Each stage writes a session and a plan record of its own, as a resumed session does: readers take the last plan, and the
runs of all stages count.
"""

from collections.abc import Generator

from runner.analysis import summary
from runner.cells import comparison_key
from runner.errors import InputError
from runner.measuring import job, matrix_products, session, stopping_rule
from runner.measuring.bench import Bench, Event
from runner.measuring.stopping_rule import Until, Width
from runner.planning.plan import Plan
from runner.results import earlier_sessions, store
from runner.results.earlier_sessions import Kept
from workloads.spec.measures import TIMED


def check(plan: Plan) -> None:
    """Raise InputError where no two stacks of the plan are compared: then no ratio can become narrow."""
    stacks: dict[str, set[str]] = {}
    for planned in plan.cells:
        if planned.cell.measure in TIMED:
            stacks.setdefault(comparison_key(planned.cell), set()).add(planned.cell.stack)
    if not any(len(names) > 1 for names in stacks.values()):
        raise InputError(f"--until: found no cell that two stacks run, expected ratios between stacks; `evenbench plan "
                         f"{plan.study.id}` shows the cells")


def run(measurement: job.Job, bench: Bench, kept: Kept | None) -> Generator[Event, None, None]:
    """Make the plan's runs, and more rounds of them as long as --until asks for them. Raises Stopped."""
    wished = measurement.request.until
    known = earlier_sessions.known_seconds(bench.folder.parent)
    looks: list[list[Width]] = []
    is_resumed, kept = kept is not None, kept or Kept(bench.folder, frozenset(), {})
    for rounds in _stages(measurement.plan, kept, wished):
        plan = measurement.plan._replace(rounds=rounds)
        yield job.session_record(measurement, bench.folder, is_resumed)
        yield plan.record()
        if measurement.request.with_products:
            yield from matrix_products.measure(bench._replace(plan=plan), session.made)
        seconds = measurement._replace(plan=plan).seconds(known, matrix_products.reached(bench.folder))
        yield from session.run(bench._replace(plan=plan, seconds_estimate=seconds), kept)
        is_resumed, kept = True, kept._replace(          # the next stage runs none again; what is left of it is its own
            finished=frozenset((planned.key, index) for planned in plan.cells for index in range(plan.rounds)),
            left={run: left for run, left in kept.left.items() if run[1] >= plan.rounds})
        if wished:
            looks.append(stopping_rule.widths(summary.summarise(store.read(bench.folder))))
            if outcome := stopping_rule.outcome(looks, rounds, wished):
                yield {"event": "until", "is_narrow": outcome.is_narrow, "rounds": outcome.rounds,
                       "wide": [{"stack": each.stack, "label": each.label} for each in outcome.wide]}
                yield {"event": "now", "said": stopping_rule.lines(outcome, wished)}
                break
    session.abandon(bench.launcher, kept.left.values())


def begin_anew(measurement: job.Job) -> None:
    """End what the runner of an unfinished session of the same command left, since nobody is to take it over."""
    kept = earlier_sessions.unfinished(measurement.request.results, measurement.command())
    session.abandon(measurement.launcher, kept.left.values() if kept else ())


def _stages(plan: Plan, kept: Kept, wished: Until | None) -> list[int]:
    """After how many rounds each stage ends; those that an earlier session is past are left out."""
    if wished is None:
        return [plan.rounds]
    done = max((index + 1 for _, index in kept.finished), default=0)
    return [rounds for rounds in stopping_rule.looks(plan.rounds, wished.cap) if rounds >= min(done, wished.cap)]
