"""A Swarm's manager that tests script: nodes, services whose tasks write and end as told, networks."""

import queue
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

from clusters.swarm import manager
from runner.stacks.engine import NotFound
from workloads.spec.cluster import Place

GIB = 2**30
RUNS = {"State": "running", "ContainerStatus": {"ContainerID": "c", "ExitCode": 0}}
COMPLETE = {"State": "complete", "ContainerStatus": {"ContainerID": "c", "ExitCode": 0}}


def failed(code: int) -> dict[str, Any]:
    return {"State": "failed", "Err": f"task: non-zero exit ({code})",
            "ContainerStatus": {"ContainerID": "c", "ExitCode": code}}


def rejected(why: str) -> dict[str, Any]:
    return {"State": "rejected", "Err": why, "Message": "preparing", "ContainerStatus": {}}


def node_said(number: int, state: str = "ready", availability: str = "active", gpus: int = 0) -> dict[str, Any]:
    """A node in the manager's words, as engine 20.10 says it."""
    generic = [{"NamedResourceSpec": {"Kind": "NVIDIA-GPU", "Value": f"GPU-{index}"}} for index in range(gpus)]
    return {"ID": f"id{number}", "Status": {"State": state}, "Spec": {"Availability": availability},
            "Description": {"Hostname": f"host{number}", "Engine": {"EngineVersion": "20.10.24"},
                            "Resources": {"NanoCPUs": 4 * 10**9, "MemoryBytes": 16 * GIB,
                                          "GenericResources": generic}}}


NODES = manager.nodes([node_said(number) for number in (1, 2, 3)])


class Script(NamedTuple):
    """What a place's task does: what is heard while following, all that it wrote, and how it stands."""

    followed: bytes
    status: dict[str, Any]
    written: bytes = b""           # as the finished task's log has it; b"": what was followed
    errors: bytes = b""


class FakeSwarm:
    """A client of docker's, as far as the launcher uses one; scripts by place's name."""

    def __init__(self, scripts: dict[str, Script] | None = None, said: list[dict[str, Any]] | None = None) -> None:
        self.scripts = scripts or {}
        self.said = said or [node_said(number) for number in (1, 2, 3)]
        self.made: dict[str, dict[str, Any]] = {}           # services
        self.nets: dict[str, dict[str, Any]] = {}
        self.leaving: list[str] = []                        # nodes of tasks that a look finds, one fewer at each
        self.api, self.networks = _Api(self), SimpleNamespace(create=self._create_network)

    def _create_network(self, name: str, **how: Any) -> Any:
        self.nets[name] = {"Id": name, "Labels": how["labels"], "how": how}
        return SimpleNamespace(id=name)


class _Api:
    def __init__(self, swarm: FakeSwarm) -> None:
        self._swarm = swarm

    def nodes(self) -> list[dict[str, Any]]:
        return self._swarm.said

    def create_service(self, template: Any, name: str, labels: dict[str, str], endpoint_spec: Any) -> dict[str, str]:
        place = template["ContainerSpec"]["Hostname"]
        lines: queue.Queue[bytes | None] = queue.Queue()
        script = self._swarm.scripts[place]
        lines.put(script.followed)
        if script.status != RUNS:
            lines.put(None)
        self._swarm.made[name] = {"ID": name, "Spec": {"Name": name, "Labels": labels}, "template": template,
                                  "endpoint": endpoint_spec, "place": place, "lines": lines}
        return {"ID": name}

    def tasks(self, filters: dict[str, Any]) -> list[dict[str, Any]]:
        if "label" in filters:                 # of services that were removed too, until their containers are gone
            self._swarm.leaving = self._swarm.leaving[1:]
            return [{"NodeID": node} for node in self._swarm.leaving]
        if unknown := set(filters["service"]) - self._swarm.made.keys():
            raise NotFound(f"no such service: {unknown}")
        return [{"ServiceID": name, "Status": self._swarm.scripts[made["place"]].status}
                for name, made in self._swarm.made.items() if name in filters["service"]]

    def services(self, filters: dict[str, str]) -> list[dict[str, Any]]:
        return list(self._swarm.made.values())

    def remove_service(self, name: str) -> None:
        if name not in self._swarm.made:
            raise NotFound("no such service")
        self._swarm.made.pop(name)["lines"].put(None)

    def remove_network(self, name: str) -> None:
        if name not in self._swarm.nets:
            raise NotFound("no such network")
        del self._swarm.nets[name]

    def _url(self, form: str, name: str) -> str:
        return name

    def _get(self, name: str, params: dict[str, Any], stream: bool) -> Any:
        if name not in self._swarm.made:
            raise NotFound("no such service")
        made = self._swarm.made[name]
        return SimpleNamespace(made=made, script=self._swarm.scripts[made["place"]], params=params,
                               raw=SimpleNamespace(closed=True), close=lambda: None)

    def _raise_for_status(self, response: Any) -> None:
        pass

    def _multiplexed_response_stream_helper(self, response: Any) -> Iterator[bytes]:
        if response.params["stderr"]:
            return iter([response.script.errors])
        if response.params["follow"]:
            return _followed(response.made["lines"])
        return iter([response.script.written or response.script.followed])


def _followed(lines: "queue.Queue[bytes | None]") -> Iterator[bytes]:
    """The chunks until the end, which whoever follows once more finds at once."""
    while (chunk := lines.get()) is not None:
        yield chunk
    lines.put(None)


def places(count: int) -> tuple[Place, ...]:
    return tuple(Place(f"node{rank}", "worker", (), True) for rank in range(count))
