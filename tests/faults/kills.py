"""The runner is killed at random moments, and the same command given again, until there were enough of them."""

import time
from pathlib import Path
from random import Random
from typing import Any

from tests.faults import lab, worker
from tests.faults.lab import Lab, Session
from tests.faults.outcome import Outcome, Record, all_records, finished, missing, repeated

ROUNDS = 12                    # of three cells; a killed runner does a few runs before it dies
_LIFE_SECONDS = 4.0            # at most, from a runner's first record to its death
_START_SHARE = 0.2             # of the kills come while the runner still starts
_START_SECONDS = 3.0
_CASES = [lab.case(worker.good), lab.case(worker.good, batch=4), lab.case(worker.good, **lab.PARALLEL)]


def runner_killed(fault: Any, made: Lab, amount: Any, random: Random) -> Outcome:
    """SIGKILL to the runner; then sessions until one ends by itself, and what they all kept, repeated and left."""
    killed, slowest = 0, 0.0
    seen: dict[Path, list[Record]] = {}
    while killed < amount.count and time.monotonic() < amount.deadline:
        session = Session(made, "kills", _CASES, "--rounds", str(ROUNDS))
        seconds = _killed(session, random)
        if seconds is not None:            # else it was over before, and the next one is a new session
            killed, slowest = killed + 1, max(slowest, seconds)
            seen.update(all_records(made.results))
    code = Session(made, "kills", _CASES, "--rounds", str(ROUNDS)).ended()
    now = all_records(made.results)
    lost = sum(len(set(finished(records)) - set(finished(now[folder]))) for folder, records in seen.items())
    unfinished = sum(map(missing, now.values()))
    changed = [str(folder) for folder, records in seen.items() if now[folder][: len(records)] != records]
    wrong = (*[f"the last exit code was {code}"] * (code != 0),
             *[f"{unfinished} runs have no result"] * (unfinished > 0),
             *(f"{folder}: records changed" for folder in changed))
    return Outcome(fault.name, fault.expected, made.launcher, killed,
                   0 if wrong else killed, slowest, lost, sum(map(repeated, now.values())), made.left(), wrong)


def _killed(session: Session, random: Random) -> float | None:
    """Kill a session's runner at a moment of its life; seconds to its first run, None if it ended before."""
    moment = random.uniform(0, _START_SECONDS) if random.random() < _START_SHARE else None
    first = 0.0
    for record in session.records():
        now = time.monotonic() - session.began
        if record and record["event"] == "begin" and not first:
            first = now
            moment = moment if moment is not None else now + random.uniform(0, _LIFE_SECONDS)
        if moment is not None and now >= moment:
            break
    if session.process.poll() is not None:
        return None
    session.process.kill()
    session.process.wait()
    return first
