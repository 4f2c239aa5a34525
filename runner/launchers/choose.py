"""The table of launchers, and which of them runs a session's stacks: the one place that knows launchers by name.

A session may hold pinned stacks and the user's own ones. Each stack is run by a launcher that takes its kind, which the
record of every run names.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from runner.errors import EngineUnreachable, InputError
from runner.launchers.apptainer import ApptainerLauncher
from runner.launchers.compose import ComposeLauncher
from runner.launchers.docker import DockerLauncher
from runner.launchers.protocol import Launcher, Running
from runner.launchers.slurm.launcher import SlurmLauncher
from runner.launchers.swarm import manager
from runner.launchers.swarm.launcher import SwarmLauncher
from runner.launchers.venv import VenvLauncher
from runner.machine import gpus
from runner.paths import cache_folder
from runner.processes import Say
from runner.stacks import engine, own
from runner.stacks.definition import Stack
from workloads.spec.cell import Cell

AUTO = "auto"
Options = Mapping[str, Sequence[str]]        # the words of options that are named as the launcher that reads them


class Entry(NamedTuple):
    """A launcher, and how one is made with this host's GPUs and the arguments of the option of its name."""

    kind: type[Launcher]
    make: Callable[[gpus.Gpus, Sequence[str]], Launcher]
    has_options: bool = False            # whether there is an option of its name: --swarm, --slurm


LAUNCHERS = {entry.kind.name: entry for entry in (
    Entry(DockerLauncher, lambda gpus, options: DockerLauncher(engine.connect(), gpus)),
    Entry(VenvLauncher, lambda gpus, options: VenvLauncher(cache_folder(), gpus)),
    Entry(ApptainerLauncher, lambda gpus, options: ApptainerLauncher(gpus, cache_folder())),
    Entry(ComposeLauncher, lambda gpus, options: ComposeLauncher()),
    Entry(SwarmLauncher, lambda gpus, options: SwarmLauncher(engine.connect(), manager.options(options)),
          has_options=True),
    Entry(SlurmLauncher, lambda gpus, options: SlurmLauncher(cache_folder(), options), has_options=True),
)}


def names(is_meant: Callable[[type[Launcher]], bool]) -> str:
    """The names of some launchers, for messages: "docker or venv"."""
    return " or ".join(name for name, entry in LAUNCHERS.items() if is_meant(entry.kind))


def check_able(launcher: Launcher, option: str, is_able: Callable[[type[Launcher] | Launcher], bool]) -> None:
    """Raise InputError where the launcher cannot do what an option asks for."""
    if not is_able(launcher):
        raise InputError(f"{option}: found launcher {launcher.name}, expected {names(is_able)}")


def again(recorded: object) -> str:
    """The launcher to ask for when a record is repeated: that of the record, where it is known.

    An engine that no longer answers is done without, as if no launcher had been named.
    """
    is_known = isinstance(recorded, str) and recorded in LAUNCHERS
    return str(recorded) if is_known and recorded != DockerLauncher.name else AUTO


def for_stacks(name: str, say: Say, gpus: gpus.Gpus, options: Options, stacks: Sequence[Stack]) -> Launcher:
    """The launcher of that name, with those beside it that the user's own stacks need; gpus: this host's GPUs.

    Raises InputError, and EngineUnreachable where an engine is needed and none answers.
    """
    kinds = {own.kind(stack) for stack in stacks}
    usual = _named(VenvLauncher.name if name == AUTO and kinds == {own.ENVIRONMENT} else name, say, gpus, options)
    others = [stack for stack in stacks if isinstance(stack, own.OwnStack) and own.kind(stack) not in usual.takes]
    if not others:
        return usual
    if usual.takes == {own.PINNED}:
        able = names(lambda kind: kind.takes > {own.PINNED})
        raise InputError(f"--stack {others[0].asked}: found --launcher {usual.name}, which starts pinned stacks alone; "
                         f"expected --launcher {able}")
    return ByStack([usual, *_taking({own.kind(stack) for stack in others}, gpus)])


def _taking(kinds: set[str], gpus: gpus.Gpus) -> list[Launcher]:
    """Launchers that together take these kinds of the user's own stacks."""
    return [entry.make(gpus, ()) for entry in LAUNCHERS.values() if entry.kind.takes & kinds]


def _named(name: str, say: Say, gpus: gpus.Gpus, options: Options) -> Launcher:
    """The launcher of that name; `auto` is docker where an engine answers, else venv, with the reason said."""
    if name != AUTO and name not in LAUNCHERS:
        raise InputError(f'--launcher: found "{name}", expected one of {", ".join((AUTO, *LAUNCHERS))}')
    for other, values in options.items():
        if values and other != name:
            raise InputError(f"--{other} {values[0]}: found --launcher {name}, expected --launcher {other}")
    if name != AUTO:
        return LAUNCHERS[name].make(gpus, options.get(name, ()))
    try:
        return LAUNCHERS[DockerLauncher.name].make(gpus, ())
    except EngineUnreachable as error:
        say(f"{error}. Measuring in virtual environments on this host instead; the results are marked so.")
        return LAUNCHERS[VenvLauncher.name].make(gpus, ())


class ByStack(Launcher):
    """Several launchers, each of which runs the stacks that it takes; the first is the session's."""

    divides_gpus = runs_programs = tells = True

    def __init__(self, launchers: Sequence[Launcher]) -> None:
        self.name = launchers[0].name
        self.takes = frozenset[str]().union(*(each.takes for each in launchers))
        self._launchers = tuple(launchers)

    def of(self, stack: Stack) -> Launcher:
        """As protocol.Launcher."""
        return next(each for each in self._launchers if own.kind(stack) in each.takes)

    def with_gpus(self, gpus: gpus.Gpus) -> Self:
        """As protocol.Launcher."""
        other = copy.copy(self)
        other._launchers = tuple(each.with_gpus(gpus) for each in self._launchers)
        return other

    def missing(self, stack: Stack) -> str | None:
        """As protocol.Launcher."""
        return self.of(stack).missing(stack)

    def prepare(self, stacks: list[Stack], say: Say) -> None:
        """As protocol.Launcher."""
        for stack in stacks:
            self.of(stack).prepare([stack], say)

    def fingerprint(self, stack: Stack) -> str:
        """As protocol.Launcher."""
        return self.of(stack).fingerprint(stack)

    def image(self, stack: Stack) -> str:
        """As protocol.Launcher."""
        return self.of(stack).image(stack)

    def start(self, cell: Cell, stack: Stack, data: Path, run: str, module: str = "workloads",
              padding: int = 0, listens: bool = False) -> Running:
        """As protocol.Launcher."""
        return self.of(stack).start(cell, stack, data, run, module, padding, listens)

    def output(self, stack: Stack, module: str) -> bytes:
        """As protocol.Launcher."""
        return self.of(stack).output(stack, module)
