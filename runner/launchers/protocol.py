"""What a launcher is: it starts runs, and answers all that its callers ask of it.

CONTRIBUTING.md, "Add a launcher", shows a new one. What nearly all launchers and their runs answer stands here once.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from runner import leftovers
from runner.errors import InputError
from runner.findings import Finding
from runner.launchers import kernel_cache
from runner.launchers.line_queue import Pipe
from runner.machine import gpus, topology
from runner.machine.cpu_sets import Share, shared
from runner.machine.gpus import Gpu, Gpus
from runner.machine.host import Machine
from runner.paths import cache_folder
from runner.processes import Say
from runner.results.error_output import ErrorOutput, Written
from runner.stacks import own
from runner.stacks.definition import PinnedStack, Stack
from workloads.spec import cluster, placement, turns
from workloads.spec.cell import Cell


class Exit(NamedTuple):
    """How a worker's process ended."""

    code: int | None             # None: it still runs
    is_out_of_memory: bool = False
    last_words: str = ""         # the end of its standard error
    limit_bytes: int = 0         # of memory, of which the kernel refuses more; 0: it refuses none
    # the ending's word and message, where who runs it knows what ended it, or that nobody can know how it went
    verdict: tuple[str, str] | None = None


class Worker:
    """What runs at one place. Each launcher's own workers also have exit, tell and stop, as Running has them."""

    def __init__(self) -> None:
        self._errors = ErrorOutput()             # what it writes on standard error, for who hears it here

    def trouble(self) -> str:
        """What keeps it from working, as seen from outside: "is paused"; "" for nothing."""
        return ""

    def used(self) -> dict[str, int | None] | None:
        """What it has used so far, {"group_peak_bytes": ...}; None where nobody but itself can tell."""
        return None

    def errors(self) -> Written | None:
        """What it wrote on standard error so far, bounded; None where nobody tells."""
        return self._errors.written()

    def forget_errors(self) -> None:
        """Let errors begin anew, for another run."""
        self._errors = ErrorOutput()


class Running:
    """A started run: a worker, or the places of a cluster."""

    def __init__(self, record: dict[str, Any], order: "Order") -> None:
        """record: launcher, isolation, image, base ... of where it runs."""
        self.place = record
        here = [order.places[rank] for rank in order.ranks]
        self._names = [place.name for place in here]
        # the places that send events and end by themselves, and those that serve until they are stopped
        self.reporters = tuple(place.name for place in here if place.reports)
        self.servers = tuple(place.name for place in here if not place.reports)
        self._pipe = Pipe()
        self._workers: dict[str, Any] = {}       # a Worker of the launcher's own kind at each place

    @contextmanager
    def stopped_on_error(self) -> Iterator[None]:
        """Stop the run where what is done within raises."""
        try:
            yield
        except BaseException:
            self.stop()
            raise

    def next_line(self, seconds: float) -> tuple[str, bytes] | None:
        """A place and its next line of standard output, b"" once it has no more; None if none came in time."""
        return self._pipe.next(seconds)

    def exit(self, place: str, seconds: float) -> Exit:
        """How a place's worker ended, after waiting at most these seconds."""
        exit: Exit = self._workers[place].exit(seconds)
        return exit

    def trouble(self) -> dict[str, str]:
        """What keeps places from working, by place, as seen from outside: "is paused"."""
        return {name: trouble for name, worker in self._workers.items() if (trouble := worker.trouble())}

    def used(self) -> dict[str, dict[str, int | None]]:
        """What places that serve have used, by place, as far as it is known: reporters say it themselves."""
        return {name: used for name, worker in self._workers.items()
                if name in self.servers and (used := worker.used())}

    def errors(self) -> dict[str, Written]:
        """What each place wrote on standard error so far, bounded, as far as it is known."""
        return {name: errors for name, worker in self._workers.items() if (errors := worker.errors())}

    def is_lost(self) -> bool:
        """Whether what runs the worker went away while it ran, and is there again: the run can be made anew."""
        return False

    def tell(self, words: str) -> None:
        """Write a line to each worker's standard input, where it was started to listen (workloads/spec/turns.py)."""
        for worker in self._workers.values():
            worker.tell(words)

    def machine(self, place: str) -> str:
        """Which machine a place is on, "" for this one."""
        return ""

    def forget_errors(self) -> None:
        """Let errors begin anew: it is a run of another cell from now on, for which its workers have waited."""
        for worker in self._workers.values():
            worker.forget_errors()

    def stop(self) -> None:
        """End all that still runs, and leave nothing behind. Safe to repeat."""
        self._pipe.close()
        for worker in self._workers.values():
            worker.stop()


