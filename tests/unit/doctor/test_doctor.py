"""What the doctor says of GPUs, engines and a machine's pace: each lack with the command that mends it."""

import re
from pathlib import Path
from typing import Any

import pytest

from runner.doctor import gpu
from runner.doctor.host import engine_limits, groups_told, lacking, left_told, pace_told, stolen_share
from runner.findings import Finding
from runner.machine import nvml
from runner.machine.host import CpuSeconds
from runner.machine.pace import Pace
from runner.stacks.definition import read_all
from tests.fake_nvml import H100, V100, FakeGpu, FakeNvml
from tests.made_files import files

STACKS = read_all(Path(__file__).parents[3] / "docker")
GOOD = V100[0]._replace(persistence=1, ecc=(1, 1))
WITH_TOOLKIT = {"Runtimes": {"runc": {}, "nvidia": {}}}


def result(*fakes: FakeGpu, info: Any = WITH_TOOLKIT, driver: str = "580.95.05", failure: str = ""
           ) -> dict[str, Finding]:
    library = FakeNvml(*fakes, driver=driver, failure=failure)
    findings = gpu.examine(STACKS, nvml.observe(library), nvml.computing(library), info)
    return {finding.what: finding for finding in findings}


def test_a_gpu_that_is_set_up_for_measuring_has_only_good_findings() -> None:
    assert {"good"} == {finding.grade for finding in result(GOOD).values()}


def test_a_machine_without_a_gpu_has_one_note_with_nvml_s_own_words() -> None:
    only, = result(failure="NVML Shared Library Not Found").values()
    assert ("gpu", "note", "none: NVML Shared Library Not Found") == only[:3]
    assert "driver" in only.mend


def test_an_engine_without_the_toolkit_fails_with_its_exact_words_and_what_mends_it() -> None:
    finding = result(GOOD, info={"Runtimes": {"runc": {}}})["container toolkit"]
    assert "fails" == finding.grade
    assert 'could not select device driver "" with capabilities: [[gpu compute utility]]' in finding.found
    assert "nvidia-ctk runtime configure --runtime=docker" in finding.mend
    by_devices = {"Runtimes": {}, "DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=0"}]}
    assert "good" == result(GOOD, info=by_devices)["container toolkit"].grade
    assert "container toolkit" not in result(GOOD, info=None)                   # without an engine


def test_a_driver_that_is_too_old_or_cannot_compile_a_stack_s_code_names_the_stacks() -> None:
    finding = result(GOOD, driver="450.80.02")["gpu driver"]
    stacks = "jax-0.10-gpu, lstm-cudnn, tf-1.15-nv, tf-2.21-gpu, tf-2.5-gpu, torch-2.13-gpu"
    assert f"450.80.02, too old for {stacks}" == finding.found and "580.65.06" in finding.mend
    assert [True, False] == ["tf-2.21-gpu" in result(gpu, driver="550.54.15")["gpu driver"].found
                             for gpu in (H100, GOOD)]


def test_stacks_are_told_apart_by_native_code_code_that_is_compiled_first_and_none() -> None:
    found = result(H100)["gpu stacks"].found
    assert ("native code: jax-0.10-gpu, lstm-cudnn, tf-1.15-nv, torch-2.13-gpu; "
            "compiled at the first run, and kept: tf-2.12-gpu, tf-2.21-gpu, tf-2.5-gpu; "
            "no code: mxnet-1.7-gpu, tf-1.15-gpu, tf-2.1-gpu, torch-1.4, torch-1.7, torch-2.0") == found


@pytest.mark.parametrize(("change", "what", "mend"), [
    ({"persistence": 0}, "gpu 0 persistence", "sudo nvidia-smi -i 0 -pm 1"),
    ({"pids": (77, 78)}, "gpu 0 processes", "end them: kill 77 78"),
    ({"clock_mhz": 900}, "gpu 0 clocks", "sudo nvidia-smi -i 0 -rac"),
    ({"ecc": (0, 0)}, "gpu 0 ECC", "sudo nvidia-smi -i 0 -e 1, then reboot"),
])
def test_what_disturbs_a_gpu_is_noted_with_the_command_against_it(change: dict[str, Any], what: str,
                                                                  mend: str) -> None:
    finding = result(GOOD._replace(**change))[what]
    assert ("note", mend) == (finding.grade, finding.mend)


CAN = {"CPUSet": True, "CpuCfsQuota": True, "MemoryLimit": True}
DOCKER = {**CAN, "CgroupVersion": "1", "SecurityOptions": ["name=seccomp,profile=default"]}
ROOTLESS = {"CgroupVersion": "2", "SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"]}


