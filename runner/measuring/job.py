"""A job: what the user asked for, planned for this machine, and the bench that its runs are made with."""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from runner import formatting
from runner.datasets import choice
from runner.errors import EngineUnreachable, InputError
from runner.launchers import choose
from runner.launchers.protocol import Launcher
from runner.launchers.table import AUTO, LAUNCHERS, WITHOUT_ENGINE
from runner.machine import cpu_energy, gpus, host, nvml, programs, telemetry
from runner.machine.gpus import NONE, Gpus
from runner.measuring import own_models, own_stacks
from runner.measuring.bench import Bench, Request
from runner.paths import ROOT, cache_folder
from runner.planning.plan import Plan, Planned, estimate_seconds, of_fullest_form, plan, too_large
from runner.processes import Say, left_behind, passed_on
from runner.results import sessions
from runner.results.records import Product, Unit
from runner.stacks import definition, own
from runner.stacks.own import OwnStack
from runner.study import file
from workloads.spec.models import own_model

HOUR = 3600.0                    # a plan that takes longer is asked about, and another scale is chosen where none is


class Job(NamedTuple):
    """A session before its folder is chosen."""

    request: Request
    plan: Plan
    stacks: dict[str, definition.Stack]
    launcher: Launcher
    machine: host.Machine
    data: choice.Data
    gpus: Gpus = NONE
    facts: Mapping[str, Any] = MappingProxyType({})     # what else the session's record says, such as whose rerun it is
    more_data: tuple[choice.Data, ...] = ()             # for cells that say so
    forms: tuple[file.Study, ...] = ()                  # of the study, one of which was planned; (): not planned anew
    made_of: Mapping[str, str] = MappingProxyType({})   # fingerprints by stack, of those that were hashed

    @property
    def folders(self) -> dict[str, Path]:
        """Where each data set lies, by its name."""
        return {each.name: each.folder for each in (self.data, *self.more_data)}

    def seconds(self, known: Mapping[str, float] = MappingProxyType({}),
                products: Mapping[Unit, Product] = MappingProxyType({})) -> float:
        """About how long it takes; known: seconds of earlier runs by key, products: what was reached here."""
        return estimate_seconds(self.plan, known, products, self.machine.cpus * self.launcher.hosts)

    def own(self) -> dict[str, OwnStack]:
        """The user's own stacks that it measures, by name."""
        return {name: stack for name in self._names() if isinstance(stack := self.stacks[name], OwnStack)}

    def _names(self) -> list[str]:
        return sorted({planned.cell.stack for planned in self.plan.cells})

    def hashed(self) -> "Job":
        """The job with the fingerprints of its plan's stacks, so that no file of theirs is read for them again."""
        return self._replace(made_of={name: self.fingerprint(name) for name in self._names()})

    def fingerprint(self, name: str) -> str:
        """Fingerprint of the stack of this name."""
        return self.made_of.get(name) or self.launcher.fingerprint(self.stacks[name])

    def asked(self) -> str:
        """The digest of what the same words ask for, whatever machine and stacks there are."""
        own = {name: str(each.asked) for name, each in self.own().items()}
        return _digest([sys.argv[1:], self.plan.study.id, dict(self.plan.settings), own, self.facts.get("rerun_of")])

    def command(self) -> str:
        """The digest by which the same command finds its unfinished session; a changed stack is another command."""
        made_of = {name: self.fingerprint(name) for name in self._names()}
        seed = None if "rerun_of" in self.facts else self.plan.seed        # a rerun's is drawn each time
        return _digest([
            self.plan.record(), seed, self.plan.study.id, self.launcher.name, *map(str, self.folders.values()),
            made_of, self.machine._asdict(), *([dict(self.facts)] if self.facts else []),
            *([self.gpus.record()] if self.gpus.gpus else []), *self.launcher.record().values()])


