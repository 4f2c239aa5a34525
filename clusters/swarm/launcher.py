"""Runs cells on the nodes of a Docker Swarm: a service a place, pinned to its node, on a network made for the run.

The manager is the engine that DOCKER_HOST names; nothing but its API is used, so nodes are reached as Swarm reaches
them. What Swarm cannot do for a service: pin CPUs, forbid swap, say that the memory limit was hit, or take no network:
a place gets a quota of CPUs, workloads.places.swarm_node tells of memory, and a node alone has a network with nobody
else on it.
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from clusters.swarm import delivery, examination, manager, probe
from clusters.swarm.running import SwarmRunning, remove_network, remove_service
from runner import formatting, leftovers
from runner.errors import BenchError, EngineUnreachable
from runner.findings import Finding
from runner.launchers import kernel_cache
from runner.launchers.protocol import ClusterLauncher, Order
from runner.machine.gpus import Gpus
from runner.processes import Say
from runner.stacks import engine, images
from runner.stacks.definition import PinnedStack, Stack, pinned
from runner.stacks.engine import APIError, DockerClient, DockerException, explained
from workloads.spec import cluster
from workloads.spec.cell import Cell


class SwarmLauncher(ClusterLauncher):
    """Launches workers as services of an existing Swarm."""

    name = "swarm"
    has_options = is_examined = True
    nodes: tuple[manager.Node, ...]

    def __init__(self, client: DockerClient, words: Sequence[str] = ()) -> None:
        """words: the options. Raises InputError, and EngineUnreachable where the engine manages no Swarm."""
        self._client, self._options = client, manager.options(words)
        self._images: dict[str, delivery.Delivered] = {}
        self._probed: dict[tuple[str, ...], dict[str, probe.NodeReport]] = {}
        self.nodes = _usable(client)

    @classmethod
    def made(cls, here: Gpus, options: Sequence[str]) -> Self:
        return cls(engine.connect(), options)

    @classmethod
    def examine(cls, stacks: Mapping[str, PinnedStack], options: Sequence[str]) -> list[Finding]:
        made = cls(engine.connect(), options)
        return examination.examine(made._client, stacks, lambda image: made._delivered(image, lambda text: None)[1])

    def record(self) -> dict[str, Any]:
        """The Swarm's options and nodes."""
        return {"swarm": {**self._options.record(), "nodes": [node.record() for node in self.nodes]}}

    def prepare(self, stacks: list[Stack], say: Say) -> None:
        """Build images on the manager's engine, bring them to the nodes, and remove what dead runners left."""
        sweep(self._client, say)
        for stack in stacks:
            self._images[stack.name], _ = self._delivered(images.build(self._client, pinned(stack), say), say)

    def _delivered(self, built: images.Image, say: Say) -> tuple[delivery.Delivered, dict[str, probe.NodeReport]]:
        """The image on the nodes, and what they say of themselves in it. Raises BenchError for a node that lacks it."""
        image = delivery.deliver(self._client, built, self._options, self.nodes, say)
        return image, self.probed(image, None, self.nodes)

    def image(self, stack: Stack) -> str:
        return self._images[stack.name].built.id if stack.name in self._images else ""

    def begin(self, order: Order) -> SwarmRunning:
        """Start a service a place and wait until every one runs. Raises BenchError."""
        image = self._images.get(order.stack.name)
        if image is None:
            built = images.found(self._client, pinned(order.stack), "at the Swarm's manager")
            image = delivery.Delivered(built, built.id)
        places = order.places
        on = placed(places, order.cell, self.nodes)
        reports = self._probe(image, order.data, on)
        # None where it is all that every node has
        quota = float(order.cell.cpus) if any(node.cpus > order.cell.cpus for node in on) else None
        record = {"launcher": self.name, "isolation": self.name, "image": image.built.id, "base": image.built.base,
                  "base_is_default": image.built.base_is_default, **order.record(),
                  "fingerprint": image.built.fingerprint, "cpu_quota": quota, "remote": True,
                  "encrypted": self._options.is_encrypted,
                  "nodes": {place.name: {**node.record(), **reports[node.name].record()}
                            for place, node in zip(places, on, strict=True)}}
        return self._begun(SwarmRunning(self._client, places, record), order.run, services(order, on, image.reference))

    def _begun(self, running: SwarmRunning, run: str, specs: list[manager.ServiceSpec]) -> SwarmRunning:
        try:
            with running.stopped_on_error():
                running.create(run, specs, self._options.is_encrypted)
                running.await_start()
        except (DockerException, OSError) as error:        # requests' errors are OSErrors
            raise EngineUnreachable(f"the Swarm did not take a service: {explained(error)}") from error
        return running

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


def services(order: Order, on: list[manager.Node], image: str) -> list[manager.ServiceSpec]:
    """A service for each place. Only nodes reserve CPUs and memory: a coordinator shares those of the first one."""
    cell, gpus = order.cell, order.cell.gpus if order.is_on_gpu else 0
    kernels = {kernel_cache.VARIABLE: kernel_cache.VOLUME_INSIDE} if gpus else {}
    return [manager.ServiceSpec(
        place.name, node, image, order.words, str(order.data), cell.cpus, cell.memory_bytes, gpus, rank < cell.nodes,
        {**order.by_name(rank), **order.variables(), **kernels}, f"evenbench-kernels-{cell.stack}" if gpus else "")
        for rank, (place, node) in enumerate(zip(order.places, on, strict=True))]


def sweep(client: DockerClient, say: Say) -> None:
    """Remove the services and networks of runners of this host that no longer live."""
    for service in client.api.services(filters={"label": manager.OWNER}):
        if leftovers.is_gone(service["Spec"]["Labels"][manager.OWNER]):
            say(f"swarm: removing {service['Spec']['Name']}, left by a runner that is gone")
            remove_service(client, service["ID"])
    for network in client.api.networks(filters={"label": manager.OWNER}):
        if leftovers.is_gone(network["Labels"][manager.OWNER]):
            remove_network(client, network["Id"])
