"""No container that evenbench creates has more rights than it needs, as the engine's record and the kernel tell."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runner import paths
from runner.launchers.docker import OWNER, DockerLauncher
from runner.stacks import containers
from tests.engine import runs
from tests.engine.runs import SMALL, STACKS, ours
from tests.fakes import quiet
from workloads.spec.cell import Cell

pytestmark = pytest.mark.engine
CELL = runs.cell(steps=100_000)
FILES = ("compose.yaml", "compose.gpu.yaml")
ALLOWED_VARIABLES = {"EVENBENCH_ENDS", "EVENBENCH_NODES", "EVENBENCH_RANK"}          # beyond the image's own


def excess(container: Any) -> list[str]:
    """What of a running container's rights goes beyond the least; empty for one as it should be."""
    container.reload()
    return [*_of_the_host(container.attrs["HostConfig"]), *_of_the_network(container), *_of_the_mounts(container),
            *_of_the_environment(container), *_inside(container)]


def _of_the_host(host: dict[str, Any]) -> list[str]:
    expected = {"Privileged": (False,), "CapDrop": (["ALL"],), "CapAdd": (None, []), "ReadonlyRootfs": (True,),
                "SecurityOpt": (["no-new-privileges"],),             # so seccomp's filter is the engine's default one
                "PidMode": ("",), "IpcMode": ("private",), "UTSMode": ("",), "UsernsMode": ("",), "CgroupParent": ("",),
                "Devices": (None, []), "DeviceCgroupRules": (None, []), "PortBindings": (None, {}),
                "PublishAllPorts": (False,), "VolumesFrom": (None, []), "GroupAdd": (None, []), "Links": (None, []),
                "PidsLimit": (4096,), "Sysctls": (None, {})}
    return [f"{name}: {host.get(name)!r}" for name, allowed in expected.items() if host.get(name) not in allowed]


def _of_the_network(container: Any) -> list[str]:
    mode = container.attrs["HostConfig"]["NetworkMode"]
    if mode == "none":
        return []
    network = container.client.networks.get(mode)
    return [] if network.attrs["Internal"] and "org.evenbench.owner" in network.attrs["Labels"] else [f"network {mode}"]


def _of_the_mounts(container: Any) -> list[str]:
    return [f"mount: {mount}" for mount in container.attrs["Mounts"] if (mount["Destination"], mount["RW"]) != (
        "/data", False) or "docker.sock" in mount["Source"]]


def _of_the_environment(container: Any) -> list[str]:
    own = {variable.partition("=")[0] for variable in container.image.attrs["Config"]["Env"]}
    names = {variable.partition("=")[0] for variable in container.attrs["Config"]["Env"]}
    return [f"variable {name}" for name in names - own - ALLOWED_VARIABLES]


def _inside(container: Any) -> list[str]:
    """By the kernel: a process of the container's has no capability, no way to one, a filter, and is not root."""
    status = container.exec_run(["cat", "/proc/self/status"]).output.decode()
    found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    none = "0" * 16
    expected = {"CapEff": none, "CapPrm": none, "CapBnd": none, "CapAmb": none, "NoNewPrivs": "1", "Seccomp": "2",
                "Uid": "\t".join(["1000"] * 4), "Gid": "\t".join(["1000"] * 4)}
    wrong = [f"{name}: {found.get(name)}" for name, value in expected.items() if found.get(name) != value]
    write = container.exec_run(["python", "-c", "open('/opt/evenbench/x', 'w')"])
    return [*wrong, *(["it can write to its own root"] if write.exit_code == 0 else [])]


@pytest.mark.parametrize(("cell", "places"), [
    (CELL, 1), (CELL._replace(measure="check", input="synthetic"), 1), (CELL._replace(measure="operators"), 1),
    (CELL._replace(nodes=3, parallel="ps-sync"), 3)], ids=["one node", "a check", "a profile", "three nodes"])
def test_a_run_has_no_more_rights_than_it_needs(client: Any, launcher: DockerLauncher, data: Path, cell: Cell,
                                                places: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "x")
    running = runs.started(launcher, cell, data, "privileges.0.1")
    try:
        found = ours(client)
        assert places == len(found)
        assert [[]] * places == [excess(each) for each in found]
    finally:
        running.stop()


def test_what_tells_of_an_image_has_no_more_rights_either(client: Any) -> None:
    container = client.containers.run(f"evenbench:{SMALL}", entrypoint=["sleep", "60"], detach=True,
                                      **containers.question())
    try:
        assert [] == excess(container)
    finally:
        container.remove(force=True)


def test_too_many_rights_are_seen(client: Any, launcher: DockerLauncher) -> None:
    """That the test above can fail."""
    launcher.prepare([STACKS[SMALL]], quiet)
    container = client.containers.run(f"evenbench:{SMALL}", entrypoint=["sleep", "60"], detach=True, user="root",
                                      environment={"SECRET": "x"}, labels={OWNER: "0:0"}, network_mode="host",
                                      volumes={"/var/run": {"bind": "/host", "mode": "rw"}})
    try:
        words = " ".join(excess(container))
    finally:
        container.remove(force=True)
    for word in ("CapDrop", "SecurityOpt", "ReadonlyRootfs", "network host", "mount", "variable SECRET", "CapEff",
                 "NoNewPrivs", "Uid", "write to its own root"):
        assert word in words


def services(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The services and networks of a file, as compose understands it without anybody's variables."""
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "DOCKER_HOST")}
    found = subprocess.run(["docker", "compose", "-f", name, "config", "--format", "json"], cwd=paths.ROOT, env=kept,
                           capture_output=True, text=True, check=True)
    assert "" == found.stderr                  # no word of a variable that is not set
    content = json.loads(found.stdout)
    return content["services"], content.get("networks", {})


@pytest.mark.parametrize("name", FILES)
def test_no_service_of_compose_has_more_rights_than_it_needs(name: str) -> None:
    found, networks = services(name)
    # to become the owner of the results, and to be told of Ctrl-C then
    known = {"runner": {"user": "root", "cap_add": ["CHOWN", "KILL", "SETGID", "SETUID"]}}
    kernels = {"EVENBENCH_KERNELS": "/var/tmp"}      # a volume of their own, where compiled GPU kernels are kept
    for each, service in found.items():
        allowed = known.get(each, {})
        assert (["ALL"], ["no-new-privileges:true"], True) == (service["cap_drop"], service["security_opt"],
                                                               service["read_only"]), each
        assert (allowed.get("user"), allowed.get("cap_add")) == (service.get("user"), service.get("cap_add")), each
        assert not {"privileged", "ports", "expose", "pid", "ipc", "devices", "volumes_from", "group_add",
                    "userns_mode", "cgroup_parent", "sysctls", "extra_hosts", "external_links"} & service.keys(), each
        assert "none" == service.get("network_mode") or service["networks"].keys() <= networks.keys(), each
        assert each == "runner" or len(service.get("networks", ())) < 2, each         # one stack's nodes on each
        targets = {mount["target"]: mount["type"] for mount in service.get("volumes", [])}
        assert targets.keys() <= {"/data", "/results", "/var/tmp", "/compose.yaml"}, each
        assert "volume" == targets.get("/var/tmp", "volume"), each
        said = {name: value for name, value in (service.get("environment") or {}).items() if name != "EVENBENCH_SECRET"}
        assert each == "runner" or said in ({}, kernels), each
        assert "docker.sock" not in json.dumps(service), each
    assert all(network["internal"] for network in networks.values())
