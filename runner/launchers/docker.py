"""Runs cells in fresh containers: pinned CPUs, memory without swap, no way out, nothing to write to."""

import copy
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from runner import leftovers
from runner.errors import BenchError, EngineUnreachable, ImageMissing, InputError
from runner.launchers import kernel_cache
from runner.launchers.line_queue import Pipe, lines_of_chunks
from runner.launchers.protocol import Exit, Launcher, Running
from runner.machine import gpus, topology
from runner.machine.cpu_sets import Share, reporters, servers, shared
from runner.machine.host import Machine
from runner.paths import cache_folder
from runner.results.error_output import ErrorOutput, Written
from runner.stacks import images
from runner.stacks import own as own_stacks
from runner.stacks.definition import Stack, fingerprint, pinned
from runner.stacks.engine import (
    APIError,
    Container,
    DockerClient,
    DockerException,
    Network,
    NotFound,
    Waiting,
    aliased,
    gpu_request,
    image_id,
    unlimited_memlock,
)
from runner.stacks.own import Asked, OwnStack
from workloads.spec import cluster, placement, turns
from workloads.spec.cell import Cell

OWNER = "org.evenbench.owner"       # the runner whose container it is, as runner/leftovers.py names it
RUN = "org.evenbench.run"
_LAST_WORDS = 400                   # characters of standard error that an ending quotes
_WRITABLE = {"/tmp": "rw,exec,nosuid,nodev,size=1g,mode=1777"}      # exec: torch.compile loads what it compiles

# what every container of ours is created with, whatever it does: nothing to write to, and nobody to become
CONFINED: dict[str, Any] = {
    "read_only": True, "tmpfs": _WRITABLE, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges"],
    "pids_limit": 4096, "init": True}

# how a container that only answers a question is started
_QUESTION: dict[str, Any] = {"command": [], "network_mode": "none", "remove": True, **CONFINED}
_PYTHONS = ("python", "python3")
_MOST_SHARES = 262144               # of the kernel's cpu.shares
_WORKLOADS = "/opt/evenbench"       # where the workloads lie in an image that is not ours


