"""Runs cells on the nodes of a Docker Swarm: a service a place, pinned to its node, on a network made for the run.

The manager is the engine that DOCKER_HOST names; nothing but its API is used, so nodes are reached as Swarm reaches
them. What Swarm cannot do for a service: pin CPUs, forbid swap, say that the memory limit was hit, or take no network:
a place gets a quota of CPUs, workloads.places.swarm_node tells of memory, and a node alone has a network with nobody
else on it.
"""

import json
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from runner import formatting, leftovers
from runner.errors import BenchError, EngineUnreachable, ImageMissing
from runner.launchers import kernel_cache
from runner.launchers.docker import explained
from runner.launchers.protocol import ClusterLauncher
from runner.launchers.swarm import delivery, manager, probe
from runner.launchers.swarm.running import SwarmRunning, remove_network, remove_service
from runner.stacks import images
from runner.stacks.definition import Stack, fingerprint, pinned
from runner.stacks.engine import APIError, DockerClient, DockerException
from workloads.spec import cluster, placement
from workloads.spec.cell import Cell


class SwarmLauncher(ClusterLauncher):
    """Launches workers as services of an existing Swarm."""

    name = "swarm"
    nodes: tuple[manager.Node, ...]

    def __init__(self, client: DockerClient, options: manager.Options = manager.NO_OPTIONS) -> None:
        """Raises EngineUnreachable where the engine manages no Swarm."""
        self._client, self._options = client, options
        self._images: dict[str, delivery.Delivered] = {}
        self._probed: dict[tuple[str, ...], dict[str, probe.NodeReport]] = {}
        self.nodes = _usable(client)

    def record(self) -> dict[str, Any]:
        """The Swarm's options and nodes."""
        return {"swarm": {**self._options.record(), "nodes": [node.record() for node in self.nodes]}}

    def missing(self, stack: Stack) -> str | None:
        """Why its image cannot be built, where that is known; else prepare builds it, and a failed build says why."""
        return stack.unbuildable

    def prepare(self, stacks: list[Stack], say: Callable[[str], None]) -> None:
        """Build images on the manager's engine, bring them to the nodes, and remove what dead runners left."""
        sweep(self._client, say)
        for stack in stacks:
            built = images.build(self._client, pinned(stack), say)
            image = delivery.deliver(self._client, built, self._options, self.nodes, say)
            self.probed(image, None, self.nodes)          # fails for a node that lacks it, before anything is measured
            self._images[stack.name] = image

    def fingerprint(self, stack: Stack) -> str:
        """The Dockerfile, the locks and the workloads."""
        return fingerprint(stack)

    def image(self, stack: Stack) -> str:
        """As protocol.Launcher."""
        return self._images[stack.name].built.id if stack.name in self._images else ""

    def start(self, cell: Cell, stack: Stack, data: Path, run: str, module: str = "workloads",
              padding: int = 0, listens: bool = False) -> "SwarmRunning":
        """Start a service a place and wait until every one runs. Raises BenchError."""
        image = self._images.get(stack.name) or self._image(stack)
        places = cluster.places(stack.framework, cell.parallel, cell.nodes)
        on = placed(places, cell, self.nodes)
        reports = self._probe(image, data, on)
        record = {"launcher": self.name, "isolation": self.name, "image": image.built.id, "base": image.built.base,
                  "base_is_default": image.built.base_is_default, "stack_version": stack.version,
                  "fingerprint": image.built.fingerprint, "cpu_quota": _quota(cell, on), "remote": True,
                  "encrypted": self._options.is_encrypted,
                  "nodes": {place.name: {**node.record(), **reports[node.name].record()}
                            for place, node in zip(places, on, strict=True)}}
        specs = services(cell, data, places, on, image.reference, module, padding, stack.env)
        return self._begun(SwarmRunning(self._client, places, record), run, specs)

    def _begun(self, running: "SwarmRunning", run: str, specs: list[manager.ServiceSpec]) -> "SwarmRunning":
        try:
            running.create(run, specs, self._options.is_encrypted)
            running.await_start()
        except BaseException as error:
            running.stop()
            if isinstance(error, DockerException | OSError):       # requests' errors are OSErrors
                raise EngineUnreachable(f"the Swarm did not take a service: {explained(error)}") from error
            raise
        return running

    def _image(self, stack: Stack) -> delivery.Delivered:
        """The stack's image on the manager's engine. Raises ImageMissing."""
        image = images.find(self._client, pinned(stack))
        if image is None:
            raise ImageMissing(f"stack {stack.name} has no image at the Swarm's manager: run `evenbench images "
                               f"{stack.name}`")
        return delivery.Delivered(image, image.id)

    def _probe(self, image: delivery.Delivered, data: Path,
               on: list[manager.Node]) -> dict[str, probe.NodeReport]:
        """What the nodes say of themselves, once for each data and nodes. Raises BenchError where one is not fit."""
        nodes = list(dict.fromkeys(on))
        key = (str(data), *(node.id for node in nodes))
        if key not in self._probed:
            self._probed[key] = self.probed(image, data, nodes)
        probe.check(self._probed[key], [node.name for node in nodes], str(data))
        return self._probed[key]

    def probed(self, image: delivery.Delivered, data: Path | None, nodes: Sequence[manager.Node]
               ) -> dict[str, probe.NodeReport]:
        """What these nodes say of themselves now, by name. Raises BenchError where one cannot start a place."""
        places = tuple(cluster.Place(f"node{rank}", "probe", (), True) for rank in range(len(nodes)))
        names = [place.name for place in places]
        specs = [manager.ServiceSpec(name, node, image.reference, ("workloads.places.swarm_probe", json.dumps(
            {"names": names, "rank": rank, "data": "/data"})), str(data or ""))
            for rank, (name, node) in enumerate(zip(names, nodes, strict=True))]
        running = self._begun(SwarmRunning(self._client, places, {}), "probe", specs)
        try:
            lines = probe.lines(running, time.monotonic)
        finally:
            running.stop()
        return probe.reports(lines, {place.name: node.name for place, node in zip(places, nodes, strict=True)})


