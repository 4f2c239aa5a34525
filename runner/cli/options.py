"""The options that commands share, and how their values are read."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

from runner import paths
from runner.cli import complete
from runner.errors import InputError, unknown
from runner.launchers import table
from runner.measuring.bench import Going
from runner.results import store
from workloads.spec import cell as cells
from workloads.spec import tasks

StudyName = Annotated[str, typer.Argument(metavar="STUDY", show_default=False, autocompletion=complete.studies,
                                          help="A study's id or the path of its file, some of its experiments "
                                          "(krisilias/kri-f3,kri-mem). MODEL.py: a model of your own.")]
ResultName = Annotated[str, typer.Argument(metavar="RESULT", show_default=False, autocompletion=complete.results,
                                           help="A result's id, its beginning, or its folder; latest: the newest.")]
Settings = Annotated[list[str] | None, typer.Option("--set", autocompletion=complete.settings, help="KEY=VALUE of a "
                                                    "cell, such as batch=8; batch=1,8,64 measures each; repeatable.")]
StackNames = Annotated[list[str] | None, typer.Option(
    "--stack", autocompletion=complete.stacks, help="These stacks instead; repeat, or put commas. torch, tf, jax, "
    "mxnet: today's. NAME=PATH, NAME=image:NAME: one of your own.")]
Rounds = Annotated[int | None, typer.Option(min=1, max=1000, help="Rounds instead of the study's number.")]
Scale = Annotated[str | None, typer.Option(help="One of the study's scales; if left out its first, or where that "
                                                "takes over an hour here the largest that does not.")]
LauncherName = Annotated[str, typer.Option("--launcher", help=f"{table.HELP}.")]
DataArgument = Annotated[str | None, typer.Option("--data", help="NAME=FOLDER, such as cifar10=FOLDER; NAME alone: "
                                                          "what `evenbench data` keeps. Several with commas: "
                                                          "experiments that say their data read theirs.")]
Results = Annotated[Path, typer.Option("--results", help="The folder of all results.")]
Details = Annotated[bool, typer.Option("-v", "--details", help="All that stands behind the answer, too.")]
RunCode = Annotated[bool, typer.Option("--run-code", help="Run the Python files of a record of somebody's own model.")]
NewestResult = Annotated[str, typer.Argument(metavar="RESULT", help="A result's id or folder; the newest if left out.",
                                             autocompletion=complete.results)]
SomeStacks = Annotated[list[str] | None, typer.Argument(metavar="STACK", autocompletion=complete.stacks)]
RESULTS = store.RESULTS


class Folders(NamedTuple):
    """Folders with studies and stacks of the user's own."""

    own_studies: Annotated[list[Path] | None, typer.Option(
        "--studies", metavar="DIR", envvar=paths.OWN_STUDIES, show_envvar=False,
        help=f"A folder with studies of your own, NAME.toml; repeatable, or {paths.OWN_STUDIES}.")] = None
    own_stacks: Annotated[list[Path] | None, typer.Option(
        "--stacks", metavar="DIR", envvar=paths.OWN_STACKS, show_envvar=False,
        help=f"A folder with stacks of your own, NAME/stack.toml; repeatable, or {paths.OWN_STACKS}.")] = None

    @property
    def places(self) -> paths.Places:
        """Where studies and stacks lie. Raises InputError."""
        return paths.Places().with_own(self.own_studies or (), self.own_stacks or ())


GOING: dict[str, Any] = {           # by the fields of Going
    "waits": Annotated[bool, typer.Option("--wait", help="Wait while another session measures on this machine.")],
    "is_fresh": Annotated[bool, typer.Option("--fresh", help="Resume no unfinished session.")],
    "stall": Annotated[float | None, typer.Option(
        min=1, help="Seconds without a step that end a run; 300 if left out, on many nodes 50.")],
    "minutes": Annotated[float | None, typer.Option(
        min=0.1, help="Begin no round after so many; the same command goes on.")],
    "is_agreed": Annotated[bool, typer.Option("-y", "--yes", help="Measure without asking, also for more than an hour."
                                              )]}


def split(option: str, values: list[str] | None) -> tuple[str, ...]:
    """The values of an option that may be repeated or hold several, separated by commas. Raises InputError of none."""
    names = tuple(name for value in values or () for name in value.split(",") if name)
    if values and not names:
        raise InputError(f'{option}: found "{values[0]}", expected a name, or no {option}')
    return names


def share(option: str, text: str, is_some: bool = False) -> float:
    """The share of "3%" or "3 %"; is_some: not 0. Raises InputError."""
    match = re.fullmatch(r"(\d{1,2}(?:\.\d{1,6})?) ?%", text.strip())
    if not match or (is_some and not float(match[1])):
        least = "above 0 % and " if is_some else ""
        raise InputError(f'{option}: found "{text}", expected a share {least}below 100 %, such as 3%')
    return float(match[1]) / 100


