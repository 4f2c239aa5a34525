"""What NVML tells becomes numbers in SI units; what it does not tell is None."""

from types import SimpleNamespace
from typing import Any

import pytest

from runner.machine import nvml
from tests.fake_nvml import H100, RTX, SLICED, V100, FakeNvml, NVMLError


def test_a_gpu_is_told_by_its_uuid_name_capability_and_memory() -> None:
    library = FakeNvml(*RTX, driver="535.104.05")
    here = nvml.observe(library)
    assert [("GPU-r0", "7.5", 11 * 2**30), ("GPU-r1", "7.5", 11 * 2**30)] == [
        (gpu.uuid, gpu.capability, gpu.memory_bytes) for gpu in here.gpus]
    assert ("535.104.05", "", 0) == (here.driver, here.problem, library.open)


def test_a_gpu_in_mig_mode_counts_as_its_slices_and_a_driver_that_knows_no_gpu_says_so() -> None:
    here = nvml.observe(FakeNvml(SLICED, H100))
    assert [("MIG-1", True), ("MIG-2", True), ("GPU-h", False)] == [(gpu.uuid, gpu.is_slice) for gpu in here.gpus]
    assert "the driver answers, and knows no GPU" == nvml.observe(FakeNvml()).problem


def test_readings_are_in_si_units() -> None:
    reader = nvml.Reader(["GPU-v0"], FakeNvml(V100[0]._replace(millijoules=5_000, milliwatts=250_500, throttle=0x24)))
    assert (nvml.GpuReading(5.0, 250.5, 0.9, 2**30, 1.38e9, 61.0, ("sw_power_cap", "sw_thermal"), is_instant=True,
                            memory_clock_hz=1.38e9),) == reader()


def test_the_library_is_let_go_when_a_reader_is_closed_and_one_without_a_driver_is_refused() -> None:
    library = FakeNvml(V100[0])
    reader = nvml.Reader(["GPU-v0"], library)
    assert 1 == library.open
    reader.close()
    assert 0 == library.open
    with pytest.raises(NVMLError, match="Driver Not Loaded"):
        nvml.Reader([], FakeNvml(failure="Driver Not Loaded"))


def test_processes_are_told_by_the_gpu_that_they_compute_on() -> None:
    assert {"GPU-v0": [77], "GPU-v1": []} == nvml.computing(FakeNvml(V100[0]._replace(pids=(77,)), V100[1]))
    assert {} == nvml.computing(FakeNvml(failure="gone"))


@pytest.mark.parametrize(("told", "watts", "is_instant"), [
    ({"instant_milliwatts": 412_000}, 412.0, True),                       # where the driver tells it
    # without that field it is of the moment up to the A100, and then a mean
    ({"capability": (7, 0)}, 300.0, True), ({"capability": (8, 0)}, 300.0, True),
    ({"capability": (8, 6)}, 300.0, False),
    ({"capability": (9, 0)}, 300.0, False)])
def test_power_is_of_the_moment_where_the_driver_or_the_gpu_s_age_says_so(
        told: dict[str, Any], watts: float, is_instant: bool) -> None:
    reading, = nvml.Reader(["GPU-h"], FakeNvml(H100._replace(milliwatts=300_000, **told)))()
    assert (watts, is_instant) == (reading.power_watts, reading.is_instant)


EVENTS, REASONS = "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
HEAT = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")


@pytest.mark.parametrize("gone", [(EVENTS, HEAT[0]), (REASONS, HEAT[1])])
def test_either_name_of_a_question_that_was_renamed_is_enough(gone: tuple[str, ...]) -> None:
    reading, = nvml.Reader(["GPU-h"], FakeNvml(H100._replace(throttle=0x4), gone=gone))()
    assert (("sw_power_cap",), 61.0, ()) == (reading.throttle, reading.temperature, reading.gone)


def test_what_a_gpu_does_not_tell_is_none_and_not_zero_and_a_function_that_is_gone_is_told() -> None:
    reading, = nvml.Reader(["GPU-h"], FakeNvml(H100, gone=(EVENTS, REASONS)))()
    assert (None, (EVENTS,)) == (reading.throttle, reading.gone)
    silent, = nvml.Reader(["GPU-v0"], FakeNvml(V100[0]._replace(throttle=None)))()
    assert (None, None, None, ()) == (silent.energy_joules, silent.power_watts, silent.throttle, silent.gone)


def test_what_a_result_is_read_with_is_stored_for_each_gpu() -> None:
    record = nvml.observe(FakeNvml(H100._replace(limit_milliwatts=700_000, ecc=(1, 1)))).record()
    device, = record["devices"]
    assert ("13.2", 700.0, "96.00.89.00.01", True, 5, 16) == (
        record["cuda"], *(device[name] for name in ("power_limit_watts", "vbios", "ecc", "pcie_generation",
                                                    "pcie_width")))
    assert device["mig"] is None


def test_what_only_some_drivers_tell_is_stored_where_they_do() -> None:
    library: Any = FakeNvml(H100)
    device, = nvml.observe(library).record()["devices"]
    assert (None, 1.38e9) == (device["confidential_computing"], device["application_sm_clock_hz"])
    library.nvmlSystemGetConfComputeState = lambda: SimpleNamespace(ccFeature=1)
    assert nvml.observe(library).record()["devices"][0]["confidential_computing"] is True
    newer, = nvml.observe(FakeNvml(H100, gone=("nvmlDeviceGetApplicationsClock",))).record()["devices"]
    assert newer["application_sm_clock_hz"] is None
