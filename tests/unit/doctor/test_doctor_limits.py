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


def test_a_rootless_docker_without_delegated_cpus_names_what_it_lacks_and_the_delegation() -> None:
    finding = limits.examine({"CPUSet": False, "CpuCfsQuota": False, "MemoryLimit": True, **ROOTLESS}, None)

    assert ("fails", "a user's own engine (rootless) cannot limit a run's CPUs, a share of CPUs") == finding[1:3]
    assert "Delegate=cpu cpuset io memory pids" in finding.mend


def test_a_rootless_podman_is_believed_by_its_control_groups_and_not_by_its_flags() -> None:
    finding = limits.examine(DOCKER, podman(True, "v2", "memory", "pids"))

    assert ("fails", "a user's own engine (rootless) cannot limit a run's CPUs, a share of CPUs") == finding[1:3]
    assert "Delegate=cpu cpuset" in finding.mend


def test_what_version_1_cannot_delegate_is_measured_otherwise() -> None:
    assert "version 1 cannot be delegated" in limits.examine(DOCKER, podman(True, "v1")).mend


def test_a_kernel_without_control_groups_is_no_matter_of_delegation() -> None:
    finding = limits.examine({**DOCKER, "MemoryLimit": False}, None)

    assert ("fails", "root's engine cannot limit a run's memory") == finding[1:3]
    assert "kernel" in finding.mend