class DockerLauncher(Launcher):
    """Launches workers in images of the stacks."""

    name = "docker"
    takes = frozenset({own_stacks.PINNED, own_stacks.IMAGE})
    checks_at_once = 2               # a check is an import above all, which is on one CPU
    divides_gpus = runs_programs = tells = True

    def __init__(self, client: DockerClient, gpus: gpus.Gpus = gpus.NONE, cache: Path | None = None) -> None:
        """gpus: those that cells get; cache: the folder that keeps compiled kernels."""
        self._client, self._gpus, self._cache = client, gpus, cache or cache_folder()
        self._waiting = Waiting(client)
        self._images: dict[str, images.Image] = {}
        self._engine = ""              # its version, once it was asked

    def with_gpus(self, gpus: gpus.Gpus) -> Self:
        """As protocol.Launcher."""
        other = copy.copy(self)
        other._gpus = gpus
        return other

    def machine(self, here: Machine) -> Machine:
        """What of this machine the engine has: where it runs in a virtual one, that is less."""
        engine = self._client.info()
        return here._replace(cpus=min(here.cpus, engine["NCPU"]),
                             memory_bytes=min(here.memory_bytes, engine["MemTotal"]))

    def missing(self, stack: Stack) -> str | None:
        """Why its image cannot be built, where that is known; else prepare builds it, and a failed build says why."""
        return stack.foreign or stack.unbuildable

    def prepare(self, stacks: list[Stack], say: Callable[[str], None]) -> None:
        """Build images that are missing or old, and remove what runners that are gone have left."""
        sweep(self._client, say)
        leftovers.sweep_folders(say)
        for stack in stacks:
            self._images[stack.name] = (_own_image(stack) if isinstance(stack, OwnStack)
                                        else images.build(self._client, pinned(stack), say))

    def fingerprint(self, stack: Stack) -> str:
        """The Dockerfile, the locks and the workloads."""
        return fingerprint(stack)

    def image(self, stack: Stack) -> str:
        """As protocol.Launcher."""
        return self._images[stack.name].id if stack.name in self._images else ""

    def start(self, cell: Cell, stack: Stack, data: Path, run: str,
              module: str = "workloads", padding: int = 0, listens: bool = False) -> "DockerRunning":
        """Start a container a place, on a network of their own where there are many. Raises BenchError.

        Once more where the engine went away meanwhile and is back.
        """
        if not self._waiting.is_back():
            raise EngineUnreachable("the engine does not answer: look at `docker info`")
        absences = self._waiting.absences
        try:
            return self._started(cell, stack, data, run, module, padding, listens)
        except EngineUnreachable:
            if not self._waiting.is_back() or self._waiting.absences == absences:
                raise
            return self._started(cell, stack, data, run, module, padding, listens)

    def _started(self, cell: Cell, stack: Stack, data: Path, run: str, module: str, padding: int, listens: bool,
                 ) -> "DockerRunning":
        image = self._images.get(stack.name) or self._image(stack)
        share = shared(cell, os.sched_getaffinity(0), topology.observe())
        record = {"launcher": self.name, "isolation": self.name, "image": image.id, "base": image.base,
                  "base_is_default": image.base_is_default, "stack_version": stack.version,
                  "fingerprint": image.fingerprint, "cpu_quota": share.quota,
                  "engine": f"Docker {self._engine_version()}".strip(), **share.record(),
                  **own_stacks.run_record(stack)}
        places = cluster.places(stack.framework, cell.parallel, cell.nodes)
        own = gpus.assigned(cell, stack, self._gpus) if cell.device == "gpu" else ()
        running = DockerRunning(self._client, self._waiting, places,
                                {**record, **({"gpus": [gpu.uuid for gpu in own]} if own else {})})
        try:
            kernels = kernel_cache.folder(stack, self._cache) if own else None
            each_settings = [with_workloads(on_gpus(
                settings(cell, data, run, each, places, share, module, padding, stack.env), own, kernels), stack)
                for each in places]
            running.create(image.id, [held(each, listens) for each in each_settings])
        except BaseException as error:
            running.stop()
            if isinstance(error, DockerException | OSError):       # requests' errors are OSErrors
                raise EngineUnreachable(f"the engine did not start a container: {explained(error)}"
                                        f"{_toolkit(explained(error))}") from error
            raise
        return running

    def _engine_version(self) -> str:
        """What the engine says of itself; "" where it says nothing."""
        if not self._engine:
            with suppress(DockerException, OSError):
                self._engine = str(self._client.version().get("Version") or "")
        return self._engine

    def _image(self, stack: Stack) -> images.Image:
        """The stack's image on this engine. Raises ImageMissing."""
        if isinstance(stack, OwnStack):
            return _own_image(stack)
        image = images.find(self._client, pinned(stack))
        if image is None:
            raise ImageMissing(f"stack {stack.name} has no image here: run `evenbench images {stack.name}`")
        return image

    def output(self, stack: Stack, module: str) -> bytes:
        """As protocol.Launcher, in a container."""
        image = self._images[stack.name]
        try:
            return bytes(self._client.containers.run(image.id, **with_workloads(
                {"entrypoint": ["python", "-m", module], **_QUESTION, "labels": {OWNER: leftovers.mine()}}, stack)))
        except (DockerException, OSError) as error:
            raise BenchError(f"{stack.name}: {module}: {explained(error)}") from error


def own_stack(client: DockerClient, asked: Asked, root: Path, own: Sequence[gpus.Gpu]) -> OwnStack:
    """The stack of an image of the user's, which tells what it holds. own: the machine's GPUs. Raises BenchError."""
    identity = image_id(client, asked.image)
    if identity is None:
        raise InputError(f'--stack {asked}: this engine has no image "{asked.image}": `docker images` shows what there '
                         f"is, `docker pull {asked.image}` may bring it")
    for python in _PYTHONS:
        answer = _output_of(client, identity, [python, "-m", own_stacks.INVENTORY], root, {})
        if answer is not None:
            break
    else:
        raise InputError(f"--stack {asked}: found no Python 3.6 or newer in the image that tells what it holds; tried "
                         f"{' and '.join(_PYTHONS)}")
    held = own_stacks.inventory(asked, answer)
    code = None
    if own:
        package = own_stacks.framework_package(asked, held)
        said = _output_of(client, identity, [python, "-m", own_stacks.DEVICES, package], root,
                        {"device_requests": [gpu_request([gpu.uuid for gpu in own])]})
        code = own_stacks.gpu_code(asked, said)
    return own_stacks.stack(asked, root, held, python, code, identity)