def _digest(content: list[Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def planned(request: Request, say: Say, launcher: Launcher | None = None) -> Job:
    """The job without building anything; launcher: if it is known already. Raises InputError."""
    if request.models:
        own_models.check_settings(request.wishes.settings)
        words = own_models.words_of(request.models, request.wishes.stacks)
        chosen = own_stacks.chosen(words, definition.read_all(request.places.stacks), ROOT, NONE) if words else None
        settings = dict(request.wishes.settings)
        loops = settings.pop("loop", ())
        study, lanes = own_models.study(request.models, request.same, request.lanes,
                                        loops if isinstance(loops, tuple) else (loops,), settings.pop("measure", ""),
                                        chosen.named if chosen else (), say, request.options)
        wishes = request.wishes._replace(settings=settings)
        request = request._replace(wishes=wishes, data=own_models.data_of(request.models, request.data))
        return planned_study(study, request, say, lanes=lanes, chosen=chosen)

    if own_model.DATA in choice.names(request.data):
        raise InputError(f"--data {request.data}: found it with a study, expected a data set: it is of models of your "
                         "own, MODEL.py")

    say = cache(say)                    # what each scale's plan would tell of the launcher and the data
    read = partial(file.selected, request.study, request.places.studies, request.scale)
    there = None if "device" in request.wishes.settings else partial(read, on_gpu=True)
    job = planned_study(read(), request, say, launcher=launcher, there=there)
    return job if request.scale else _fitting(job, request, say)


def _fitting(job: Job, request: Request, say: Say) -> Job:
    """The job; where it takes over an hour here or nothing of it runs, that of the study's largest scale that does not.

    By guesses from FLOPs alone: earlier runs' times do not count, so that the same command resumes.
    """
    if job.plan.cells and job.seconds() <= HOUR:
        return job
    able = [job] if job.plan.cells else []
    for scale in file.scales(file.parted(request.study)[0], request.places.studies)[1:]:
        with suppress(InputError):                 # a scale without a cell of the experiments that were named
            able += [other for other in [planned(request._replace(scale=scale), say, job.launcher)] if other.plan.cells]
    short = [each for each in able if each.seconds() <= HOUR]
    chosen = max(short, key=Job.seconds) if short else min(able, key=Job.seconds, default=job)
    if chosen is not job:
        first = job.plan.study.scale
        why = f"takes about {formatting.seconds(job.seconds())}" if job.plan.cells else "cannot run"
        say(f"scale {chosen.plan.study.scale}: {first} {why} here; --scale {first} chooses it")
    return chosen


def planned_study(read: file.Study, request: Request, say: Say, names: Mapping[str, str] = MappingProxyType({}),
                  there: Callable[[], file.Study] | None = None,
                  lanes: Mapping[str, own_models.Named] = MappingProxyType({}),
                  launcher: Launcher | None = None, chosen: own_stacks.Chosen | None = None) -> Job:
    """The job of a study that is at hand, without building anything. Raises InputError.

    names: aliases: a separate stack in the plan, the same stack for the launcher. lanes: those of a user's own models.
    there: reads the study without a scale's moves to the CPU; preferred where this machine's GPUs run no fewer of its
    cells. chosen: the stacks of --stack, if they are known already.
    """
    here_gpus = nvml.observe()
    forms = (read, there()) if there and here_gpus.gpus else (read,)
    device = request.wishes.settings.get("device")
    is_of_gpus = device == "gpu" or (device is None and any(
        settings.get("device") == "gpu" for each in forms[-1].experiments for settings in each.combinations()))
    asked_about = here_gpus if is_of_gpus else NONE       # only then a user's framework is asked what it has for them
    chosen = chosen or own_stacks.chosen(
        request.wishes.stacks, definition.read_all(request.places.stacks), ROOT, asked_about)
    launcher = launcher or _launcher(request, say, here_gpus, chosen.named)
    here = launcher.machine(host.observe())
    data, *more = choice.several(request.data, cache_folder())
    baseline = request.wishes.baseline           # of lanes one, whose names are no short ones of stacks
    baseline = baseline if baseline in lanes else own_stacks.full_name(baseline, chosen.stacks, bool(asked_about.gpus))
    wishes = request.wishes._replace(
        baseline=baseline, settings={**request.wishes.settings, "data": data.name},
        stacks=() if lanes else chosen.names,
        data=tuple(each.name for each in (data, *more)))
    request = request._replace(wishes=wishes)
    stacks = {**chosen.stacks, **{name: chosen.stacks[of] for name, of in names.items() if of in chosen.stacks},
              **own_models.stacks_of(lanes, chosen.stacks, request.packages, say)}
    passed = passed_on(request.env)
    stacks = {name: stack.model_copy(update={"env": passed}) for name, stack in stacks.items()}
    shown = {name: own_models.shown(stack, lanes[name]) if name in lanes else stack.model_copy(update={"name": name})
             for name, stack in stacks.items()}
    made = of_fullest_form(forms, lambda form: plan(
        form, shown, here, wishes, lambda stack: launcher.of(stack).missing(stacks[stack.name]), here_gpus,
        launcher.hosts))
    launcher.check([planned.cell for planned in made.cells])
    facts = {**({"env": dict(passed)} if passed else {}),
             **({"with": list(request.packages)} if request.packages else {})}
    return Job(request, made, stacks, launcher, here, data, here_gpus, facts, tuple(more), () if lanes else forms)


def warnings(job: Job) -> list[str]:
    """What to know before the cells of a job start: of limits, variables, GPUs, and more CPUs than here."""
    limits = host.told_limits() if job.machine == host.observe() else ""
    left = left_behind(job.facts.get("env", ()), is_rerun="rerun_of" in job.facts)
    in_vain = "CUDA_VISIBLE_DEVICES" in os.environ and any(each.cell.device == "gpu" for each in job.plan.cells)
    hidden = ("CUDA_VISIBLE_DEVICES is set here and not heeded: cells take the first GPUs that run their stacks"
              if in_vain else "")
    return [*filter(None, [limits, left, hidden, own.warning(job.own().values())]),
            *too_large(job.plan, job.machine),
            *gpus.warnings((planned.cell for planned in job.plan.cells), job.stacks, job.gpus)]


def bench(job: Job, folder: Path, is_stopping: Callable[[], bool]) -> Bench:
    """What the job's runs are made with; folder: of the session."""
    zones = cpu_energy.zones() if job.launcher.has_gpus_here else {}
    return Bench(job.plan, job.stacks, job.launcher, job.data.folder, folder, job.request.going,
                 is_stopping=is_stopping, watches=lambda planned: gpu_watch(job, planned),
                 programs=programs.clocks, meters=lambda: cpu_energy.Meter(zones) if zones else None,
                 folders=job.folders)


def gpu_watch(job: Job, planned: Planned) -> telemetry.Watch | None:
    """Who watches the GPUs of a cell while it runs; None for a cell on CPUs."""
    if planned.cell.device != "gpu" or not job.launcher.has_gpus_here:
        return None
    own = gpus.assigned(planned.cell, job.stacks[planned.cell.stack], job.gpus)
    return telemetry.Watch(nvml.Reader(list(dict.fromkeys(gpu.board for gpu in own))))


def _launcher(request: Request, say: Say, here_gpus: Gpus, stacks: Sequence[definition.Stack]) -> Launcher:
    """The launcher that is asked for; what `auto` chose counts until the session of the same words is done."""
    begun = None
    if request.launcher == AUTO and not request.going.is_fresh:
        begun = sessions.unfinished(request.results, sys.argv[1:], "argv")
    if begun is None or begun.launcher not in LAUNCHERS:
        return choose.for_stacks(request.launcher, say, here_gpus, stacks)
    say(f"{begun.folder.name} began with launcher {begun.launcher} and goes on so")
    try:
        return choose.for_stacks(begun.launcher, say, here_gpus, stacks)
    except EngineUnreachable as error:
        raise EngineUnreachable(f"{error}; to begin a new session without an engine: --launcher {WITHOUT_ENGINE}"
                                ) from error
