"""What NVML tells becomes numbers in SI units; what it does not tell is None."""

from types import SimpleNamespace
from typing import Any

import pytest

from runner.machine import nvml
from tests.fake_nvml import H100, RTX, SLICED, V100, FakeNvml, NVMLError


def test_a_gpu_is_told_by_its_uuid_name_capability_and_memory() -> None:
    library = FakeNvml(*RTX, driver=b"535.104.05")
    here = nvml.observe(library)
    assert [("GPU-r0", "7.5", 11 * 2**30), ("GPU-r1", "7.5", 11 * 2**30)] == [
        (gpu.uuid, gpu.capability, gpu.memory_bytes) for gpu in here.gpus]
    assert ("535.104.05", "", 0) == (here.driver, here.problem, library.open)


def test_a_gpu_in_mig_mode_counts_as_its_slices() -> None:
    here = nvml.observe(FakeNvml(SLICED, H100))
    assert [("MIG-1", True), ("MIG-2", True), ("GPU-h", False)] == [(gpu.uuid, gpu.is_slice) for gpu in here.gpus]


def test_a_machine_whose_driver_knows_no_gpu_says_so() -> None:
    assert "the driver answers, and knows no GPU" == nvml.observe(FakeNvml()).problem


def test_readings_are_in_si_units() -> None:
    reader = nvml.Reader(["GPU-v0"], FakeNvml(V100[0]._replace(millijoules=5_000, milliwatts=250_500, throttle=0x24)))
    assert (nvml.GpuReading(5.0, 250.5, 0.9, 2**30, 1.38e9, 61.0, ("sw_power_cap", "sw_thermal"), is_instant=True,
                            memory_clock_hz=1.38e9),) == reader()


def test_what_a_gpu_does_not_tell_is_none_and_not_zero() -> None:
    reading, = nvml.Reader(["GPU-v0"], FakeNvml(V100[0]._replace(throttle=None)))()
    assert (None, None, None) == (reading.energy_joules, reading.power_watts, reading.throttle)


def test_the_library_is_let_go_when_a_reader_is_closed() -> None:
    library = FakeNvml(V100[0])
    reader = nvml.Reader(["GPU-v0"], library)
    assert 1 == library.open
    reader.close()
    assert 0 == library.open


def test_a_reader_without_a_driver_is_refused() -> None:
    with pytest.raises(NVMLError, match="Driver Not Loaded"):
        nvml.Reader([], FakeNvml(failure="Driver Not Loaded"))


def test_the_state_of_a_gpu_is_told_for_the_doctor() -> None:
    state, = nvml.states(FakeNvml(V100[0]._replace(persistence=1, ecc=(0, 1), pids=(77,))))
    assert (True, False, None, (77,), 1.53e9) == (state.persistence, state.ecc, state.mig, state.processes,
                                                  state.highest_clock_hz)
    assert [] == nvml.states(FakeNvml(failure="gone"))


def test_the_power_of_the_moment_is_taken_where_the_driver_tells_it() -> None:
    reading, = nvml.Reader(["GPU-h"], FakeNvml(H100._replace(milliwatts=300_000, instant_milliwatts=412_000)))()
    assert (412.0, True) == (reading.power_watts, reading.is_instant)


@pytest.mark.parametrize(("capability", "is_instant"), [
    ((7, 0), True), ((8, 0), True), ((8, 6), False), ((9, 0), False)])
def test_power_without_that_field_is_of_the_moment_up_to_the_a100_and_then_a_mean(
        capability: tuple[int, int], is_instant: bool) -> None:
    reading, = nvml.Reader(["GPU-h"], FakeNvml(H100._replace(capability=capability, milliwatts=300_000)))()
    assert (300.0, is_instant) == (reading.power_watts, reading.is_instant)


EVENTS, REASONS = "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
HEAT = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")


@pytest.mark.parametrize("gone", [(EVENTS, HEAT[0]), (REASONS, HEAT[1])])
def test_either_name_of_a_question_that_was_renamed_is_enough(gone: tuple[str, ...]) -> None:
    reading, = nvml.Reader(["GPU-h"], FakeNvml(H100._replace(throttle=0x4), gone=gone))()
    assert (("sw_power_cap",), 61.0, ()) == (reading.throttle, reading.temperature, reading.gone)


def test_a_function_that_is_gone_is_told_apart_from_a_gpu_that_does_not_tell() -> None:
    reading, = nvml.Reader(["GPU-h"], FakeNvml(H100, gone=(EVENTS, REASONS)))()
    assert (None, (EVENTS,)) == (reading.throttle, reading.gone)
    silent, = nvml.Reader(["GPU-h"], FakeNvml(H100._replace(throttle=None)))()
    assert (None, ()) == (silent.throttle, silent.gone)


def test_what_a_result_is_read_with_is_stored_for_each_gpu() -> None:
    record = nvml.observe(FakeNvml(H100._replace(limit_milliwatts=700_000, ecc=(1, 1)))).record()
    device, = record["devices"]
    assert ("13.2", 700.0, "96.00.89.00.01", True, 5, 16) == (
        record["cuda"], *(device[name] for name in ("power_limit_watts", "vbios", "ecc", "pcie_generation",
                                                    "pcie_width")))
    assert device["mig"] is None


def test_whether_the_gpus_compute_confidentially_is_stored_where_the_driver_tells_it() -> None:
    library: Any = FakeNvml(H100)
    assert nvml.observe(library).record()["devices"][0]["confidential_computing"] is None
    library.nvmlSystemGetConfComputeState = lambda: SimpleNamespace(ccFeature=1)
    assert nvml.observe(library).record()["devices"][0]["confidential_computing"] is True


def test_the_application_clock_is_stored_as_long_as_drivers_tell_it() -> None:
    device, = nvml.observe(FakeNvml(H100)).record()["devices"]
    assert 1.38e9 == device["application_sm_clock_hz"]
    newer, = nvml.observe(FakeNvml(H100, gone=("nvmlDeviceGetApplicationsClock",))).record()["devices"]
    assert newer["application_sm_clock_hz"] is None
