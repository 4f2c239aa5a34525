"""What a launcher is: it starts runs, and answers all that its callers ask of it.

CONTRIBUTING.md, "Add a launcher", shows a new one. Launchers are subclasses, so that what nearly all of them answer
stands here once.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from runner.errors import InputError
from runner.machine.gpus import Gpus
from runner.machine.host import Machine
from runner.results.error_output import Written
from runner.stacks import own
from runner.stacks.definition import Stack
from workloads.spec.cell import Cell


class Exit(NamedTuple):
    """How a worker's process ended."""

    code: int | None             # None: it still runs
    is_out_of_memory: bool = False
    last_words: str = ""         # the end of its standard error
    is_gone: bool = False        # nobody knows how it went: its container was removed, or its engine does not answer
    verdict: tuple[str, str] | None = None       # the ending's word and message, where who runs it knows what ended it


class Running(Protocol):
    """A started run: a worker, or the places of a cluster."""

    place: dict[str, Any]                # launcher, isolation, image, base ... for the record
    reporters: tuple[str, ...]           # the places that send events and end by themselves
    servers: tuple[str, ...]             # those that serve until they are stopped
    seconds_before: float = 0.0          # that it went on before it was taken over; its lines of then come in a burst

    def next_line(self, seconds: float) -> tuple[str, bytes] | None:
        """A place and its next line of standard output, b"" once it has no more; None if none came in time."""

    def exit(self, place: str, seconds: float) -> Exit:
        """How a place's worker ended, after waiting at most these seconds."""

    def trouble(self) -> dict[str, str]:
        """What keeps places from working, by place, as seen from outside: "is paused"."""

    def used(self) -> dict[str, dict[str, int | None]]:
        """What each place that still stands has used, by place: peak_bytes."""

    def errors(self) -> dict[str, Written]:
        """What each place wrote on standard error so far, bounded; {} where only the last words are known."""
        return {}

    def is_lost(self) -> bool:
        """Whether what runs the worker went away while it ran, and is there again: the run can be made anew."""
        return False

    def is_waiting(self) -> bool:
        """Whether the places are still in a queue, which counts for no deadline."""
        return False

    def tell(self, words: str) -> None:
        """Write a line to the standard input of a worker that was started to listen (workloads/spec/turns.py)."""
        return

    def learnt(self) -> dict[str, Any]:
        """What the record of its ending says of where it ran, which nobody knew when it was started."""
        return {}

    def stop(self) -> None:
        """End all that still runs, and leave nothing behind. Safe to repeat."""


class Launcher(Protocol):
    """A way to run cells. What is not written here with an answer, each launcher answers itself."""

    name: str                                            # as --launcher and records have it
    takes: frozenset[str] = frozenset({own.PINNED})      # the kinds of stacks that it starts, as own.kind names them
    uses_images: bool = True             # whether a stack is an image to it, else an environment of this host
    builds_at_once: int = 1              # how many stacks may be prepared at the same time
    checks_at_once: int = 1              # how many checks of equality, which measure no time, may run at the same time
    has_gpus_here: bool = True           # whether its runs use this host's GPUs, which are then watched
    measures_here: bool = True           # whether runs of two sessions at once would disturb each other on this host
    divides_gpus: bool = False           # whether with_gpus is there, so that runs can share this host's GPUs out
    runs_programs: bool = False          # whether output is there
    tells: bool = False                  # whether workers can be started to listen, so that they take turns

    @property
    def hosts(self) -> int:
        """How many machines the nodes of a run are spread over."""
        return 1

    def machine(self, here: Machine) -> Machine:
        """The machine that plans are made for: this one, or the smallest of those that runs are placed on."""
        return here

    def record(self) -> dict[str, Any]:
        """What the session's record says beside the launcher's name of where it measures."""
        return {}

    def of(self, stack: Stack) -> "Launcher":
        """The launcher that starts a stack; another one only where a session's stacks need several."""
        return self

    def check(self, cells: Sequence[Cell]) -> None:
        """Raise InputError where the machines are too few or too small for a cell of a plan."""
        return

    def rejoined(self, place: Mapping[str, Any]) -> Running | None:
        """The run of that record, which a runner that is gone has left and which went on; None where none did.

        All its lines come again. What can be of no use any more is ended and removed.
        """
        return None

    def with_gpus(self, gpus: Gpus) -> "Launcher":
        """The same launcher, whose cells get these GPUs alone."""
        raise InputError(f"launcher {self.name} gives runs no GPUs of their own")

    def output(self, stack: Stack, module: str) -> bytes:
        """What `python -m MODULE` prints in the stack, which has been prepared. Raises BenchError."""
        raise InputError(f"launcher {self.name} runs no programs but workers")

    def missing(self, stack: Stack) -> str | None:
        """Why this launcher cannot run the stack here, or None; builds nothing."""

    def prepare(self, stacks: list[Stack], say: Callable[[str], None]) -> None:
        """Build what the stacks need and sweep what earlier sessions left."""

    def fingerprint(self, stack: Stack) -> str:
        """What the stack's runs are made of: runs of different fingerprints are never mixed."""

    def image(self, stack: Stack) -> str:
        """The id of the image that a stack which was prepared runs in; "" where none is known."""
        return ""

    def start(self, cell: Cell, stack: Stack, data: Path, run: str, module: str = "workloads",
              padding: int = 0, listens: bool = False) -> Running:
        """Start a fresh worker, `python -m MODULE '<cell>'`. Raises BenchError where none can be started.

        padding: the length of an unused variable in its environment (workloads/spec/placement.py).
        listens: it waits for what Running.tell says; only of a launcher that tells.
        """


class Node(Protocol):
    """A machine of a cluster."""

    @property
    def cpus(self) -> int:
        """How many there are."""

    @property
    def memory_bytes(self) -> int:
        """How much there is."""


class ClusterLauncher(Launcher):
    """A launcher that spreads a run over machines of a cluster, each of which gets one node of it."""

    has_gpus_here = False
    nodes: Sequence[Node]

    @property
    def hosts(self) -> int:
        """As Launcher."""
        return len(self.nodes)

    def machine(self, here: Machine) -> Machine:
        """The smallest of the cluster's machines."""
        return here._replace(cpus=min(node.cpus for node in self.nodes),
                             memory_bytes=min(node.memory_bytes for node in self.nodes))
