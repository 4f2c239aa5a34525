"""Disturbed runs: the machine was not theirs alone, so they are made again at the session's end. Pure.

Judged is the machine and never the rate: who repeats what came out slow keeps the lucky runs. What is made again is the
comparison's whole round: all stacks of it that ended ok, one after the other, so that a pair still lies seconds apart
and not as many hours as the session is long. Each round of a comparison is repeated at most once, and all repetitions
together are at most one more round: of the most disturbed ones. Both are kept, and a reader takes the repeated round
where all of it ended ok and undisturbed, else the first one (runner/results/rows.py).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    of: str                           # the first run
    attempt: int
    together: tuple[str, ...]         # the keys of the cells that are made again with it, its own too
    disturbance: Disturbance | None   # None: another stack of its comparison was disturbed


def disturbance(ending: str, measure: str, foreign_cpu_share: float | None, is_throttled: bool) -> Disturbance | None:
    """What disturbed a run that ended so, or None. A share that nobody knows is none."""
    share = foreign_cpu_share or 0.0
    if ending != "ok" or measure in _UNTIMED or not (share > FOREIGN_SHARE or is_throttled):
        return None
    return Disturbance(share, is_throttled)


class _Run(NamedTuple):
    """A cell in a round, as far as it went."""

    name: str                         # of the run that is its result, or was before it was made again
    ending: str
    disturbance: Disturbance | None
    together: tuple[str, ...] = ()    # of its repetition, begun or over
    is_repeated: bool = False


class Cell(NamedTuple):
    """A cell of the plan."""

    key: str
    comparison: str


def waiting(records: Iterable[Record], rounds: Mapping[int, Sequence[Cell]]) -> list[Repetition]:
    """The runs of a session's store that are to be repeated now, of the most disturbed ones where there are too many.

    In the order of rounds and of each round's cells, so that the stacks of a pair follow each other. rounds: the plan's
    cells in the order of each round.
    """
    runs, attempts = _read(records)
    groups: dict[tuple[int, str], list[Cell]] = {}
    for index, cells in rounds.items():
        for cell in cells:
            groups.setdefault((index, cell.comparison), []).append(cell)
    room = max(map(len, rounds.values()), default=0) - sum(run.is_repeated for run in runs.values())
    chosen: set[tuple[str, int]] = set()
    for _, group, keys in sorted(_candidates(runs, groups), key=lambda each: -each[0]):
        if len(keys) <= room:
            room -= len(keys)
            chosen.update((key, group[0]) for key in keys)
    return [Repetition(cell.key, index, runs[cell.key, index].name, attempts[cell.key, index] + 1,
                       _together(runs, groups[index, cell.comparison], index), runs[cell.key, index].disturbance)
            for index, cells in sorted(rounds.items()) for cell in cells if (cell.key, index) in chosen]


Runs = Mapping[tuple[str, int], _Run]              # by key and round
Groups = Mapping[tuple[int, str], Sequence[Cell]]  # by round and comparison


def _candidates(runs: Runs, groups: Groups) -> Iterator[tuple[float, tuple[int, str], list[str]]]:
    """(how disturbed, round and comparison, the keys that are still to run) of each round to repeat."""
    for (index, comparison), cells in groups.items():
        keys = _together(runs, cells, index)
        worst = max((disturbance.rank for key in keys if (disturbance := runs[key, index].disturbance)), default=None)
        left = [key for key in keys if not runs[key, index].is_repeated]
        if worst is not None and left and not _was_repeated_alone(runs, keys, index):
            is_begun = any(runs[key, index].together for key in keys)
            yield (worst + 10.0 if is_begun else worst), (index, comparison), left       # what was begun is ended first


def _was_repeated_alone(runs: Runs, keys: Sequence[str], index: int) -> bool:
    """Whether a run of them was made again without the others, as until 2026-11-23."""
    return any(runs[key, index].is_repeated and set(runs[key, index].together) != set(keys) for key in keys)


def _together(runs: Runs, cells: Sequence[Cell], index: int) -> tuple[str, ...]:
    """The keys of a comparison that are repeated together: those whose first run ended ok."""
    return tuple(cell.key for cell in cells if (cell.key, index) in runs and runs[cell.key, index].ending == "ok")


def _read(records: Iterable[Record]) -> tuple[Runs, Mapping[tuple[str, int], int]]:
    """The first result of each cell and round, and how many runs of it there were."""
    runs: dict[tuple[str, int], _Run] = {}
    attempts: dict[tuple[str, int], int] = {}
    begun: dict[str, Record] = {}
    for record in records:
        if record["event"] == "begin":
            slot = record["key"], record["round"]
            begun[record["run"]] = record
            attempts[slot] = attempts.get(slot, 0) + 1
            if "repeats" in record and slot in runs:
                runs[slot] = runs[slot]._replace(together=tuple(record.get("together", (record["key"],))))
        elif record["event"] == "ending" and record["run"] in begun and record["ending"] in FINAL:
            head = begun[record["run"]]
            slot = head["key"], head["round"]
            if "repeats" in head and slot in runs:
                runs[slot] = runs[slot]._replace(is_repeated=True)
            else:
                runs[slot] = _Run(record["run"], record["ending"], _disturbance(record))
    return runs, attempts


def _disturbance(record: Mapping[str, Any]) -> Disturbance | None:
    """What an ending's record says, None of one that was not disturbed."""
    fields = record.get("disturbed")
    return Disturbance(float(fields["foreign_cpu_share"]), bool(fields["is_throttled"])) if fields else None


def announcement(repetitions: Sequence[Repetition]) -> str:
    """What is about to be repeated, in one line."""
    amiss = [each.disturbance for each in repetitions if each.disturbance]
    by_cpu = sum(each.foreign_cpu_share > FOREIGN_SHARE for each in amiss)
    by_gpu = sum(each.is_throttled for each in amiss)
    reasons = [f"others took more than {FOREIGN_SHARE:.0%} of the CPUs in {by_cpu}".replace("%", " %")
               if by_cpu else "", f"a GPU was throttled in {by_gpu}" if by_gpu else ""]
    runs = "1 disturbed run is" if len(amiss) == 1 else f"{len(amiss)} disturbed runs are"
    beside = len(repetitions) - len(amiss)
    others = f" with {beside} of the other stacks in the same rounds" if beside else ""
    return f"{runs} made again{others}: {', '.join(reason for reason in reasons if reason)}"