class Order(NamedTuple):
    """A run that is to be started: a fresh worker a place, `python -m MODULE '<cell>'`."""

    cell: Cell
    stack: Stack
    data: Path
    run: str
    module: str = "workloads"
    padding: int = 0             # the length of an unused variable in its environment (workloads/spec/placement.py)
    listens: bool = False        # it waits for what Running.tell says; only of a launcher that tells
    rank: int | None = None      # of the place that is started here; None: all are
    addresses: tuple[str, ...] = ()          # of all places, HOST:FIRST_PORT
    beside: tuple[int, int] = (0, 1)         # which of how many nodes of the run on this machine the place's node is

    @property
    def words(self) -> tuple[str, str]:
        """What stands behind `python -m`."""
        return self.module, json.dumps(self.cell._asdict())

    @property
    def places(self) -> tuple[cluster.Place, ...]:
        """Those of the run, in order of rank."""
        return tuple(cluster.places(self.stack.framework, self.cell.parallel, self.cell.nodes))

    @property
    def ranks(self) -> tuple[int, ...]:
        """Those of the places that are started here."""
        return tuple(range(len(self.places))) if self.rank is None else (self.rank,)

    def variables(self, rank: int, addresses: Sequence[str] = ()) -> dict[str, str]:
        """What a place's environment says, also of the others, which find each other by these addresses or by name."""
        names = self.addresses or addresses or [place.name for place in self.places]
        others = {"EVENBENCH_NODES": ",".join(names), "EVENBENCH_RANK": str(rank)} if len(names) > 1 else {}
        return {**others, **own.variables(self.stack), **placement.variables(self.padding, self.stack.env),
                **({turns.VARIABLE: "1"} if self.listens else {})}

    def record(self) -> dict[str, Any]:
        """What a run's record says of what was asked for."""
        return {"stack_version": self.stack.version, "fingerprint": self.stack.made_of(),
                **own.run_record(self.stack)}

    def share(self, cpus: Iterable[int], known: topology.Topology | None) -> Share:
        """Which of these CPUs of a host each place there gets."""
        if self.rank is None:
            return shared(self.cell, cpus, known)
        index, nodes = self.beside
        share = shared(self.cell._replace(nodes=nodes), cpus, known)
        return share._replace(sets=(share.sets[index],))


