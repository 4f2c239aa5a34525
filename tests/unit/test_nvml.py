"""What NVML tells becomes numbers in SI units; what it does not tell is None."""

import pytest

from runner.machine import nvml
from tests.fake_nvml import H100, RTX, SLICED, V100, FakeNvml, NVMLError


def test_a_gpu_is_told_by_its_uuid_name_capability_and_memory() -> None:
    library = FakeNvml(*RTX, driver=b"535.104.05")
    found = nvml.observe(library)
    assert [("GPU-r0", "7.5", 11 * 2**30), ("GPU-r1", "7.5", 11 * 2**30)] == [
        (gpu.uuid, gpu.capability, gpu.memory_bytes) for gpu in found.gpus]
    assert ("535.104.05", "", 0) == (found.driver, found.problem, library.open)


def test_a_gpu_in_mig_mode_counts_as_its_slices() -> None:
    found = nvml.observe(FakeNvml(SLICED, H100))
    assert [("MIG-1", True), ("MIG-2", True), ("GPU-h", False)] == [(gpu.uuid, gpu.is_slice) for gpu in found.gpus]


def test_a_machine_whose_driver_knows_no_gpu_says_so() -> None:
    assert "the driver answers, and knows no GPU" == nvml.observe(FakeNvml()).problem


def test_readings_are_in_si_units() -> None:
    reader = nvml.Reader(["GPU-v0"], FakeNvml(V100[0]._replace(millijoules=5_000, milliwatts=250_500, throttle=0x24)))
    assert (nvml.GpuReading(5.0, 250.5, 0.9, 2**30, 1.38e9, 61.0, ("sw_power_cap", "sw_thermal")),) == reader()


def test_what_a_gpu_does_not_tell_is_none_and_not_zero() -> None:
    found, = nvml.Reader(["GPU-v0"], FakeNvml(V100[0]._replace(throttle=None)))()
    assert (None, None, None) == (found.energy_joules, found.power_watts, found.throttle)


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
