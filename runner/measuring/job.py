"""From what the user asked to a session that is ready to run: study, stacks, launcher, data, plan, store."""

import fcntl
import hashlib
import json
import os
import re
import secrets
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

from runner import __version__, formatting, paths
from runner.datasets import choice
from runner.errors import BenchError, BuildFailed, Busy, DiskFull, EngineUnreachable, InputError, unknown
from runner.launchers import choose
from runner.launchers.protocol import Launcher
from runner.launchers.table import AUTO, LAUNCHERS, WITHOUT_ENGINE
from runner.machine import cpu_energy, gpus, hardware, host, nvml, programs, telemetry
from runner.machine.gpus import NONE, Gpus
from runner.measuring import at_once, own_models, own_stacks
from runner.measuring.bench import Bench, Request
from runner.paths import ROOT, STACKS, STUDIES, cache_folder, usable
from runner.planning.plan import Plan, Planned, estimate_seconds, of_fullest_form, plan, too_large
from runner.processes import Say, left_behind, passed_on
from runner.results import earlier_sessions, store
from runner.results.matrix_products import Product, Unit
from runner.stacks import definition, package_sources
from runner.stacks.own import OwnStack
from runner.study import file, selection
from workloads.spec import cell as cells
from workloads.spec import tasks
from workloads.spec.models import own_model

HOUR = 3600.0                    # a plan that takes longer is asked about, and another scale is chosen where none is


MACHINE = "evenbench-measuring"  # a name of the kernel's, of whoever measures on this machine
_ASK_AGAIN_SECONDS = 2.0


class Job(NamedTuple):
    """What a session needs, before its folder is chosen."""

    request: Request
    plan: Plan
    stacks: dict[str, definition.Stack]
    launcher: Launcher
    machine: host.Machine
    data: choice.Data
    gpus: Gpus = NONE
    facts: Mapping[str, Any] = MappingProxyType({})     # what else the session's record says, such as whose rerun it is
    more_data: tuple[choice.Data, ...] = ()             # for cells that say so
    forms: tuple[file.Study, ...] = ()                  # of the study, one of which was planned; (): that alone

    @property
    def folders(self) -> dict[str, Path]:
        """Where each data set lies, by its name."""
        return {each.name: each.folder for each in (self.data, *self.more_data)}

    def seconds(self, known: Mapping[str, float] = MappingProxyType({}),
                products: Mapping[Unit, Product] = MappingProxyType({})) -> float:
        """About how long it takes; known: seconds of earlier runs by key, products: what was reached here."""
        return estimate_seconds(self.plan, known, self.gpus, products, self.machine.cpus * self.launcher.hosts)

    def own(self) -> dict[str, OwnStack]:
        """The user's own stacks that it measures, by name."""
        return {name: stack for name in self._names() if isinstance(stack := self.stacks[name], OwnStack)}

    def _names(self) -> list[str]:
        return sorted({planned.cell.stack for planned in self.plan.cells})

    def command(self, as_asked: bool = False) -> str:
        """The fingerprint by which the same command finds its unfinished session; a changed stack is another one.

        as_asked: the user's own stacks count by what was asked for: another session's differs in those alone.
        """
        asked = {name: str(each.asked) for name, each in self.own().items()} if as_asked else {}
        made_of = {name: asked.get(name) or self.launcher.fingerprint(self.stacks[name]) for name in self._names()}
        seed = None if "rerun_of" in self.facts else self.plan.seed        # a rerun's is drawn each time
        content = [self.plan.record(), seed, self.plan.study.id, self.launcher.name, *map(str, self.folders.values()),
                   made_of, self.machine._asdict(), *([dict(self.facts)] if self.facts else []),
                   *([self.gpus.record()] if self.gpus.gpus else []), *self.launcher.record().values()]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


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
        values = tuple(dict.fromkeys(_value(pair, name, known[name], each) for each in text.split(",")))
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


def planned(request: Request, say: Say) -> Job:
    """The job without building anything. Raises InputError."""
    if request.models:
        own_models.check_settings(request.wishes.settings)
        words = own_models.words_of(request.models, request.wishes.stacks)
        chosen = own_stacks.chosen(words, definition.read_all(STACKS), ROOT, NONE) if words else None
        settings = dict(request.wishes.settings)
        loops = settings.pop("loop", ())
        study, lanes = own_models.study(request.models, request.same, request.lanes,
                                        loops if isinstance(loops, tuple) else (loops,), settings.pop("measure", ""),
                                        chosen.named if chosen else (), say, request.options)
        wishes = request.wishes._replace(settings=settings)
        return planned_study(study, request._replace(wishes=wishes), say, lanes=lanes, chosen=chosen)

    if own_model.DATA in choice.names(request.data):
        raise InputError(f"--data {request.data}: found it with a study, expected a data set: it is of models of your "
                         "own, MODEL.py")

    say = cache(say)                    # what each scale's plan would tell of the launcher and the data
    job = _at_scale(request, say)
    return job if request.scale else _fitting(job, request, say)