class Launcher:
    """A way to run cells. What is not answered here, each launcher answers itself."""

    name: str                                            # as --launcher and records have it
    takes: frozenset[str] = frozenset({own.PINNED})      # the kinds of stacks that it starts, as own.kind names them
    uses_images: bool = True             # whether a stack is an image to it, else an environment of this host
    builds_at_once: int = 1              # how many stacks may be prepared at the same time
    checks_at_once: int = 1              # how many checks of equality, which measure no time, may run at the same time
    has_gpus_here: bool = True           # whether its runs use this host's GPUs, which are then watched
    tells: bool = False                  # whether workers can be started to listen, so that they take turns
    has_options: bool = False            # whether --launcher may say more of it than its name
    beside: tuple["Launcher", ...] = ()  # those of a session's stacks that this one does not take

    @classmethod
    def made(cls, here: Gpus, options: Sequence[str]) -> "Launcher":
        """The launcher with this host's GPUs, as the words behind its name in --launcher say.

        Raises InputError for a word that it does not know, and EngineUnreachable.
        """
        return cls()

    @classmethod
    def examine(cls, findings: list[Finding], options: Sequence[str], here: Gpus) -> list[Finding]:
        """What the doctor says of where this launcher measures; findings: on this machine.

        Raises as made, and InputError where that is this machine.
        """
        raise InputError(f'doctor --launcher: found "{cls.name}", expected inside, or nothing for this machine')

    @property
    def hosts(self) -> int:
        """How many machines the nodes of a run are spread over."""
        return 1

    def machine(self, here: Machine) -> Machine:
        """The machine that plans are made for: this one, or the smallest of those that runs are placed on."""
        for each in self.beside:
            here = each.machine(here)
        return here

    def record(self) -> dict[str, Any]:
        """What the session's record says beside the launcher's name of where it measures."""
        return {}

    def of(self, stack: Stack) -> "Launcher":
        """The launcher that starts a stack: this one, or one beside it."""
        return next((each for each in (self, *self.beside) if own.kind(stack) in each.takes), self)

    def check(self, cells: Sequence[Cell]) -> None:
        """Raise InputError where the machines are too few or too small for a cell of a plan."""
        return

    def missing(self, stack: Stack) -> str | None:
        """Why this launcher cannot run the stack here, or None; builds nothing."""
        return stack.unbuildable

    def is_built(self, stack: PinnedStack) -> bool:
        """Whether there is nothing to build for the stack here; a launcher that builds elsewhere says so itself."""
        return True

    def prepare(self, stacks: list[Stack], say: Say) -> None:
        """Build what the stacks need and sweep what earlier sessions left."""
        raise NotImplementedError

    def fingerprint(self, stack: Stack) -> str:
        """What the stack's runs are made of: runs of different fingerprints are never mixed."""
        return stack.made_of()

    def check_data(self, folders: Iterable[Path]) -> None:
        """Raise InputError where data sets' folders are not the same wherever this launcher measures."""
        return

    def image(self, stack: Stack) -> str:
        """The id of the image that a stack which was prepared runs in; "" where none is known."""
        return ""

    def start(self, cell: Cell, stack: Stack, data: Path, run: str, module: str = "workloads",
              padding: int = 0, listens: bool = False) -> Running:
        """Start what an Order of these says. Raises BenchError where it cannot be started."""
        return self.of(stack).begin(Order(cell, stack, data, run, module, padding, listens))

    def begin(self, order: Order) -> Running:
        """Start a run. Raises BenchError where it cannot be started."""
        raise NotImplementedError


class HostLauncher(Launcher):
    """A launcher whose runs are on this host."""

    checks_at_once = 2               # a check is an import above all, which is on one CPU
    tells = True

    def __init__(self, cache: Path | None = None, gpus: Gpus = gpus.NONE) -> None:
        """gpus: those that cells get; cache: the folder that keeps environments, image files, compiled kernels."""
        self._gpus, self._cache = gpus, cache or cache_folder()
        self._prepared: dict[str, Any] = {}          # by stack
        self._contents: dict[Path, str] = {}         # of environments' folders

    @classmethod
    def made(cls, here: Gpus, options: Sequence[str]) -> Self:
        return cls(gpus=here)

    def prepare(self, stacks: list[Stack], say: Say) -> None:
        """Build what is not there yet, and remove what runners that are gone have left."""
        leftovers.sweep_folders(say)
        for stack in stacks:
            self._prepared[stack.name] = self._made(stack, say)

    def _made(self, stack: Stack, say: Say) -> Any:
        """What runs of the stack are started from, made first where it is not there. Raises BenchError."""
        raise NotImplementedError

    def _ready(self, stack: Stack) -> Any:
        """The same, of a stack that may have been prepared."""
        if stack.name not in self._prepared:
            self._prepared[stack.name] = self._made(stack, lambda text: None)
        return self._prepared[stack.name]

    def _given(self, order: Order) -> tuple[Share, tuple[Gpu, ...], Path | None]:
        """What a run gets of this host: CPUs, GPUs, and the folder that keeps what is compiled for these."""
        share = order.share(os.sched_getaffinity(0), topology.observe())
        own = gpus.assigned(order.cell, order.stack, self._gpus) if order.cell.device == "gpu" else ()
        return share, own, kernel_cache.folder(order.stack, self._cache) if own else None

    def _record(self, order: Order, share: Share, own: Sequence[Gpu]) -> dict[str, Any]:
        return {"launcher": self.name, "isolation": self.name, **order.record(),
                **({"cpu_placement": dict(share.placement)} if share.placement else {}),
                **({"gpus": [gpu.uuid for gpu in own]} if own else {})}
