"""What a fault came to: a line of the table; and what can be read of it out of a session's records."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from runner.results import contract, store

Record = dict[str, Any]
ONE_MINUTE = 60.0


class Outcome(NamedTuple):
    """A fault that was made some times, and what was right, slow, lost, repeated and left."""

    fault: str
    expected: str                # the ending, or what happens instead
    launcher: str
    count: int
    right: int                   # of the count: with the expected ending, and the cell behind it ran
    slowest_seconds: float       # from the fault to the ending
    lost: int = 0                # finished runs that were gone later
    repeated: int = 0            # finished runs that were run again
    left: Sequence[str] = ()     # containers, networks, processes and temporary files after the session
    wrong: Sequence[str] = ()    # what came instead

    @property
    def is_good(self) -> bool:
        return (self.count == self.right and self.slowest_seconds <= ONE_MINUTE
                and not (self.lost or self.repeated or self.left))


def table(outcomes: Iterable[Outcome]) -> str:
    """The outcomes as a Markdown table."""
    head = ("fault", "launcher", "what must follow", "times", "right", "slowest", "lost", "repeated", "left")
    rows = [(each.fault, each.launcher, each.expected, str(each.count), str(each.right),
             f"{each.slowest_seconds:.1f} s", str(each.lost), str(each.repeated), str(len(each.left)))
            for each in outcomes]
    lines = [head, ("---",) * 3 + ("---:",) * 6, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def all_records(results: Path) -> dict[Path, list[Record]]:
    """The records of every session, by its folder."""
    return {path.parent: list(store.read(path.parent)) for path in sorted(results.glob(f"*/{store.EVENTS}"))}


def _course(records: Iterable[Record]) -> Iterator[tuple[tuple[str, int], bool]]:
    """((cell key, round), whether it is over) of runs as they begin, and as they end with a result."""
    begun: dict[str, tuple[str, int]] = {}
    for record in records:
        if record["event"] == "begin":
            begun[record["run"]] = (record["key"], record["round"])
            yield begun[record["run"]], False
        elif record["event"] == "ending" and record["ending"] in contract.FINAL:
            yield begun[record["run"]], True


def finished(records: Iterable[Record]) -> list[tuple[str, int]]:
    """(cell key, round) of the runs that ended with a result, in their order."""
    return [run for run, is_over in _course(records) if is_over]


def repeated(records: Iterable[Record]) -> int:
    """How many runs were begun though they had a result."""
    course = list(_course(records))
    return sum(not is_over and (run, True) in course[:place] for place, (run, is_over) in enumerate(course))


def missing(records: Sequence[Record]) -> int:
    """How many planned runs have no result; none is planned where the runner was killed before."""
    plans = [record for record in records if record["event"] == "plan"]
    return len(plans[-1]["cells"]) * plans[-1]["rounds"] - len(set(finished(records))) if plans else 0
