"""From the arguments of --stack to stacks: pinned ones by their names, the user's own asked what they hold."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from runner.errors import InputError
from runner.machine.gpus import NONE, Gpus
from runner.processes import Say
from runner.stacks import containers, engine, own
from runner.stacks.definition import PinnedStack, Stack
from workloads.spec import frameworks


class Chosen(NamedTuple):
    """What --stack chose."""

    names: tuple[str, ...]           # in the order of the command line
    stacks: dict[str, Stack]         # all there are: ours, and the user's own that were named

    @property
    def named(self) -> tuple[Stack, ...]:
        """The stacks of the names that are known: the launcher starts all of them."""
        return tuple(self.stacks[name] for name in self.names if name in self.stacks)


def chosen(arguments: Sequence[str], pinned: Mapping[str, Stack], root: Path, gpus: Gpus) -> Chosen:
    """The stacks that arguments such as torch-2.13-cpu, torch or mine=PATH name. Raises BenchError."""
    arguments = [full_name(argument, pinned, bool(gpus.gpus)) for argument in arguments]
    stacks: dict[str, Stack] = {}
    for each in filter(None, [own.parse(argument, pinned) for argument in arguments]):
        if each.name in stacks:
            raise InputError(f'--stack {each}: the name "{each.name}" is given twice; choose another')
        stacks[each.name] = (
            containers.own_stack(engine.connect(), each, root, [gpu.uuid for gpu in gpus.gpus]) if each.image
            else own.environment(each, root, bool(gpus.gpus)))
    names = tuple(argument.partition("=")[0] for argument in arguments)
    return Chosen(names, {**pinned, **stacks})


def full_name(word: str, pinned: Mapping[str, Stack], on_gpu: bool = False) -> str:
    """The name of today's stack of a framework, which torch, tf, jax and mxnet stand for; any other word as it is."""
    study = "gpu" if on_gpu else "quick"
    return next((name for name, each in pinned.items() if name.partition("-")[0] == word and word not in pinned
                 and isinstance(each, PinnedStack) and study in each.studies), word)


def again(arguments: Sequence[str], session: Mapping[str, Any], cells: Sequence[Mapping[str, Any]],
          pinned: Mapping[str, Stack], root: Path, gpus: Gpus, say: Say) -> Chosen:
    """The stacks for a record's cells: ours, and the user's own as the arguments name them now. Raises BenchError.

    What the record says of a path or an image is shown and never started: it may be a stranger's.
    """
    for argument in arguments:
        if not own.is_own(argument):
            raise InputError(f"--stack {argument}: found a name, expected NAME=PATH or NAME=image:NAME of a stack of "
                             "your own; the others are the record's")
    are_of_gpus = any(cell.get("device") == "gpu" for cell in cells)
    known = {*dict(frameworks.PACKAGES), frameworks.WITHOUT}
    packages = {name.partition("/")[0]: package for name, each in _recorded(session).items()    # for which it was asked
                for _, sign, package in [each["asked"].rpartition("#")] if sign and package in known}
    arguments = [f"{word}#{packages[name]}" if "#" not in word and name in packages else word
                 for word in arguments for name in [word.partition("=")[0]]]
    here = chosen(arguments, pinned, root, gpus if are_of_gpus else NONE)
    here = here._replace(names=tuple(dict.fromkeys(str(cell["stack"]) for cell in cells)))
    for name, record in _recorded(session).items():
        if name in here.names and name.partition("/")[0] not in here.stacks:
            say(f"{name} was a stack of its user's own: `--stack {shlex.quote(record['asked'])}` repeats its cells")
    return here


def _recorded(session: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The session record's facts on the user's own stacks, by name."""
    records = session.get("own")
    return {name: record for name, record in (records if isinstance(records, dict) else {}).items()
            if isinstance(record, dict) and isinstance(record.get("asked"), str)}


def changes(session: Mapping[str, Any], stacks: Mapping[str, Stack]) -> list[str]:
    """A line for each of the user's own stacks that is made of something else than in an earlier session."""
    return [f"{name} has changed: {own.change(record, now) or 'the workloads are others'}"
            for name, record in _recorded(session).items()
            if isinstance(now := stacks.get(name), own.OwnStack) and record.get("fingerprint") != now.made_of()]
