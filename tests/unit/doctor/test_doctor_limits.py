"""What the doctor says of engines that cannot hold a run to its CPUs; answers of real engines, shortened."""

from typing import Any

import pytest

from runner.doctor import limits

CAN = {"CPUSet": True, "CpuCfsQuota": True, "MemoryLimit": True}
DOCKER = {**CAN, "CgroupVersion": "1", "SecurityOptions": ["name=seccomp,profile=default"]}
ROOTLESS = {"CgroupVersion": "2", "SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"]}


def podman(is_rootless: bool, version: str, *controllers: str) -> dict[str, Any]:
    return {"host": {"cgroupControllers": [*controllers], "cgroupVersion": version,
                     "security": {"rootless": is_rootless}}}


@pytest.mark.parametrize(("info", "told"), [
    (DOCKER, None), (DOCKER, podman(False, "v1", "cpuset", "cpu", "cpuacct", "blkio", "memory", "pids")),
    ({**CAN, **ROOTLESS}, None), (CAN, podman(True, "v2", "cpuset", "cpu", "io", "memory", "pids"))])
def test_an_engine_that_can_limit_all_is_good(info: dict[str, Any], told: dict[str, Any] | None) -> None:
    assert "good" == limits.examine(info, told).grade


CPUS = "a user's own engine (rootless) cannot limit a run's CPUs, a share of CPUs"


@pytest.mark.parametrize(("info", "told", "found", "mend"), [
    ({**CAN, "CPUSet": False, "CpuCfsQuota": False, **ROOTLESS}, None, CPUS, "Delegate=cpu cpuset io memory pids"),
    # believed by its control groups, not by its flags
    (DOCKER, podman(True, "v2", "memory", "pids"), CPUS, "Delegate=cpu cpuset"),
    (DOCKER, podman(True, "v1"), "a user's own engine (rootless)", "version 1 cannot be delegated"),
    ({**DOCKER, "MemoryLimit": False}, None, "root's engine cannot limit a run's memory", "kernel")])
def test_an_engine_names_what_it_cannot_limit_and_what_mends_that(
        info: dict[str, Any], told: dict[str, Any] | None, found: str, mend: str) -> None:
    finding = limits.examine(info, told)

    assert "fails" == finding.grade and finding.found.startswith(found) and mend in finding.mend
