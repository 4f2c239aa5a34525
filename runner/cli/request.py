"""From the options of commands that measure to the one request that all below is handed."""

from typing import Any, NamedTuple

from runner.cli.options import (
    RESULTS,
    Baseline,
    Budget,
    DataArgument,
    Device,
    Env,
    Fresh,
    Lanes,
    LauncherName,
    MoreFiles,
    Results,
    Rounds,
    Same,
    Scale,
    Seed,
    Settings,
    StackNames,
    Stall,
    With,
    Yes,
    duration,
    split,
    split_stacks,
)
from runner.errors import InputError
from runner.measuring import job, own_models
from runner.planning.plan import Wishes


class Settled(NamedTuple):
    """Options of every command that measures one plan, and how they are run."""

    seed: Seed = 1
    launcher: LauncherName = "auto"
    data: DataArgument = None
    pairs: Settings = None
    device: Device = None
    env: Env = None
    results: Results = RESULTS

    @property
    def settings(self) -> dict[str, Any]:
        """The cell's fields that --set and --device say. Raises InputError."""
        if self.device and any(pair.startswith("device=") for pair in self.pairs or []):
            raise InputError(f"found --device {self.device} and --set device=, expected one of them")
        return job.settings([*(self.pairs or []), *([f"device={self.device}"] if self.device else [])])

    def request(self, study: str, wishes: Wishes, scale: str | None = None) -> job.Request:
        """The request for a study. Raises InputError."""
        wishes = wishes._replace(seed=self.seed, settings=self.settings)
        return job.Request(study, scale, self.launcher, self.data, wishes, tuple(split(self.env)),
                           results=self.results)


class Form(NamedTuple):
    """Options for how much of a study, in which stacks."""

    stacks: StackNames = None
    rounds: Rounds = None
    scale: Scale = None
    baseline: Baseline = ""
    budget: Budget = None

    def request(self, study: str, settled: Settled) -> job.Request:
        """The request for the study in this form. Raises InputError."""
        budget = duration("--budget", self.budget) if self.budget else None
        wishes = Wishes(tuple(split_stacks(self.stacks)), self.rounds, baseline=self.baseline, budget_seconds=budget)
        return settled.request(study, wishes, self.scale)


class Own(NamedTuple):
    """What a model of the user's own has besides its first file."""

    more: MoreFiles = None
    same: Same = ""
    lanes: Lanes = None
    packages: With = None

    def of(self, request: job.Request) -> job.Request:
        """The request for the files, where its word is one; else as it is. Raises InputError."""
        if own_models.is_file(request.study):
            return request._replace(models=(request.study, *(self.more or ())), same=self.same,
                                    lanes=tuple(split(self.lanes)), packages=tuple(split(self.packages)))
        if self.more or self.same or self.lanes or self.packages:
            raise InputError(f"{request.study}: found a study with more words, --same, --lane or --with, which are of "
                             "files of your own, MODEL.py")
        return request


class Going(NamedTuple):
    """Options for how a session goes."""

    fresh: Fresh = False
    stall: Stall = None
    yes: Yes = False

    def of(self, request: job.Request) -> job.Request:
        """The request, going so."""
        return request._replace(is_fresh=self.fresh, stall=self.stall, is_agreed=self.yes)