def _at_scale(request: Request, say: Say, launcher: Launcher | None = None) -> Job:
    read = partial(selection.read, request.study, STUDIES, request.scale)
    return planned_study(read(), request, say, launcher=launcher,
                         there=None if "device" in request.wishes.settings else partial(read, on_gpu=True))


def _fitting(job: Job, request: Request, say: Say) -> Job:
    """The job; where it takes over an hour here or nothing of it runs, that of the study's largest scale that does not.

    By guesses from FLOPs alone: earlier runs' times do not count, so that the same command resumes.
    """
    if job.plan.cells and job.seconds() <= HOUR:
        return job
    able = [job] if job.plan.cells else []
    for scale in file.scales(selection.parted(request.study)[0], STUDIES)[1:]:
        with suppress(InputError):                 # a scale without a cell of the experiments that were named
            able += [other for other in [_at_scale(request._replace(scale=scale), say, job.launcher)]
                     if other.plan.cells]
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

    names: aliases of stacks: separate stacks in the plan, one stack for the launcher.
    lanes: those of the user's own models, which are such names, too.
    chosen: what --stack chose, where that is known; its stacks are where lanes run.
    there: reads the study without a scale's moves to the CPU, taken where this machine's GPUs run no fewer of its
    cells.
    """
    here_gpus = nvml.observe()
    forms = (read, there()) if there and here_gpus.gpus else (read,)
    device = request.wishes.settings.get("device")
    is_of_gpus = device == "gpu" or (device is None and any(
        settings.get("device") == "gpu" for each in forms[-1].experiments for settings in each.combinations()))
    asked_about = here_gpus if is_of_gpus else NONE       # only then a user's framework is asked what it has for them
    chosen = chosen or own_stacks.chosen(request.wishes.stacks, definition.read_all(STACKS), ROOT, asked_about)
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
        form, shown, here, wishes, lambda stack: launcher.missing(stacks[stack.name]), here_gpus, launcher.hosts))
    launcher.check([planned.cell for planned in made.cells])
    facts = {**({"env": dict(passed)} if passed else {}),
             **({"with": list(request.packages)} if request.packages else {})}
    return Job(request, made, stacks, launcher, here, data, here_gpus, facts, tuple(more), forms)


def unbuilt(stacks: Mapping[str, definition.Stack], launcher: Launcher, say: Say) -> dict[str, str]:
    """Why each stack that the launcher has not built cannot be built here, by its name. Raises DiskFull."""
    def build(name: str) -> str:
        try:
            launcher.prepare([stacks[name]], say)
        except DiskFull:
            raise
        except BenchError as error:
            say(f"{name}: {str(error).removeprefix(f'{name}: ')}")
            return str(error)
        return ""

    reasons = at_once.each(launcher.builds_at_once, build, stacks)
    return {name: reason for name, reason in zip(stacks, reasons, strict=True) if reason}


def buildable(stacks: list[definition.Stack], launcher: Launcher, say: Say) -> list[definition.Stack]:
    """The stacks that the launcher has built or can build here; the others are told with the reason."""
    failures = unbuilt({each.name: each for each in stacks}, launcher, say)
    return [each for each in stacks if each.name not in failures]


def prepared(job: Job, say: Say) -> Job:
    """The job with its data there and every stack built; one that cannot be is skipped with the reason.

    Raises InputError where the cache cannot be used, DiskFull, BuildFailed.
    """
    cache = usable(cache_folder())
    if choice.STAND_IN in job.folders:
        choice.digits32(cache, say)
    for folder in job.folders.values():
        if folder.is_relative_to(cache) and folder.is_dir():
            paths.let_all_read(folder)
    job.launcher.check_data(job.folders.values())
    failures: dict[str, str] = {}
    tried: set[str] = set()
    while names := [name for name in dict.fromkeys(planned.cell.stack for planned in job.plan.cells)
                    if name not in tried]:
        tried.update(names)
        if new := unbuilt({name: job.stacks[name] for name in names}, job.launcher, say):
            failures.update(new)
            job = job._replace(plan=_without(job, failures))
    if failures and not job.plan.cells:
        raise BuildFailed(next(iter(failures.values())))
    return job


def ahead(job: Job) -> list[str]:
    """What to know before the stacks of a job are built: which are not built here, their size, what cannot be had."""
    names = dict.fromkeys(planned.cell.stack for planned in job.plan.cells)
    pinned = {stack.name: stack for name in names if isinstance(stack := job.stacks[name], definition.PinnedStack)}
    unbuilt = [stack for stack in pinned.values() if not job.launcher.of(stack).is_built(stack)]
    if not unbuilt:
        return []
    sizes = ", ".join(f"{stack.name} {stack.size.wheels_bytes / 1e9:.1f} GB" for stack in unbuilt)
    lacking = package_sources.not_had(unbuilt, package_sources.pip_settings())
    return [f"to build first, with the size on disk: {sizes}", *(f"{name}: {why}" for name, why in lacking.items())]


def _without(job: Job, failures: Mapping[str, str]) -> Plan:
    """The job's plan without stacks that cannot be built: a form of the study with other stacks may have more cells."""
    if not job.plan.study.experiments:
        return job.plan.without(failures)
    return of_fullest_form(job.forms or (job.plan.study,), lambda form: plan(
        form, job.stacks, job.machine, job.request.wishes,
        lambda stack: failures.get(stack.name) or job.launcher.missing(stack), job.gpus, job.launcher.hosts))


