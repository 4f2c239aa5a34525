"""How much of every study's experiments has been measured in results/, with stacks and workloads as they are now.

A cell is done where a run of it came to a result with the present fingerprint of its stack, stale where only with
earlier ones, failed where runs of the present ended otherwise, else missing. The data set does not count: a cell that
read CIFAR-10 is as much done as one that read the stand-in.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from runner.cells import key
from runner.errors import InputError
from runner.planning.plan import Plan
from runner.results import earlier_sessions, store
from workloads.spec.cell import DEFAULTS, Cell, CellError, parse

RESULTS = frozenset({"ok", "oom", "unsupported", "not_finite"})     # endings that say something of the cell
Endings = Mapping[str, Mapping[str, frozenset[str]]]                # by a cell's key and by fingerprint


class Experiment(NamedTuple):
    """Of an experiment's cells so many are in each state; a cell that experiments share counts in each."""

    study: str
    scale: str
    experiment: str
    cells: int
    done: int
    stale: int
    failed: int
    missing: int
    skipped: int             # cannot run here

    def record(self) -> dict[str, str | int]:
        """A line of a list; the first word is what `evenbench run` takes."""
        return {"experiment": f"{self.study}/{self.experiment}",
                **{name: value for name, value in self._asdict().items() if name not in ("study", "experiment")}}

    @property
    def is_touched(self) -> bool:
        """Whether anything was ever run of it."""
        return bool(self.done or self.stale or self.failed)


def key_of(cell: Cell) -> str:
    """The cell's key, whatever data it reads."""
    return key(cell._replace(data=DEFAULTS["data"]))


def endings(results: Path) -> Endings:
    """The endings of all runs in a folder of results; results that cannot be read are passed over."""
    by_cell: dict[str, dict[str, set[str]]] = {}
    for path in sorted(results.glob(f"*/{store.EVENTS}")):
        try:
            for past in earlier_sessions.Told().read(path.parent).ended:
                if past.cell:
                    by_stack = by_cell.setdefault(key_of(parse(past.cell)), {})
                    by_stack.setdefault(past.fingerprint, set()).add(past.ending)
        except (InputError, CellError, KeyError, TypeError, AttributeError):
            continue
    return {cell_key: {made_of: frozenset(endings) for made_of, endings in by_stack.items()}
            for cell_key, by_stack in by_cell.items()}


def experiments(plans: Iterable[Plan], known: Endings, fingerprint: Callable[[str], str]) -> list[Experiment]:
    """The state of each experiment, from plans of one experiment each; fingerprint: the present one of a stack."""
    experiment_states = []
    for plan in plans:
        states = Counter(_state(planned.cell, known, fingerprint) for planned in plan.cells)
        experiment_states.append(Experiment(plan.study.id, plan.study.scale, plan.study.experiments[0].id,
                                len(plan.cells) + len(plan.skipped), states["done"], states["stale"], states["failed"],
                                states["missing"], len(plan.skipped)))
    return experiment_states


def _state(cell: Cell, known: Endings, fingerprint: Callable[[str], str]) -> str:
    by = known.get(key_of(cell), {})
    now = by.get(fingerprint(cell.stack), frozenset()) if by else frozenset()
    if now & RESULTS:
        return "done"
    if any(endings & RESULTS for endings in by.values()):
        return "stale"
    return "failed" if now else "missing"
