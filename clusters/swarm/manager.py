"""A Docker Swarm's side of the manager's API: nodes and tasks as it lists them, services as it takes them. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from runner.errors import InputError
from runner.launchers import kernel_cache

OWNER = "org.evenbench.swarm"       # of the runner whose service or network it is, as runner/leftovers.py names it
RUN = "org.evenbench.run"
_WRITABLE = {"Type": "tmpfs", "Target": "/tmp",
             "TmpfsOptions": {"SizeBytes": 2**30, "Mode": 0o1777, "Options": [["exec"]]}}
# a service has no shm_size: 1 GB for NCCL between several GPUs, of which an engine's own 64 MB are too few
_SHARED = {"Type": "tmpfs", "Target": "/dev/shm", "TmpfsOptions": {"SizeBytes": 2**30, "Mode": 0o1777}}
_PROCESSES = 4096
_ARGUMENTS = "encrypted, registry=HOST/NAME, engine:NODE=URL"


class Options(NamedTuple):
    """What the user tells of a Swarm beside what its manager says."""

    is_encrypted: bool = False                                   # what places say to each other
    registry: str = ""                                           # images go there, and nodes get them by digest
    engines: Mapping[str, str] = MappingProxyType({})            # of nodes: images are copied to them

    def record(self) -> dict[str, Any]:
        """What the session's record says; an engine's address is how images came, not what was measured."""
        return {"encrypted": self.is_encrypted, "registry": self.registry}


def options(arguments: Iterable[str]) -> Options:
    """The Options of the words behind `--launcher swarm:`. Raises InputError."""
    asked, engines = Options(), {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        if argument == "encrypted":
            asked = asked._replace(is_encrypted=True)
        elif name == "registry" and value:
            asked = asked._replace(registry=value)
        elif name.startswith("engine:") and name != "engine:" and value:
            engines[name.removeprefix("engine:")] = value
        else:
            raise InputError(f'--launcher swarm: found "{argument}", expected one of {_ARGUMENTS}')
    return asked._replace(engines=engines)


class Node(NamedTuple):
    """A node as the manager knows it."""

    id: str
    name: str
    engine: str                                  # version
    state: str                                   # ready, down, unknown
    availability: str                            # active, pause, drain
    cpus: int
    memory_bytes: int
    gpus: tuple[str, int] = ("", 0)              # the kind of generic resource, and how many

    @property
    def is_usable(self) -> bool:
        """Whether the Swarm starts anything there."""
        return self.state == "ready" and self.availability == "active"

    def record(self) -> dict[str, Any]:
        """What records say of it."""
        return {"host": self.name, "engine": self.engine, "cpus": self.cpus, "memory_bytes": self.memory_bytes}


def nodes(answer: Iterable[Mapping[str, Any]]) -> tuple[Node, ...]:
    """The nodes in the manager's answer, by name."""
    return tuple(sorted(map(_node, answer), key=lambda node: (node.name, node.id)))


def _node(entry: Mapping[str, Any]) -> Node:
    about, resources = entry["Description"], entry["Description"].get("Resources", {})
    return Node(entry["ID"], about["Hostname"], about.get("Engine", {}).get("EngineVersion", ""),
                entry["Status"]["State"], entry["Spec"]["Availability"],
                int(resources.get("NanoCPUs", 0) // 10**9), int(resources.get("MemoryBytes", 0)),
                _gpus(resources.get("GenericResources") or ()))


def _gpus(resources: Iterable[Mapping[str, Any]]) -> tuple[str, int]:
    """The first kind of resource that is named for GPUs, and how many there are."""
    counts = Counter[str]()
    for each in resources:
        kind, spec = next(iter(each.items()))
        counts[spec["Kind"]] += int(spec["Value"]) if kind == "DiscreteResourceSpec" else 1
    return next(((kind, count) for kind, count in counts.items() if "gpu" in kind.lower()), ("", 0))


class ServiceSpec(NamedTuple):
    """The service of a place."""

    name: str                                    # by which the others find it
    node: Node
    image: str                                   # by digest: the same bytes on every node
    arguments: tuple[str, ...]                   # after `python -m workloads.places.swarm_node`
    data: str                                    # the folder, the same path on every node; "": none
    cpus: float = 0.0                            # 0: no limit
    memory_bytes: int = 0                        # 0: no limit
    gpus: int = 0
    is_reserved: bool = False                    # whether what it may use is kept from others
    environment: Mapping[str, str] = MappingProxyType({})
    kernels: str = ""                            # the volume that keeps compiled GPU kernels; "": none


def template(spec: ServiceSpec, network: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The service's task as the engine's API has it: no more than the place needs.

    Engines up to 26 ignore NoNewPrivileges and tmpfs' options: there workloads.places.swarm_node does the first, and
    nothing in /tmp can be executed.
    """
    limits = {name: value for name, value in (("NanoCPUs", int(spec.cpus * 10**9)), ("MemoryBytes", spec.memory_bytes))
              if value}
    data = [{"Type": "bind", "Source": spec.data, "Target": "/data", "ReadOnly": True}] if spec.data else []
    kernels = [{"Type": "volume", "Source": spec.kernels, "Target": kernel_cache.VOLUME_INSIDE}] if spec.kernels else []
    generic = {"GenericResources": [{"DiscreteResourceSpec": {"Kind": spec.node.gpus[0], "Value": spec.gpus}}]}
    return {
        "ContainerSpec": {
            "Image": spec.image, "Command": ["python", "-m", "workloads.places.swarm_node"],
            "Args": list(spec.arguments),
            "Hostname": spec.name, "Labels": dict(labels), "Init": True, "ReadOnly": True,
            "Env": [f"{key}={value}" for key, value in spec.environment.items()],
            "CapabilityDrop": ["ALL"], "Privileges": {"NoNewPrivileges": True}, "StopGracePeriod": 0,
            "Mounts": [_WRITABLE, *data, *kernels, *([_SHARED] if spec.gpus > 1 else ())],
            **({"Ulimits": [{"Name": "memlock", "Soft": -1, "Hard": -1}]} if spec.gpus > 1 else {}),
        },
        "Resources": {"Limits": {**limits, "Pids": _PROCESSES},
                      "Reservations": {**(limits if spec.is_reserved else {}), **(generic if spec.gpus else {})}},
        "RestartPolicy": {"Condition": "none"},
        "Placement": {"Constraints": [f"node.id=={spec.node.id}"]},
        "Networks": [{"Target": network, "Aliases": [spec.name]}],
        "LogDriver": {"Name": "json-file"},      # whatever the node's own default: the manager reads it back
    }


# states of a task from which it goes no further, and of them those of a task that never ran
OVER = ("complete", "failed", "rejected", "shutdown", "orphaned", "remove")
RUNNING = "running"


class Task(NamedTuple):
    """A service's one task as the manager knows it."""

    state: str = "new"
    message: str = ""
    code: int | None = None                      # of its process, once that has gone

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come of it."""
        return self.state in OVER


def tasks(answer: Sequence[Mapping[str, Any]]) -> dict[str, Task]:
    """The tasks in the manager's answer, by service."""
    return {each["ServiceID"]: _task(each["Status"]) for each in answer}


def _task(status: Mapping[str, Any]) -> Task:
    container = status.get("ContainerStatus") or {}
    has_run = bool(container.get("ContainerID")) and status["State"] in OVER and status["State"] != "rejected"
    return Task(status["State"], status.get("Err") or status.get("Message") or "",
                int(container.get("ExitCode", 0)) if has_run else None)