def _output_of(client: DockerClient, image: str, command: list[str], root: Path, more: dict[str, Any]) -> bytes | None:
    """What a program prints in a container of the user's image, None where it fails."""
    try:
        return bytes(client.containers.run(image, **{
            "entrypoint": command, **_QUESTION, "labels": {OWNER: leftovers.mine()}, **_mounted(root), **more}))
    except (DockerException, OSError):
        return None


def _own_image(stack: OwnStack) -> images.Image:
    """An image of the user's, which is as it is."""
    return images.Image(stack.image, stack.asked.image, stack.asked.image, False, fingerprint(stack))


def with_workloads(settings: dict[str, Any], stack: Stack) -> dict[str, Any]:
    """A container's settings; a container of the user's image also gets the workloads, to be read alone."""
    if not isinstance(stack, OwnStack):
        return settings
    extra = _mounted(stack.root)
    return {**settings, "entrypoint": [stack.interpreter, *settings["entrypoint"][1:]],
            "volumes": {**settings.get("volumes", {}), **extra["volumes"]}, "working_dir": extra["working_dir"],
            "environment": {**extra["environment"], **own_stacks.variables(stack), **settings.get("environment", {})}}


def _mounted(root: Path) -> dict[str, Any]:
    """What lets an image that is not ours run the workloads."""
    return {"volumes": {str(root / "workloads"): {"bind": f"{_WORKLOADS}/workloads", "mode": "ro"}},
            "environment": {"PYTHONPATH": _WORKLOADS, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
                            "HOME": "/tmp"},
            "working_dir": "/tmp"}


def settings(cell: Cell, data: Path, run: str, place: cluster.Place, places: tuple[cluster.Place, ...], share: Share,
             module: str = "workloads", padding: int = 0, passed: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    """What a place's container is created with: no more than it needs."""
    rank = places.index(place)
    name = run_name(run)
    # processes of one place find each other by the host's name, which must mean something
    network: dict[str, Any] = {"network_mode": "none", "hostname": "localhost"}
    environment = placement.variables(padding, passed)
    if len(places) > 1:
        network = {"network": name, "hostname": place.name, "nano_cpus": _nano(share.quota),
                   "networking_config": {name: aliased(place.name)}}
        environment = {**environment, "EVENBENCH_NODES": ",".join(each.name for each in places),
                       "EVENBENCH_RANK": str(rank)}
    return {
        "entrypoint": ["python", "-m", module],
        "command": [json.dumps(cell._asdict())],
        "name": f"{name}-{place.name}" if len(places) > 1 else name,
        "labels": {OWNER: leftovers.mine(), RUN: run},
        "cpuset_cpus": ",".join(map(str, share.cpus(rank))),
        "cpu_shares": _MOST_SHARES,                     # other containers of this engine wait
        "mem_limit": cell.memory_bytes or None,
        "memswap_limit": cell.memory_bytes or None,      # equal to the memory: no swap
        **CONFINED,
        "volumes": {str(data): {"bind": "/data", "mode": "ro"}},
        "log_config": {"Type": "none"},                 # lines come by the attached stream; a log would be disk work
        **network,
        **({"environment": environment} if environment else {}),
    }


def on_gpus(settings: dict[str, Any], own: Sequence[gpus.Gpu], kernels: Path | None) -> dict[str, Any]:
    """A container's settings with these GPUs and the folder that keeps compiled kernels; without GPUs, unchanged.

    Several GPUs exchange by shared and pinned memory, of which the engine gives 64 MB and the host's usual limit:
    NCCL's guide asks for these (troubleshooting, "Docker").
    """
    if not own:
        return settings
    several = {"shm_size": "1g", "ulimits": [unlimited_memlock()]} if len(own) > 1 else {}
    volume = {str(kernels): {"bind": kernel_cache.INSIDE, "mode": "rw"}} if kernels else {}
    variable = {kernel_cache.VARIABLE: kernel_cache.INSIDE} if kernels else {}
    return {**settings, "device_requests": [gpu_request([gpu.uuid for gpu in own])], **several,
            "volumes": {**settings["volumes"], **volume},
            "environment": {**settings.get("environment", {}), **variable}}


def held(settings: dict[str, Any], listens: bool = False) -> dict[str, Any]:
    """A container's settings, with a standard input that closes with the runner, and the worker then ends."""
    return {**settings, "stdin_open": True,
            "environment": {**settings.get("environment", {}), turns.VARIABLE if listens else turns.ENDS: "1"}}


def _toolkit(explanation: str) -> str:
    """What mends an engine that cannot give a container GPUs; "" for any other explanation."""
    if "could not select device driver" not in explanation:
        return ""
    return (": install nvidia-container-toolkit, then run `sudo nvidia-ctk runtime configure --runtime=docker && "
            "sudo systemctl restart docker`")


def _nano(cpus: float | None) -> int | None:
    return None if cpus is None else int(cpus * 1e9)


def run_name(run: str) -> str:
    """The name of a run's network, and of its container before its place's."""
    return f"evenbench-{run.replace('.', '-')}-{os.getpid()}"


def explained(error: Exception) -> str:
    """The engine's own words on one line."""
    text = error.explanation if isinstance(error, APIError) and error.explanation else str(error)
    return " ".join(str(text).split())[:300]


def sweep(client: DockerClient, say: Callable[[str], None]) -> int:
    """Remove the containers and networks of runners that no longer live; how many containers."""
    removed = 0
    for container in client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True):
        if leftovers.is_gone(container.labels[OWNER]):
            say(f"engine: removing {container.name}, left by a runner that is gone")
            _remove(container)
            removed += 1
    for network in client.networks.list(filters={"label": OWNER}):
        if leftovers.is_gone(network.attrs["Labels"][OWNER]):
            _remove_network(network)
    return removed