def duration(option: str, text: str) -> float:
    """The seconds of "90m", "12h" or "2d". Raises InputError."""
    match = re.fullmatch(r"(\d{1,4}(?:\.\d{1,3})?) ?([mhd])", text.strip())
    if not match or not float(match[1]):
        raise InputError(f'{option}: found "{text}", expected minutes, hours or days, such as 90m, 12h or 2d')
    return float(match[1]) * {"m": 60, "h": 3600, "d": 86400}[match[2]]


def span(option: str, text: str) -> tuple[str, int, int]:
    """(name, low, high) of "batch=1..256". Raises InputError."""
    match = re.fullmatch(r"(\w+)=(\d{1,9})\.\.(\d{1,9})", text)
    if not match or int(match[2]) >= int(match[3]):
        raise InputError(f'{option}: found "{text}", expected KEY=LOW..HIGH with LOW below HIGH, such as batch=1..256')
    return match[1], int(match[2]), int(match[3])


def settings(pairs: list[str]) -> dict[str, Any]:
    """Cell fields from arguments KEY=VALUE; of KEY=A,B a tuple, each value of which is measured. Raises InputError."""
    fields: dict[str, Any] = {}
    known = {name: kind for name, kind in cells.FIELDS.items() if name not in ("stack", "data", "source")}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if separator and name in ("stack", "data"):
            raise InputError(f"--set {pair}: found {name}, which has an option of its own, --{name}")
        if not separator:
            raise InputError(f'--set: found "{pair}", expected KEY=VALUE with KEY one of {", ".join(known)}')
        if name not in known:
            raise unknown("--set: key", name, known)
        if name in fields:
            raise InputError(f"--set {pair}: found {name} twice, expected it once; {name}=A,B measures both")
        texts = [text] if name == "switches" else text.split(",")         # whose values may have commas
        values = tuple(dict.fromkeys(_value(pair, name, known[name], each) for each in texts))
        if len(values) > 1 and name in ("device", "measure"):
            raise InputError(f'--set {pair}: found {len(values)} values, expected one: a session has one {name}')
        fields[name] = values if len(values) > 1 else values[0]
    return fields


def _value(pair: str, name: str, kind: Callable[[str], Any], text: str) -> Any:
    try:
        value = cells.checked(name, kind(text))
    except cells.CellError as error:
        raise InputError(f"--set {pair}: {error}") from error
    except ValueError as error:
        expected = "a whole number" if kind is int else "a number"
        raise InputError(f'--set {pair}: found "{text}", expected {expected}') from error
    if name == "task" and text not in tasks.NAMES:
        raise unknown(f"--set {pair}: task", text, tasks.NAMES)
    return value


def split_stacks(values: list[str] | None) -> tuple[str, ...]:
    """The values of --stack. Raises InputError where it names none: an empty variable is not every stack."""
    names = tuple(name for value in values or () for name in _stacks_of(value) if name)
    if values and not names:
        raise InputError('--stack: found "", expected a stack\'s name; `evenbench list stacks` shows what there is')
    return names


def _stacks_of(value: str) -> list[str]:
    """The words of an argument that holds several; a comma before no name is part of a path that is there."""
    words: list[str] = []
    for word in value.split(","):
        _, sign, path = f"{words[-1]},{word}".partition("=") if words else ("", "", "")
        before, _, package = path.rpartition("#")
        is_path = bool(sign) and not paths.named(words[-1].partition("=")[2]).exists() and (
            paths.named(path).exists() or ("," not in package and bool(before)
                                                 and paths.named(before).exists()))
        words[-1:] = [f"{words[-1]},{word}"] if is_path else [*words[-1:], word]
    return words


class Commands(typer.Typer):
    """Commands whose parameters may be tuples of options."""

    def command(self, *words: Any, **named: Any) -> Callable[[Any], Any]:
        """As typer's."""
        register = super().command(*words, **named)
        return lambda function: register(_flat(function))


def _flat(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer reads it: the fields of a parameter that is a tuple of options stand as its own."""
    parts: dict[str, type[Any]] = {}
    flat: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        fields = getattr(parameter.annotation, "_fields", None)
        if fields is None:
            flat.append(parameter)
            continue
        parts[parameter.name] = parameter.annotation
        annotations = GOING if parameter.annotation is Going else get_type_hints(
            parameter.annotation, include_extras=True)
        flat += [parameter.replace(name=name, annotation=annotations[name],
                                   default=parameter.annotation._field_defaults[name]) for name in fields]

    def given(**values: Any) -> None:
        made = {name: part(*(values.pop(field) for field in part.__annotations__)) for name, part in parts.items()}
        command(**values, **made)

    given.__name__, given.__doc__ = command.__name__, command.__doc__
    given.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    return given