def warnings(job: Job) -> list[str]:
    """What to know before the cells of a job start: of limits, variables, GPUs, and more CPUs than here."""
    limits = host.told_limits() if job.machine == host.observe() else ""
    return [*filter(None, [limits, left_behind(job.request.env)]), *too_large(job.plan, job.machine),
            *gpus.warnings((planned.cell for planned in job.plan.cells), job.stacks, job.gpus)]


def bench(job: Job, folder: Path, is_stopping: Callable[[], bool]) -> Bench:
    """What the job's runs are made with; folder: of the session."""
    zones = cpu_energy.zones() if job.launcher.has_gpus_here else {}
    return Bench(job.plan, job.stacks, job.launcher, job.data.folder, folder, job.request.going,
                 is_stopping=is_stopping, watches=lambda planned: gpu_watch(job, planned),
                 programs=programs.clocks if job.launcher.measures_here else lambda: None,
                 meters=lambda: cpu_energy.Meter(zones) if zones else None, folders=job.folders)


def gpu_watch(job: Job, planned: Planned) -> telemetry.Watch | None:
    """Who watches the GPUs of a cell while it runs; None for a cell on CPUs."""
    if planned.cell.device != "gpu" or not job.launcher.has_gpus_here:
        return None
    own = gpus.assigned(planned.cell, job.stacks[planned.cell.stack], job.gpus)
    return telemetry.Watch(nvml.Reader(list(dict.fromkeys(gpu.board for gpu in own))))


def session_record(job: Job, folder: Path, is_resumed: bool) -> store.Record:
    """The first record of a session."""
    return {"event": "session", "schema": store.SCHEMA, "id": folder.name, "study": job.plan.study.id,
            "scale": job.plan.study.scale, "seed": job.plan.seed, "evenbench": __version__, "argv": sys.argv[1:],
            "began": datetime.now(UTC).isoformat(timespec="seconds"), "machine": job.machine._asdict(),
            "launcher": job.launcher.name, "governor": host.governor(), "command": job.command(),
            "hardware": hardware.hardware(), "harness": _harness(), "resumed": is_resumed,
            **({"own": {name: each.record() for name, each in own.items()}, "asked_command": job.command(as_asked=True)}
               if (own := job.own()) else {}),
            **({"data": job.request.data} if job.request.data else {}), **job.facts,
            **job.launcher.record(), **({"gpus": job.gpus.record()} if job.gpus.gpus else {})}


