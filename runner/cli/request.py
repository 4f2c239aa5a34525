"""From the options of commands that measure to the one request that all below is handed."""

from typing import Annotated, NamedTuple

import typer

from runner.cli import complete, options
from runner.errors import InputError
from runner.launchers.rank import NAME, Asked
from runner.launchers.table import AUTO
from runner.measuring import own_models
from runner.measuring.bench import Request
from runner.planning.plan import Wishes

MoreFiles = Annotated[list[str] | None, typer.Argument(metavar="[MODEL.py]...", show_default=False, help="More files "
                                                       "that are meant to be the same model.")]


class Settled(NamedTuple):
    """Options of every command that measures one plan, and how they are run."""

    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of the runs.")] = 1
    launcher: options.LauncherName = "auto"
    data: options.DataArgument = None
    pairs: options.Settings = None
    device: Annotated[str | None, typer.Option(
        help="cpu or gpu instead of the study's; short for --set device=.")] = None
    is_tuned: Annotated[bool, typer.Option("--tuned", help="Beside each stack as it stands also as its experts set it "
                                           "up; short for --set loop=native,tuned.")] = False
    env: Annotated[list[str] | None, typer.Option(
        "--env", metavar="NAME", help="A variable that workers get as it is set here, such as LD_PRELOAD; recorded. "
        "Repeat, or put commas.")] = None
    results: options.Results = options.RESULTS

    def request(self, study: str, wishes: Wishes, scale: str | None = None) -> Request:
        """The request for a study. Raises InputError."""
        pairs = self.pairs or []
        if self.device and any(pair.startswith("device=") for pair in pairs):
            raise InputError(f"found --device {self.device} and --set device=, expected one of them")
        if self.is_tuned and any(pair.startswith("loop=") for pair in pairs):
            raise InputError("found --tuned and --set loop=, expected one of them")
        if self.is_tuned and own_models.is_file(study):
            raise InputError(f"--tuned: found it with {study}, expected a study: --lane chooses among a file's columns")
        pairs, values = own_models.options_of(study, pairs) if own_models.is_file(study) else (pairs, {})
        settings = options.settings([*pairs, *([f"device={self.device}"] if self.device else []),
                                 *(["loop=native,tuned"] if self.is_tuned else [])])
        wishes = wishes._replace(seed=self.seed, settings=settings)
        return Request(study, scale, self.launcher, self.data, wishes, options.split("--env", self.env),
                       results=self.results, options=values)


class Processes(NamedTuple):
    """Options of a command that a cluster's engine, or ssh, starts once a node."""

    rank: Annotated[int | None, typer.Option(min=0, help="With --launcher inside: this process's rank, where its "
                                             "engine sets none.")] = None
    nodes: Annotated[int | None, typer.Option(min=1, help="The number of processes, likewise.")] = None
    head: Annotated[str, typer.Option(metavar="HOST[:PORT]", help="Where rank 0 is, likewise.")] = ""
    hosts: Annotated[list[str] | None, typer.Option(
        "--hosts", help="Start the others on these hosts by ssh, from rank 0. Repeat, or put commas.")] = None

    def launcher(self, asked: str) -> str:
        """--launcher with these options behind it. Raises InputError."""
        hosts = options.split("--hosts", self.hosts)
        words = Asked(rank=self.rank, nodes=self.nodes, head=self.head, hosts=hosts).words()
        name, _, more = (NAME if asked == AUTO else asked).partition(":")
        if words and name != NAME:
            raise InputError(f"--rank, --nodes, --head, --hosts: found --launcher {name}, expected --launcher inside")
        return f"{name}:{','.join([*filter(None, [more]), *words])}" if words else asked


class Form(NamedTuple):
    """Options for how much of a study, in which stacks."""

    stacks: options.StackNames = None
    rounds: options.Rounds = None
    scale: options.Scale = None
    baseline: Annotated[str, typer.Option(autocompletion=complete.stacks,
                                          help="The stack that ratios are taken to.")] = ""

    def request(self, study: str, settled: Settled) -> Request:
        """The request for the study in this form. Raises InputError."""
        wishes = Wishes(options.split_stacks(self.stacks), self.rounds, baseline=self.baseline)
        return settled.request(study, wishes, self.scale)


class Own(NamedTuple):
    """What a model of the user's own has besides its files."""

    same: Annotated[str, typer.Option("--same", metavar="FILE", help="A Python file whose arrays(rng) gives several "
                                      "models their weights.")] = ""
    lanes: Annotated[list[str] | None, typer.Option("--lane", help="Of a model of your own these columns alone; "
                                                    "repeat, or put commas.")] = None
    packages: Annotated[list[str] | None, typer.Option(
        "--with", metavar="NAME==VERSION", help="A package that a model of your own needs; repeat, or put commas."
        )] = None

    def of(self, request: Request, more: list[str] | None = None) -> Request:
        """The request for the files, where its word is one, and more; else as it is. Raises InputError."""
        if own_models.is_file(request.study):
            if request.scale:
                raise InputError(f"--scale {request.scale}: found it with a model of your own, which has no scales; "
                                 "--set batch=N or --rounds N")
            return request._replace(models=(request.study, *(more or ())), same=self.same,
                                    lanes=options.split("--lane", self.lanes),
                                    packages=options.split("--with", self.packages))
        if more or any(self):
            raise InputError(f"{request.study}: found a study with more words, --same, --lane or --with, which are of "
                             "files of your own, MODEL.py")
        return request
