"""The doctor of GPUs: each lack with the command that mends it."""

from pathlib import Path
from typing import Any

import pytest

from runner.doctor import gpu
from runner.findings import Finding
from runner.machine import nvml
from runner.stacks.definition import read_all
from tests.fake_nvml import H100, V100, FakeGpu, FakeNvml

STACKS = read_all(Path(__file__).parents[3] / "docker")
GOOD = V100[0]._replace(persistence=1, ecc=(1, 1))
WITH_TOOLKIT = {"Runtimes": {"runc": {}, "nvidia": {}}}


def result(*fakes: FakeGpu, info: Any = WITH_TOOLKIT, driver: str = "580.95.05", failure: str = "",
          parameters: Path = Path("/nowhere")) -> dict[str, Finding]:
    library = FakeNvml(*fakes, driver=driver, failure=failure)
    findings = gpu.examine(STACKS, nvml.observe(library), nvml.computing(library), info, parameters)
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


def test_closed_counters_are_noted_with_the_module_option_that_opens_them(tmp_path: Path) -> None:
    parameters = tmp_path / "params"
    parameters.write_text("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n")
    finding = result(GOOD, parameters=parameters)["gpu counters"]
    assert "note" == finding.grade and "NVreg_RestrictProfilingToAdminUsers=0" in finding.mend
    parameters.write_text("RmProfilingAdminOnly: 0\n")
    assert "good" == result(GOOD, parameters=parameters)["gpu counters"].grade