def left(client: DockerClient) -> int:
    """How many containers are there of runners that no longer live."""
    return sum(leftovers.is_gone(each.labels[OWNER]) for each in
               client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True))


def _remove_network(network: Network) -> None:
    try:
        network.remove()
    except (NotFound, APIError):
        pass      # a container that is being removed still holds it: the next sweep takes it


def _remove(container: Container) -> None:
    try:
        container.remove(force=True, v=True)
    except (NotFound, APIError):
        pass      # it is being removed already


class DockerRunning(Running):
    """The containers of a run, and their network."""

    def __init__(self, client: DockerClient, waiting: Waiting, places: tuple[cluster.Place, ...],
                 record: dict[str, Any]) -> None:
        self.place = record
        self._waiting, self._absences = waiting, waiting.absences
        self.reporters, self.servers = reporters(places), servers(places)
        self._names = [each.name for each in places]
        self._client = client
        self._pipe = Pipe()
        self._network: Network | None = None
        self._containers: dict[str, _Container] = {}

    def create(self, image: str, each: list[dict[str, Any]]) -> None:
        """Create and start a container a place, one after the other: the first imports while the last is made.

        Raises DockerException; what was made is stop's to remove.
        """
        if "network" in each[0]:
            self._network = self._client.networks.create(each[0]["network"], internal=True, labels=each[0]["labels"])
        for name, how in zip(self._names, each, strict=True):
            container = self._containers[name] = _Container(self._client.containers.create(image, **how))
            self._pipe.add(name, container.attached(self._client))
            container.hold(self._client)
            container.container.start()

    def next_line(self, seconds: float) -> tuple[str, bytes] | None:
        """As protocol.Running."""
        return self._pipe.next(seconds)

    def tell(self, words: str) -> None:
        """As protocol.Running."""
        for container in self._containers.values():
            container.tell(words)

    def exit(self, place: str, seconds: float) -> Exit:
        """As protocol.Running. An engine that hangs is not asked: each question would take a minute."""
        container = self._containers[place]
        return container.exit(seconds) if self._waiting.answers() else container.gone("its engine does not answer")

    def is_lost(self) -> bool:
        """As protocol.Running."""
        return self._waiting.is_back() and self._waiting.absences != self._absences

    def trouble(self) -> dict[str, str]:
        """As protocol.Running."""
        if not self._waiting.answers():
            return {}
        has_network = len(self._containers) > 1
        troubles = {name: container.trouble(has_network) for name, container in self._containers.items()}
        return {name: trouble for name, trouble in troubles.items() if trouble}

    def used(self) -> dict[str, dict[str, int | None]]:
        """As protocol.Running, of the places that serve: the others say it themselves."""
        asked = self.servers if self.servers and self._waiting.answers() else ()
        return {name: {"group_peak_bytes": self._containers[name].peak_bytes()} for name in asked}

    def errors(self) -> dict[str, Written]:
        """As protocol.Running."""
        return {name: container.errors.written() for name, container in self._containers.items()}

    def stop(self) -> None:
        """Remove the containers and their network, after waiting for an engine that is being restarted.

        What is left by one that stays away is for the next session's sweep.
        """
        self._pipe.close()
        for container in self._containers.values():
            container.close()                         # first: the engine removes no container whose output nobody takes
        if self._waiting.is_back():
            with suppress(OSError):
                self._remove()

    def _remove(self) -> None:
        for container in self._containers.values():
            _remove(container.container)
        if self._network is not None:
            _remove_network(self._network)


