"""Runs cells in fresh containers: pinned CPUs, memory without swap, no way out, nothing to write to."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from runner import leftovers
from runner.errors import EngineUnreachable
from runner.launchers import kernel_cache
from runner.launchers.line_queue import lines_of_chunks
from runner.launchers.protocol import Exit, HostLauncher, Order, Running, Worker
from runner.machine import gpus
from runner.machine.cpu_sets import Share
from runner.machine.host import Machine
from runner.processes import Say
from runner.stacks import engine, images
from runner.stacks import own as own_stacks
from runner.stacks.containers import CONFINED, OWNER, left, mounted, remove
from runner.stacks.definition import PinnedStack, Stack, pinned
from runner.stacks.engine import DockerClient, DockerException
from runner.stacks.own import OwnStack
from workloads.spec import turns

RUN = "org.evenbench.run"
GONE = ("killed", "its container is gone, or the engine that ran it")      # the ending where nobody knows how it went
_MOST_SHARES = 262144               # of the kernel's cpu.shares


class DockerLauncher(HostLauncher):
    """Launches workers in images of the stacks."""

    name = "docker"
    takes = frozenset({own_stacks.PINNED, own_stacks.IMAGE})

    def __init__(self, client: DockerClient, gpus: gpus.Gpus = gpus.NONE, cache: Path | None = None) -> None:
        super().__init__(cache, gpus)
        self._client = client
        self._waiting = engine.Waiting(client)
        self._engine = ""              # its version, once it was asked

    @classmethod
    def made(cls, here: gpus.Gpus, options: Sequence[str]) -> Self:
        return cls(engine.connect(), here)

    def machine(self, here: Machine) -> Machine:
        """What of this machine the engine has: where it runs in a virtual one, that is less. Raises BenchError."""
        here, said = super().machine(here), engine.told_here(self._client)
        return here._replace(cpus=min(here.cpus, said["NCPU"]), memory_bytes=min(here.memory_bytes, said["MemTotal"]))

    def missing(self, stack: Stack) -> str | None:
        """Why its image cannot be built, where that is known; else prepare builds it, and a failed build says why."""
        return stack.foreign or stack.unbuildable

    def is_built(self, stack: PinnedStack) -> bool:
        return images.is_current(self._client, stack)

    def prepare(self, stacks: list[Stack], say: Say) -> None:
        """Build images that are missing or old, and remove what runners that are gone have left."""
        sweep(self._client, say)
        super().prepare(stacks, say)

    def _made(self, stack: Stack, say: Say) -> images.Image:
        return _own_image(stack) if isinstance(stack, OwnStack) else images.build(self._client, pinned(stack), say)

    def image(self, stack: Stack) -> str:
        return self._prepared[stack.name].id if stack.name in self._prepared else ""

    def begin(self, order: Order) -> "DockerRunning":
        """Start a container a place, on a network of their own where there are many. Raises BenchError.

        Once more where the engine went away meanwhile and is back.
        """
        if not self._waiting.is_back():
            raise EngineUnreachable("the engine does not answer: look at `docker info`")
        absences = self._waiting.absences
        try:
            return self._begun(order)
        except EngineUnreachable:
            if not self._waiting.is_back() or self._waiting.absences == absences:
                raise
            return self._begun(order)

    def _begun(self, order: Order) -> "DockerRunning":
        image = self._prepared.get(order.stack.name) or (
            _own_image(order.stack) if isinstance(order.stack, OwnStack)
            else images.found(self._client, pinned(order.stack)))
        try:
            share, own, kernels = self._given(order)
            record = {"image": image.id, "base": image.base, "base_is_default": image.base_is_default,
                      "cpu_quota": share.quota, "engine": f"Docker {self._engine_version()}".strip(),
                      **self._record(order, share, own), "fingerprint": image.fingerprint}
            each = [{"image": image.id, **settings(order, rank, share, own, kernels)} for rank in order.ranks]
            return DockerRunning(self._client, self._waiting, order, record, each)
        except (DockerException, OSError) as error:                # requests' errors are OSErrors
            reason = engine.explained(error)
            mend = f": {engine.NEEDS_TOOLKIT}" if "could not select device driver" in reason else ""
            raise EngineUnreachable(f"the engine did not start a container: {reason}{mend}") from error

    def _engine_version(self) -> str:
        """What the engine says of itself; "" where it says nothing, and it is asked again then."""
        if not self._engine:
            with suppress(DockerException, OSError):
                self._engine = str(self._client.version().get("Version") or "")
        return self._engine


def _own_image(stack: OwnStack) -> images.Image:
    """An image of the user's, which is as it is."""
    return images.Image(stack.image, stack.asked.image, False, stack.made_of())


