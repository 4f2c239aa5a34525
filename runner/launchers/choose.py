"""Which launcher of the table runs a session's stacks: each stack one that takes its kind, which every record names."""

from collections.abc import Sequence

from runner.errors import EngineUnreachable, InputError
from runner.findings import Finding
from runner.launchers.protocol import Launcher
from runner.launchers.table import AUTO, LAUNCHERS, WITH_ENGINE, WITHOUT_ENGINE
from runner.machine.gpus import Gpus
from runner.processes import Say
from runner.stacks import own
from runner.stacks.definition import Stack


def again(recorded: object) -> str:
    """The launcher to ask for when a record is repeated: that of the record, where it is known.

    An engine that no longer answers is done without, as if no launcher had been named.
    """
    return str(recorded) if isinstance(recorded, str) and recorded in LAUNCHERS and recorded != WITH_ENGINE else AUTO


def examined(asked: str, findings: list[Finding], here: Gpus) -> list[Finding]:
    """What the doctor finds where the launcher of that name measures; findings: on this machine. Raises BenchError."""
    kind, options = _parsed(asked)
    return kind.examine(findings, options, here)


def for_stacks(asked: str, say: Say, here: Gpus, stacks: Sequence[Stack]) -> Launcher:
    """The launcher of that name, with those beside it that the user's own stacks need; here: this host's GPUs.

    asked: a name, with the launcher's own options behind a colon; `auto` is docker where an engine answers, else venv,
    with the reason said. Raises InputError, and EngineUnreachable where an engine is needed and none answers.
    """
    kinds = {own.kind(stack) for stack in stacks}
    usual = _named(WITHOUT_ENGINE if asked == AUTO and kinds == {own.ENVIRONMENT} else asked, say, here)
    others = [stack for stack in stacks if isinstance(stack, own.OwnStack) and own.kind(stack) not in usual.takes]
    if not others:
        return usual
    if usual.takes == {own.PINNED}:
        able = " or ".join(name for name, entry in LAUNCHERS.items() if entry.load().takes > {own.PINNED})
        raise InputError(f"--stack {others[0].asked}: found --launcher {usual.name}, which starts pinned stacks alone; "
                         f"expected --launcher {able}")
    if not usual.has_gpus_here:          # on other machines; what is beside it would start on this one
        raise InputError(f"--stack {others[0].asked}: found --launcher {usual.name}, whose nodes do not start it; "
                         "expected environments with --launcher inside:venv, or images with inside:docker")
    able_beside = (kind for entry in LAUNCHERS.values() if (kind := entry.load()).takes & kinds - usual.takes)
    usual.beside = tuple(kind.made(here, ()) for kind in able_beside)
    return usual


def _named(asked: str, say: Say, here: Gpus) -> Launcher:
    kind, options = _parsed(WITH_ENGINE if asked == AUTO else asked)
    try:
        return kind.made(here, options)
    except EngineUnreachable as error:
        if asked != AUTO:
            raise
        say(f"{error}. Measuring in virtual environments on this host instead; the results are marked so.")
        return LAUNCHERS[WITHOUT_ENGINE].load().made(here, ())


def _parsed(asked: str) -> tuple[type[Launcher], list[str]]:
    """The launcher of "inside:venv,rank=1", and its options. Raises InputError."""
    name, _, options = asked.partition(":")
    if name not in LAUNCHERS:
        raise InputError(f'--launcher: found "{name}", expected one of {", ".join((AUTO, *LAUNCHERS))}')
    kind = LAUNCHERS[name].load()
    if options and not kind.has_options:
        raise InputError(f'--launcher: found "{asked}", expected {name} without options')
    return kind, [word for word in options.split(",") if word]
