"""Disturbed runs: the machine was not theirs alone, so they are made again at the session's end. Pure.

Judged is the machine and never the rate: who repeats what came out slow keeps the lucky runs. Each run is repeated at
most once, and all repetitions together are at most one more round, of the most disturbed ones. Both are kept, and a
reader takes the repetition where that ended ok and undisturbed, else the first one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from runner.machine.host import FOREIGN_SHARE
from runner.results.contract import FINAL
from runner.results.store import Record

_UNTIMED = ("check", "graph", "max_batch")       # measures whose results no neighbour changes


class Disturbance(NamedTuple):
    """What was amiss while a run lasted."""

    foreign_cpu_share: float          # of its CPUs' time
    is_throttled: bool                # its GPU

    @property
    def rank(self) -> float:
        """Larger is worse."""
        return self.foreign_cpu_share + self.is_throttled


class Repetition(NamedTuple):
    """A run to make again."""

    key: str
    round: int
    of: str                           # the disturbed run
    attempt: int
    disturbance: Disturbance


def disturbance(ending: str, measure: str, foreign_cpu_share: float | None, is_throttled: bool) -> Disturbance | None:
    """What disturbed a run that ended so, or None. A share that nobody knows is none."""
    share = foreign_cpu_share or 0.0
    if ending != "ok" or measure in _UNTIMED or not (share > FOREIGN_SHARE or is_throttled):
        return None
    return Disturbance(share, is_throttled)


def waiting(records: Iterable[Record], cells: Sequence[str]) -> list[Repetition]:
    """The runs of a session's store that are to be repeated now, the most disturbed ones where there are too many.

    In the order of rounds and of the plan, so that the stacks of a pair follow each other. cells: the plan's keys.
    """
    last: dict[tuple[str, int], Repetition | None] = {}
    attempts: dict[tuple[str, int], int] = {}
    begun: dict[str, Record] = {}
    repeated: set[tuple[str, int]] = set()
    for record in records:
        if record["event"] == "begin":
            begun[record["run"]] = record
            turn = record["key"], record["round"]
            attempts[turn] = attempts.get(turn, 0) + 1
        elif record["event"] == "ending" and record["run"] in begun and record["ending"] in FINAL:
            head = begun[record["run"]]
            turn = head["key"], head["round"]
            if "repeats" in head:
                repeated.add(turn)
            seen = _read(record)
            last[turn] = Repetition(*turn, record["run"], 0, seen) if seen else None
    room = len(cells) - len(repeated)
    found = [each._replace(attempt=attempts[turn] + 1) for turn, each in last.items()
             if each and turn not in repeated and turn[0] in cells]
    chosen = sorted(found, key=lambda each: -each.disturbance.rank)[:max(0, room)]
    return sorted(chosen, key=lambda each: (each.round, cells.index(each.key)))


def _read(record: Mapping[str, Any]) -> Disturbance | None:
    """What an ending's record says, None of one that was not disturbed."""
    found = record.get("disturbed")
    return Disturbance(float(found["foreign_cpu_share"]), bool(found["is_throttled"])) if found else None


def announcement(found: Sequence[Repetition]) -> str:
    """What is about to be repeated, in one line."""
    by_cpu = sum(each.disturbance.foreign_cpu_share > FOREIGN_SHARE for each in found)
    by_gpu = sum(each.disturbance.is_throttled for each in found)
    reasons = [f"other programs took more than {FOREIGN_SHARE:.0%} of the CPUs in {by_cpu}".replace("%", " %")
               if by_cpu else "", f"a GPU was throttled in {by_gpu}" if by_gpu else ""]
    runs = "1 disturbed run is" if len(found) == 1 else f"{len(found)} disturbed runs are"
    return f"{runs} made again: {', '.join(reason for reason in reasons if reason)}"