def settings(order: Order, rank: int, share: Share, own: Sequence[gpus.Gpu] = (), kernels: Path | None = None
             ) -> dict[str, Any]:
    """What a place's container is created with: no more than it needs. An image of the user's also gets the workloads.

    own: its GPUs; kernels: the folder that keeps what is compiled for them.
    """
    cell, stack, is_alone = order.cell, order.stack, len(order.places) == 1
    module, text = order.words
    python, more = "python", _network(order, rank)
    volumes = {str(order.data): {"bind": "/data", "mode": "ro"}}
    variables = {**order.variables(rank), **({} if order.listens else {turns.ENDS: "1"})}
    if isinstance(stack, OwnStack):
        more |= mounted(stack.root)
        python, volumes, variables = stack.interpreter, volumes | more["volumes"], more["environment"] | variables
    if own:
        more |= _devices(own)
        volumes[str(kernels)] = {"bind": kernel_cache.INSIDE, "mode": "rw"}
        variables[kernel_cache.VARIABLE] = kernel_cache.INSIDE
    return {
        **more,
        "entrypoint": [python, "-m", module],
        "command": [text],
        "labels": {OWNER: leftovers.mine(), RUN: order.run},
        "cpuset_cpus": ",".join(map(str, share.cpus(rank))),
        "cpu_shares": _MOST_SHARES,                     # other containers of this engine wait
        "mem_limit": cell.memory_bytes or None,
        "memswap_limit": cell.memory_bytes or None,      # equal to the memory: no swap
        "shm_size": "1g",                               # by which a loader sends batches; the engine gives 64 MB
        **CONFINED,
        "volumes": volumes,
        "log_config": {"Type": "none"},                 # lines come by the attached stream; a log would be disk work
        "nano_cpus": None if share.quota is None or is_alone else int(share.quota * 1e9),
        "environment": variables,
        "stdin_open": True,                             # which closes with the runner, and the worker then ends
    }


def _network(order: Order, rank: int) -> dict[str, Any]:
    """How a place's container is called, and whom it reaches: only the run's other places."""
    place, name = order.places[rank].name, f"evenbench-{order.run.replace('.', '-')}-{os.getpid()}"
    if len(order.places) == 1:       # its processes find each other by the host's name, which must mean something
        return {"name": name, "network_mode": "none", "hostname": "localhost"}
    if order.rank is not None:       # other hosts reach it by their own network
        return {"name": f"{name}-{place}", "network_mode": "host"}
    return {"name": f"{name}-{place}", "network": name, "hostname": place,
            "networking_config": {name: engine.EndpointConfig(version="1.41", aliases=[place])}}


def _devices(own: Sequence[gpus.Gpu]) -> dict[str, Any]:
    """What gives a container these GPUs.

    Several exchange by pinned memory, of which the engine gives the host's usual limit: NCCL's guide asks for more
    (troubleshooting, "Docker").
    """
    several = {"ulimits": [engine.Ulimit(name="memlock", soft=-1, hard=-1)]} if len(own) > 1 else {}
    return {"device_requests": [engine.gpu_request([gpu.uuid for gpu in own])], **several}


def sweep(client: DockerClient, say: Say) -> None:
    """Remove the containers and networks of runners that no longer live."""
    for container in left(client):
        say(f"engine: removing {container.name}, left by a runner that is gone")
        remove(container, force=True, v=True)
    for network in client.networks.list(filters={"label": OWNER}):
        if leftovers.is_gone(network.attrs["Labels"][OWNER]):
            remove(network)