def _usable(client: DockerClient) -> tuple[manager.Node, ...]:
    """The nodes that take services, by name. Raises EngineUnreachable."""
    try:
        nodes = manager.nodes(client.api.nodes())
    except APIError as error:
        raise EngineUnreachable(f"the engine manages no Swarm ({explained(error)}): set DOCKER_HOST to a manager's "
                                "engine, or run `docker swarm init`") from error
    usable = tuple(node for node in nodes if node.is_usable)
    if not usable:
        raise EngineUnreachable("no node of the Swarm is ready and active: look at `docker node ls`")
    return usable


def placed(places: tuple[cluster.Place, ...], cell: Cell,
           nodes: tuple[manager.Node, ...]) -> list[manager.Node]:
    """The node of each place, in order of rank; one after the nodes, as a coordinator has, is on the first's.

    Raises BenchError where the Swarm has too few nodes, or one of them too little of something.
    """
    if cell.nodes > len(nodes):
        raise BenchError(f"the cell needs {formatting.count(cell.nodes, 'node')}, and the Swarm has {len(nodes)} ready "
                         "and active: look at `docker node ls`, or measure with `--set nodes=...`")
    chosen = [nodes[rank if rank < cell.nodes else 0] for rank in range(len(places))]
    for node in chosen[:cell.nodes]:
        if cell.cpus > node.cpus or cell.memory_bytes > node.memory_bytes:
            raise BenchError(f"{node.name} has {node.cpus} CPUs and {node.memory_bytes / 1e9:.1f} GB, and the cell asks"
                             f" for {cell.cpus} and {cell.memory_bytes / 1e9:.1f} GB: measure with `--set cpus=...`, "
                             "`--set memory_bytes=...`")
        if cell.device == "gpu" and cell.gpus > node.gpus[1]:
            raise BenchError(f"{node.name} offers {node.gpus[1]} GPUs as generic resources, and the cell asks for "
                             f"{cell.gpus}: set node-generic-resources in its /etc/docker/daemon.json")
    return chosen


def services(cell: Cell, data: Path, places: tuple[cluster.Place, ...], on: list[manager.Node], image: str,
             module: str = "workloads", padding: int = 0, passed: tuple[tuple[str, str], ...] = (),
             ) -> list[manager.ServiceSpec]:
    """A service for each place. Only nodes reserve CPUs and memory: a coordinator shares those of the first one."""
    names = ",".join(place.name for place in places)
    gpus = cell.gpus if cell.device == "gpu" else 0
    kernels = {kernel_cache.VARIABLE: kernel_cache.VOLUME_INSIDE} if gpus else {}
    specs = []
    for rank, (place, node) in enumerate(zip(places, on, strict=True)):
        others = {"EVENBENCH_NODES": names, "EVENBENCH_RANK": str(rank)} if len(places) > 1 else {}
        others |= {**placement.variables(padding, passed), **kernels}
        specs.append(manager.ServiceSpec(
            place.name, node, image, (module, json.dumps(cell._asdict())), str(data), cell.cpus, cell.memory_bytes,
            gpus, rank < cell.nodes, others, kernel_cache.volume(cell.stack) if gpus else ""))
    return specs


def _quota(cell: Cell, on: list[manager.Node]) -> float | None:
    """CPUs that each place may use, None where that is all that every node has."""
    return float(cell.cpus) if any(node.cpus > cell.cpus for node in on) else None


def sweep(client: DockerClient, say: Callable[[str], None]) -> int:
    """Remove the services and networks of this host's runners that no longer live; how many services."""
    removed = 0
    for service in client.api.services(filters={"label": manager.OWNER}):
        if _is_left(service["Spec"]["Labels"]):
            say(f"swarm: removing {service['Spec']['Name']}, left by a runner that is gone")
            remove_service(client, service["ID"])
            removed += 1
    for network in client.api.networks(filters={"label": manager.OWNER}):
        if _is_left(network["Labels"]):
            remove_network(client, network["Id"])
    return removed


def _is_left(labels: dict[str, str]) -> bool:
    """Whether its runner was of this host and is gone; of another host's nothing is known."""
    host, _, process = labels[manager.OWNER].partition(":")
    return host == socket.gethostname() and leftovers.is_gone(process)
