"""A sweep: sessions of one comparison at several values of a setting, until it is known where one column overtakes."""

import math
import time
from collections.abc import Callable
from pathlib import Path

from runner import screen
from runner.analysis.between import crossing
from runner.analysis.between.crossing import Swept
from runner.analysis.paired import Paired
from runner.analysis.stats import SAID
from runner.application import measure
from runner.application.read import measured_in, reported, write_page
from runner.cells import lanes_key
from runner.measuring.bench import Request
from runner.measuring.session import INCOMPLETE, exit_code
from runner.report.between import crossing as told
from runner.results import joined, sessions
from runner.results.rows import Measurements

ROUNDS = 20                  # of a value at most


def swept(request_of: Callable[[int], Request], name: str, low: int, high: int) -> tuple[Swept, int]:
    """What was found, kept in the last session's folder, and the worst exit code; request_of: what a value measures."""
    going = request_of(low).going
    ends = time.monotonic() + 60 * (going.minutes or math.inf)
    sessions_of: dict[int, Measurements] = {}
    folder, codes = Path(), list[int]()

    def measured(value: int) -> Paired | None:
        nonlocal folder
        request = request_of(value)
        job = measure.named(request._replace(going=going._replace(minutes=None))).hashed()
        known = None if going.is_fresh else sessions.finished(request.results, job.command())
        if known is None:
            if time.monotonic() > ends:
                return None
            crossing.check([planned.cell for planned in job.plan.cells])
            screen.say(f"{name} {value}")
            folder, ended = measure.ran(job, ends=ends, enough=lambda so_far: {
                lanes_key(each.one.cell) for each in [crossing.paired(so_far, low, high)] if each.verdict in SAID})
            if ended == INCOMPLETE:
                return None
        else:
            folder, ended = known.folder, exit_code(known)
        codes.append(ended)
        sessions_of[value] = measured_in(folder)
        return crossing.paired(sessions_of[value], low, high)

    found = crossing.search(name, low, high, measured)
    is_whole = found.wanted is None
    if sessions_of:
        _keep(found, folder, [*sessions_of.values()][::-1])
    if not is_whole:
        screen.say(f"the sweep is not complete; {going.goes_on} from here")
    return found, max(codes) if is_whole else INCOMPLETE


def _keep(found: Swept, folder: Path, newest_first: list[Measurements]) -> None:
    """Beside the last session's events: what was found, and a page of all sessions with its chart."""
    measure.keep(folder, "crossing.json", told.record(found))
    _, report = reported(joined.joined(newest_first), folder.parent, crossing.most(found.low, found.high))
    if page := write_page(report._replace(ratios=(told.chart(found),)), folder / "crossing.html"):
        screen.say(f"page: {page}")
