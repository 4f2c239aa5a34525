"""What the commands share: the app, their options, and what is made of those."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from runner import job, screen, stack
from runner.errors import InputError
from runner.plan import Wishes

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False,
                  help="Which deep-learning framework is faster here, really?")

StudyName = Annotated[str, typer.Argument(metavar="STUDY", show_default=False,
                                          help="A study's id or the path of its file, some of its experiments "
                                          "(krisilias/kri-f3,kri-mem), or all: every published study.")]
ResultName = Annotated[str, typer.Argument(metavar="RESULT", help="A result's id or folder.", show_default=False)]
StackNames = Annotated[list[str] | None, typer.Option("--stack", help="These stacks instead; repeat, or put commas.")]
Rounds = Annotated[int | None, typer.Option(min=1, max=1000, help="Rounds instead of the study's number.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the order of the runs.")]
Scale = Annotated[str | None, typer.Option(help="One of the study's scales.")]
Baseline = Annotated[str, typer.Option(help="The stack that ratios are taken to.")]
LauncherName = Annotated[str, typer.Option("--launcher", help="docker, venv, or auto: docker where an engine answers. "
                                           "compose: in compose.yaml's runner. swarm: on a Docker Swarm's nodes.")]
SwarmWords = Annotated[list[str] | None, typer.Option(
    "--swarm", help="With --launcher swarm: encrypted, registry=HOST/NAME, engine:NODE=URL; repeat, or put commas.")]
DataArgument = Annotated[str | None, typer.Option("--data", help="NAME=FOLDER, such as cifar10=FOLDER; NAME alone: "
                                                          "what `evenbench data` keeps.")]
Device = Annotated[str | None, typer.Option(help="cpu or gpu instead of the study's; short for --set device=.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE of a cell, such as batch=8; repeatable.")]
Results = Annotated[Path, typer.Option("--results", help="The folder of all results.")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Resume no unfinished session.")]
Prove = Annotated[bool, typer.Option("--prove", help="First check what no check has shown equal yet.")]
Stall = Annotated[float | None, typer.Option(
    min=1, help="Seconds without a step that end a run; 300 if left out, on many nodes 50.")]
NewestResult = Annotated[str, typer.Argument(metavar="RESULT", help="A result's id or folder; the newest if left out.")]
SomeStacks = Annotated[list[str] | None, typer.Argument(metavar="STACK")]
RESULTS = Path("results")


def asked_of(name: str, stacks: list[str] | None, rounds: int | None, seed: int, scale: str | None, baseline: str,
           launcher: str, data: str | None, pairs: list[str] | None, swarm: list[str] | None = None) -> job.Asked:
    """What options ask for. Raises InputError."""
    wishes = Wishes(tuple(split(stacks)), rounds, seed, baseline, job.settings(pairs or []))
    return job.Asked(name, scale, launcher, data, wishes, tuple(split(swarm)))


def with_device(pairs: list[str] | None, device: str | None) -> list[str]:
    """The KEY=VALUE words with the device's."""
    return [*(pairs or []), *([f"device={device}"] if device else [])]


def split(words: list[str] | None) -> list[str]:
    """The names in options that may hold several, put apart by commas."""
    return [name for word in words or [] for name in word.split(",") if name]


def pinned() -> dict[str, stack.Pinned]:
    """All that has an image: the stacks and the runner."""
    return {**stack.read_all(job.STACKS), stack.RUNNER: stack.read_runner(job.STACKS)}


def known_stacks(names: list[str] | None, known: Mapping[str, stack.Pinned]) -> list[str]:
    """The names; without any, those of all that run without a GPU. Raises InputError for one that is unknown."""
    for name in names or []:
        if name not in known:
            raise InputError(f'stack "{name}" is unknown; known: {", ".join(known)}')
    return names or [name for name, each in known.items() if not each.is_gpu_only]


def print_rows(rows: Sequence[Mapping[str, Any]], is_json: bool) -> None:
    """Rows of equal keys on standard output, as a table or for programs."""
    if is_json:
        print(json.dumps(rows, indent=2))
    else:
        screen.show(screen.list_view(rows))