class DockerRunning(Running):
    """The containers of a run, and their network."""

    _workers: dict[str, "_Container"]

    def __init__(self, client: DockerClient, waiting: engine.Waiting, order: Order, record: dict[str, Any],
                 each: list[dict[str, Any]]) -> None:
        """Create and start each place's container, one after the other: the first imports while the last is made.

        Raises DockerException and OSError, and leaves nothing then.
        """
        super().__init__(record, order)
        self._waiting, self._absences = waiting, waiting.absences
        self._network: engine.Network | None = None
        with self.stopped_on_error():
            if "network" in each[0]:
                self._network = client.networks.create(each[0]["network"], internal=True, labels=each[0]["labels"])
            for name, how in zip(self._names, each, strict=True):
                container = client.containers.create(**how)
                worker = self._workers[name] = _Container(client, container, self._network is not None)
                self._pipe.add(name, worker.attached())
                worker.container.start()

    def exit(self, place: str, seconds: float) -> Exit:
        """As protocol.Running. An engine that hangs is not asked: each question would take a minute."""
        if self._waiting.answers():
            return super().exit(place, seconds)
        return self._workers[place].gone("its engine does not answer")

    def is_lost(self) -> bool:
        return self._waiting.is_back() and self._waiting.absences != self._absences

    def trouble(self) -> dict[str, str]:
        return super().trouble() if self._waiting.answers() else {}

    def used(self) -> dict[str, dict[str, int | None]]:
        return super().used() if self.servers and self._waiting.answers() else {}

    def stop(self) -> None:
        """Remove the containers and their network, after waiting for an engine that is being restarted.

        What is left by one that stays away is for the next session's sweep.
        """
        self._pipe.close()
        for container in self._workers.values():
            container.close()                         # first: the engine removes no container whose output nobody takes
        if not self._waiting.is_back():
            return
        with suppress(OSError):
            for each in self._workers.values():
                remove(each.container, force=True, v=True)
            if self._network is not None:
                remove(self._network)


class _Container(Worker):
    """A place's container."""

    def __init__(self, client: DockerClient, container: engine.Container, has_network: bool) -> None:
        super().__init__()
        self.container, self._client, self._has_network = container, client, has_network
        self._stream: Any = None
        self._input: Any = None

    def attached(self) -> Iterator[bytes]:
        """Its lines. Attached before the start, so that none is missed, and to its standard input."""
        api, id = self._client.api, str(self.container.id)
        self._stream = api.attach(id, stdout=True, stderr=True, stream=True, demux=True)
        self._input = api.attach_socket(id, params={"stdin": 1, "stream": 1})
        return lines_of_chunks(self._outputs())

    def tell(self, words: str) -> None:
        with suppress(OSError):              # it is gone
            self._input._sock.sendall(words.encode() + b"\n")

    def _outputs(self) -> Iterator[bytes]:
        """Standard output's chunks; standard error's are kept, bounded."""
        for output, error in self._stream:
            if error:
                self._errors.add(error)
            if output:
                yield output

    def exit(self, seconds: float) -> Exit:
        try:
            if seconds:
                with suppress(OSError):                  # the time is over
                    self.container.wait(timeout=seconds)
            self.container.reload()
        except (DockerException, OSError) as error:      # removed, or the engine does not answer
            return self.gone(engine.explained(error))
        state = self.container.attrs["State"]
        code = None if state["Running"] else int(state["ExitCode"])
        return Exit(code, bool(state["OOMKilled"]), self._errors.last_words())

    def gone(self, why: str) -> Exit:
        """How it ended is not known."""
        return Exit(None, last_words=self._errors.last_words() or why, verdict=GONE)

    def trouble(self) -> str:
        try:
            self.container.reload()
        except (DockerException, OSError):
            return "is gone"
        state, networks = self.container.attrs["State"], self.container.attrs["NetworkSettings"]["Networks"]
        if state["Paused"]:
            return "is paused"
        return "is cut from the network" if self._has_network and state["Running"] and not networks else ""

    def used(self) -> dict[str, int | None]:
        """As protocol.Worker; {"group_peak_bytes": None} where the engine does not say (control groups v2)."""
        try:
            stats: Any = self.container.stats(stream=False, one_shot=True)
            return {"group_peak_bytes": stats["memory_stats"].get("max_usage")}
        except (DockerException, OSError, KeyError):
            return {"group_peak_bytes": None}

    def close(self) -> None:
        """Stop listening."""
        if self._input is not None:
            self._input._response.close()    # its own close leaves its descriptor to the collector
        if self._stream is not None:
            with suppress(OSError):          # the engine has closed it already
                self._stream.close()
            self._stream._response.close()   # likewise