def _harness() -> dict[str, Any]:
    """Which revision of evenbench measures, and whether its files were changed since; {} where nothing says it."""
    if (ROOT / ".git").exists():
        try:
            commit, changes = (subprocess.check_output(["git", *git], text=True, stderr=subprocess.PIPE, cwd=ROOT)
                               for git in (("rev-parse", "HEAD"), ("status", "--porcelain")))
        except (OSError, subprocess.CalledProcessError):
            return {}
        return {"commit": commit.strip(), "changed": bool(changes.strip())}
    try:                     # what an installed one was built from, as hatch_build.py wrote it down
        told = json.loads((ROOT / "runner" / "revision.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: told[name] for name in ("commit", "changed", "version") if name in told}


def resumable(job: Job, say: Say) -> earlier_sessions.Kept | None:
    """What an unfinished session of the same command left; why one does not go on is said."""
    results = job.request.results
    same = earlier_sessions.unfinished(results, job.command())
    kept = same or (earlier_sessions.unfinished(results, job.command(as_asked=True), "asked_command") if job.own()
                    else None)
    if kept is None:
        return None
    changes = own_stacks.changes(earlier_sessions.of(kept.folder).first, job.stacks)
    if same:
        now = {name: job.launcher.image(job.stacks[name]) for name in kept.images if name in job.stacks}
        others = [name for name, image in now.items() if image and image != kept.images[name]]
        changes = [f"{', '.join(others)}: another image or environment than the session's"] if others else []
    for line in changes:
        say(f"{line}; so {kept.folder.name} is not resumed and a new session begins")
    return None if changes else same


def _launcher(request: Request, say: Say, here_gpus: Gpus, stacks: Sequence[definition.Stack]) -> Launcher:
    """The launcher that is asked for; what `auto` chose counts until the session of the same words is done."""
    begun = None
    if request.launcher == AUTO and not request.going.is_fresh:
        begun = earlier_sessions.unfinished(request.results, sys.argv[1:], "argv")
    if begun is None or begun.launcher not in LAUNCHERS:
        return choose.for_stacks(request.launcher, say, here_gpus, stacks)
    say(f"{begun.folder.name} began with launcher {begun.launcher} and goes on so")
    try:
        return choose.for_stacks(begun.launcher, say, here_gpus, stacks)
    except EngineUnreachable as error:
        raise EngineUnreachable(f"{error}; to begin a new session without an engine: --launcher {WITHOUT_ENGINE}"
                                ) from error


def new_folder(job: Job) -> Path:
    """results/<time>-<study>-<4 hex digits>; a study that a stranger's record names leads nowhere else."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", job.plan.study.id)[:64]
    return job.request.results / f"{moment}-{name}-{secrets.token_hex(2)}"


def resumed(job: Job, kept: earlier_sessions.Kept) -> Job:
    """The job in the orders of the session that it goes on with: a rerun's are drawn when it begins."""
    return job if kept.seed is None else job._replace(plan=job.plan._replace(seed=kept.seed))


@contextmanager
def measuring_alone(folder: Path, on_this_machine: bool = True, waits: bool = False,
                    say: Say = lambda line: None) -> Iterator[None]:
    """Keep a second session out, which would measure this one, of whatever user and cache; folder: kept by a lock, too.

    on_this_machine: the launcher's runs are here. waits: until the other session has ended. Raises Busy.
    """
    folder.mkdir(parents=True, exist_ok=True)
    told: list[str] = []
    with ExitStack() as held:
        while busy := (_holder_of_machine(held) if on_this_machine else "") or _holder_of(folder, held, say):
            held.close()
            if not waits:
                raise Busy(f"another evenbench session ({busy}) is measuring on this machine: --wait begins when it "
                           "has ended")
            if busy not in told:
                say(f"waiting for another evenbench session ({busy})")
                told.append(busy)
            time.sleep(_ASK_AGAIN_SECONDS)
        yield


def _holder_of_machine(held: ExitStack) -> str:
    """Who measures on this machine; "" where this process does from now on, until held is closed.

    A name that the kernel keeps for one process, whichever user's, and that goes with it: no file, no folder (unix(7)).
    """
    mine = held.enter_context(socket.socket(socket.AF_UNIX))
    try:
        mine.bind(f"\0{MACHINE}")
        mine.listen()
        return ""
    except OSError:
        with socket.socket(socket.AF_UNIX) as other:
            other.settimeout(1.0)
            try:
                other.connect(f"\0{MACHINE}")
                pid, uid, _ = struct.unpack("3i", other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                return f"process {pid}" + ("" if uid == os.getuid() else f" of user {uid}")
            except OSError:                        # it has just ended, or does not answer
                return "of another process"


def _holder_of(folder: Path, held: ExitStack, say: Say) -> str:
    """Who has the folder's lock; "" where this process has it from now on; said where the file system has no locks."""
    lock = held.enter_context(_lock_file(folder / "measuring.lock"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        return lock.read().strip()
    except OSError as error:
        say(f"{lock.name}: its file system has no locks ({error.strerror}): nobody keeps a second session out")
    if lock.writable():
        lock.truncate(0)
        with suppress(OSError):                # the disk is full: then the one who waits is not told for whom
            os.write(lock.fileno(), f"process {os.getpid()}".encode())
    return ""


def _lock_file(path: Path) -> IO[str]:
    """The file, which may be another user's: to lock it, reading it suffices."""
    try:
        return path.open("a+")
    except PermissionError:
        return path.open()