def podman(is_rootless: bool, version: str, *controllers: str) -> dict[str, Any]:
    return {"host": {"cgroupControllers": [*controllers], "cgroupVersion": version,
                     "security": {"rootless": is_rootless}}}


CPUS = "a user's own engine (rootless) cannot limit a run's CPUs, a share of CPUs"


@pytest.mark.parametrize(("info", "told", "grade", "found", "mend"), [
    (DOCKER, None, "good", "root's engine: a run's CPUs", ""),
    (DOCKER, podman(False, "v1", "cpuset", "cpu", "cpuacct", "blkio", "memory", "pids"), "good", "root's engine: ", ""),
    ({**CAN, **ROOTLESS}, None, "good", "a user's own engine (rootless): ", ""),
    (CAN, podman(True, "v2", "cpuset", "cpu", "io", "memory", "pids"), "good", "a user's own engine (rootless): ", ""),
    ({**CAN, "CPUSet": False, "CpuCfsQuota": False, **ROOTLESS}, None, "fails", CPUS, "Delegate=cpu cpuset io memory"),
    # believed by its control groups, not by its flags
    (DOCKER, podman(True, "v2", "memory", "pids"), "fails", CPUS, "Delegate=cpu cpuset"),
    (DOCKER, podman(True, "v1"), "fails", "a user's own engine (rootless)", "version 1 cannot be delegated"),
    ({**DOCKER, "MemoryLimit": False}, None, "fails", "root's engine cannot limit a run's memory", "kernel")])
def test_an_engine_names_what_it_cannot_limit_and_what_mends_that(
        info: dict[str, Any], told: dict[str, Any] | None, grade: str, found: str, mend: str) -> None:
    finding = engine_limits(info, told)

    assert grade == finding.grade and finding.found.startswith(found) and mend in finding.mend


EVEN, UNEVEN = Pace(1, 0.0005, 0.0006), Pace(0, 0.0005, 0.0009)


@pytest.mark.parametrize(("seen", "stolen_share", "is_throttled", "grade", "told", "mend"), [
    (EVEN, 0.005, False, "good", r"0\.5 to 0\.6 ms .*\(CPU 1\)$", "^$"),
    (EVEN, 0.08, False, "note", r"\(CPU 1\);.* other guests .*8\.0 %", "end other programs;.* more --rounds"),
    (UNEVEN, 0.0, False, "note", r"0\.5 to 0\.9 ms .*\(CPU 0\)$", "end other programs;.* more --rounds"),
    (UNEVEN, 0.0, True, "note", "; the quota of its own control group held it up$", "^raise the quota")])
def test_a_pace_is_good_where_work_takes_alike_and_neither_guests_nor_its_quota_take_time(
        seen: Pace, stolen_share: float, is_throttled: bool, grade: str, told: str, mend: str) -> None:
    finding = pace_told(seen, stolen_share, is_throttled)

    assert grade == finding.grade and re.search(told, finding.found) and re.search(mend, finding.mend)


def test_other_guests_share_of_the_time_is_never_more_than_all_of_it_on_however_many_cpus() -> None:
    assert [0.0, 0.25, 0.75] == [stolen_share(CpuSeconds(10.0, 1.0), CpuSeconds(*after))
                                 for after in ((12.0, 1.0), (13.0, 2.0), (14.0, 13.0))]


@pytest.mark.parametrize(("error", "found", "mend"), [
    ("no engine at tcp://127.0.0.1:9 (Error (1): HTTP: refused): run `a`", "no engine at tcp://127.0.0.1:9 (Error (1): "
     "HTTP: refused)", "run `a`"), ("no Python 3.6: run `b: c`", "no Python 3.6", "run `b: c`"), ("gone", "gone", "")])
def test_an_error_is_told_apart_from_what_mends_it_whatever_stands_in_its_brackets(error: str, found: str, mend: str
                                                                                   ) -> None:
    assert Finding("engine", "note", found, mend) == lacking("engine", error, "note")


@pytest.mark.parametrize(("names", "grade", "told"), [
    ((), "note", "none visible"), (("memory/tasks",), "good", "version 1"), (("cgroup.controllers",), "good",
                                                                           "version 2")])
def test_control_groups_are_told_by_what_is_mounted(names: tuple[str, ...], grade: str, told: str, tmp_path: Path
                                                    ) -> None:
    finding = groups_told(files(tmp_path, dict.fromkeys(names, "")))

    assert grade == finding.grade and finding.found.startswith(told)


def test_what_runners_that_are_gone_have_left_is_told() -> None:
    assert [] == left_told(0, 0)
    assert ["1 container and 2 temporary folders of runners that are gone"] == [each.found for each in left_told(1, 2)]