class _Container:
    """A place's container."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.errors = ErrorOutput()
        self._stream: Any = None
        self._input: Any = None

    def attached(self, client: DockerClient) -> Iterator[bytes]:
        """Its lines. Attached before the start, so that none is missed."""
        self._stream = client.api.attach(str(self.container.id), stdout=True, stderr=True, stream=True, demux=True)
        return lines_of_chunks(self._outputs())

    def hold(self, client: DockerClient) -> None:
        """Attach to its standard input, before the start."""
        self._input = client.api.attach_socket(str(self.container.id), params={"stdin": 1, "stream": 1})

    def tell(self, words: str) -> None:
        """Write a line to its standard input."""
        with suppress(OSError):              # it is gone
            self._input._sock.sendall(words.encode() + b"\n")

    def _outputs(self) -> Iterator[bytes]:
        """Standard output's chunks; standard error's are kept, bounded."""
        for output, error in self._stream:
            if error:
                self.errors.add(error)
            if output:
                yield output

    def exit(self, seconds: float) -> Exit:
        try:
            if seconds:
                self._wait(seconds)
            self.container.reload()
        except (DockerException, OSError) as error:      # removed, or the engine does not answer
            return self.gone(explained(error))
        state = self.container.attrs["State"]
        code = None if state["Running"] else int(state["ExitCode"])
        return Exit(code, bool(state["OOMKilled"]), self.errors.last_words(_LAST_WORDS))

    def gone(self, why: str) -> Exit:
        """How it ended is not known."""
        return Exit(None, is_gone=True, last_words=self.errors.last_words(_LAST_WORDS) or why)

    def _wait(self, seconds: float) -> None:
        """Wait until it has ended, at most these seconds."""
        try:
            self.container.wait(timeout=seconds)
        except OSError:
            pass                                         # the time is over

    def trouble(self, has_network: bool) -> str:
        """What is wrong with a container that should be working, "" if nothing is seen."""
        try:
            self.container.reload()
        except (DockerException, OSError):
            return "is gone"
        if self.container.attrs["State"]["Paused"]:
            return "is paused"
        if has_network and self.container.attrs["State"]["Running"] and not self.container.attrs["NetworkSettings"][
                "Networks"]:
            return "is cut from the network"
        return ""

    def peak_bytes(self) -> int | None:
        """The most memory that it held so far; None where the engine does not say (control groups v2)."""
        try:
            stats: Any = self.container.stats(stream=False, one_shot=True)
            peak = stats["memory_stats"].get("max_usage")
        except (DockerException, OSError, KeyError):
            return None
        return None if peak is None else int(peak)

    def close(self) -> None:
        """Stop listening."""
        if self._input is not None:
            self._input.close()
        if self._stream is not None:
            try:
                self._stream.close()
            except OSError:
                pass                         # the engine has closed it already
            self._stream._response.close()   # the stream's own close leaves its descriptor to the collector
