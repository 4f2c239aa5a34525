"""GPU samples to energy, clocks and throttling of the timed steps."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.machine.nvml import GpuReading, Reader
from runner.machine.telemetry import Sample, Watch, seen
from runner.measuring.bench import Bench
from runner.results import store
from tests.clock import FakeClock
from tests.fake_session import bench, run
from tests.fakes import good_lines

QUIET = GpuReading(utilisation=0.0)


def gpu(**told: Any) -> GpuReading:
    return QUIET._replace(**told)


def samples(*each: GpuReading) -> list[Sample]:
    return [Sample(float(index), (reading,)) for index, reading in enumerate(each)]


def readings(taken: Sequence[Sample], window: tuple[float, float] | None) -> dict[str, float | None]:
    return seen(taken, window, None)[0]


class Reads(Reader):
    """Gives its readings one after the other, and the last one for ever."""

    def __init__(self, *each: GpuReading) -> None:
        self._each, self.is_closed = list(each), False

    def __call__(self) -> tuple[GpuReading, ...]:
        return (self._each.pop(0) if len(self._each) > 1 else self._each[0],)

    def close(self) -> None:
        self.is_closed = True


PAIR = (gpu(power_watts=100.0), gpu(power_watts=50.0))
SILENT = (gpu(power_watts=100.0), QUIET)                  # one tells no power: no watts instead of zero
HELD = gpu(sm_clock_hz=1.2e9, throttle=("applications_clocks",))
CAPPED = gpu(throttle=("sw_power_cap",))


@pytest.mark.parametrize(("taken", "window", "expected"), [
    (samples(*(gpu(energy_joules=joules, power_watts=1.0) for joules in (0.0, 100.0, 350.0, 400.0, 1000.0))),
     (1.0, 3.0), {"joules": 300.0, "seconds": 2.0, "watts": 150.0}),
    # (100 + 200) / 2 * 1 s + (200 + 300) / 2 * 1 s, and of two GPUs
    (samples(*(gpu(power_watts=watts) for watts in (100.0, 200.0, 300.0))), (0.0, 2.0),
     {"joules": 400.0, "watts": 200.0}),
    ([Sample(0.0, PAIR), Sample(2.0, PAIR)], (0.0, 2.0), {"watts": 150.0}),
    ([Sample(0.0, SILENT), Sample(2.0, SILENT)], (0.0, 2.0), {"watts": None, "joules": None, "throttled_share": None}),
    (samples(gpu(sm_clock_hz=1.0e9, utilisation=0.5, memory_bytes=4, temperature=60.0),
             gpu(sm_clock_hz=2.0e9, utilisation=1.0, memory_bytes=2, temperature=70.0)), (0.0, 1.0),
     {"sm_clock": 1.5e9, "utilisation": 0.75, "memory_bytes": 4, "temperature": 70.0}),
    (samples(CAPPED, CAPPED, CAPPED, gpu(throttle=())), (0.0, 3.0),
     {"power_capped_share": 0.75, "throttled_share": 0.0}),
    # clocks that somebody holds show as equal, and as defined by a user
    (samples(HELD, HELD), (0.0, 1.0), {"sm_clock_low": 1.2e9, "sm_clock_high": 1.2e9, "held_clock_share": 1.0,
                                       "throttled_share": 0.0}),
    (samples(gpu(sm_clock_hz=1.2e9, throttle=()), gpu(sm_clock_hz=1.9e9, throttle=())), (0.0, 1.0),
     {"sm_clock_low": 1.2e9, "sm_clock_high": 1.9e9, "held_clock_share": 0.0})],
    ids=["the counter's difference", "the area under the power", "of all GPUs", "one is silent", "means and peaks",
         "power cap", "held clocks", "floating clocks"])
def test_readings_are_of_the_timed_steps(taken: Sequence[Sample], window: tuple[float, float],
                                         expected: dict[str, float | None]) -> None:
    found = readings(taken, window)
    assert expected == {name: found[f"gpu_{name}"] for name in expected}


def test_without_timed_steps_nothing_is_told() -> None:
    assert {None} == set(readings(samples(gpu(power_watts=1.0), gpu(power_watts=1.0)), None).values())


@pytest.mark.parametrize(("is_instant", "count", "watts"), [(True, 5, 150.0), (True, 4, None), (False, 5, None)])
def test_of_less_than_a_second_readings_of_the_moment_say_the_power_and_the_counter_nothing(
        is_instant: bool, count: int, watts: float | None) -> None:
    # the counter, which moves now and then, saw 30 J in 0.4 s; 100, 150, 200, 150, 100 W at the moments are 150 W
    shown = (100.0, 150.0, 200.0, 150.0, 100.0)[:count]
    taken = [Sample(index / 10, (gpu(energy_joules=75.0 * index / 10, power_watts=each, is_instant=is_instant),))
             for index, each in enumerate(shown)]
    found = readings(taken, (0.0, 0.4))

    assert found["gpu_watts"] == (watts and pytest.approx(watts)) and (watts or found["gpu_joules"] is None)


@pytest.mark.parametrize(("told", "stored"), [
    ({"is_instant": True}, {"power": "instant"}), ({"is_instant": False}, {"power": "driver's own average"}),
    ({"is_instant": None}, {}), ({"gone": ("nvmlDeviceGetX",)}, {"gone": ["nvmlDeviceGetX"]})])
def test_what_the_power_readings_are_of_and_what_no_function_tells_is_stored(
        told: dict[str, Any], stored: dict[str, Any]) -> None:
    _, record = seen(samples(gpu(**told), gpu(**told)), (0.0, 1.0), None)
    assert stored == {name: record[name] for name in ("power", "gone") if record.get(name)}


@pytest.mark.parametrize(("reason", "others", "is_throttled"), [
    ("sw_power_cap", 1, False), ("gpu_idle", 1, False), ("hw_thermal", 1, True), ("hw_power_brake", 1, True),
    ("hw_thermal", 29, False)])
def test_heat_and_a_weak_supply_throttle_and_a_power_cap_or_one_sample_in_thirty_does_not(
        reason: str, others: int, is_throttled: bool) -> None:
    _, record = seen(samples(gpu(throttle=(reason,)), *[gpu(throttle=())] * others), (0.0, 40.0), None)
    assert ([reason], is_throttled) == (record["throttle"], record["throttled"])


def test_the_timed_steps_lie_between_the_warm_up_and_the_last_block() -> None:
    watch = Watch(Reads(*(gpu(energy_joules=joules) for joules in (0.0, 7.0, 17.0, 27.0))), FakeClock())
    for event in ("start", "warm", "steps", "steps"):
        watch.heard(event)
    found, _ = watch.ended()
    assert (20.0, 2.0) == (found["gpu_joules"], found["gpu_seconds"])


@pytest.mark.parametrize(("used", "step", "waits", "is_idle"), [
    ((0.9, 0.4, 0.0), 1.0, 2, True), ((0.9,), 10.0, 6, False)])
def test_a_watch_waits_until_the_gpu_is_idle_or_a_minute_is_over_and_closes_its_reader(
        used: tuple[float, ...], step: float, waits: int, is_idle: bool) -> None:
    reads, waited = Reads(*(gpu(utilisation=each) for each in used)), list[float]()
    watch = Watch(reads, FakeClock(step=step), waited.append)
    watch.wait_idle()
    assert waits == len(waited)
    assert (is_idle, True) == (watch.ended()[1]["was_idle"], reads.is_closed)


def test_the_thread_samples_by_itself_until_the_end() -> None:
    asked = threading.Semaphore(0)

    class Counted(Reads):
        def __call__(self) -> tuple[GpuReading, ...]:
            asked.release()
            return super().__call__()

    watch = Watch(Counted(gpu(power_watts=5.0)))
    watch.heard("start")
    watch.start()
    assert all(asked.acquire(timeout=60) for _ in range(5))       # of which four are kept by then
    watch.heard("steps")
    found, record = watch.ended()
    assert record["samples"] >= 4 and 5.0 == pytest.approx(found["gpu_watts"])


def ending(folder: Path, lines: list[bytes], **more: Any) -> store.Record:
    """The record of how a session's one run ended."""
    made: Bench = bench(folder, lambda cell, run: lines)
    assert run(made._replace(plan=made.plan._replace(rounds=1, cells=made.plan.cells[:1]), **more))
    record, = [record for record in store.read(folder) if record["event"] == "ending"]
    return record


@pytest.mark.parametrize("reasons", [(), ("hw_thermal",)])
def test_what_the_gpu_did_is_stored_with_the_run_s_ending(tmp_path: Path, reasons: tuple[str, ...]) -> None:
    watch = Watch(Reads(gpu(power_watts=80.0, throttle=reasons)), FakeClock())
    record = ending(tmp_path / "r", good_lines(), watches=lambda planned: watch)

    assert 80.0 == pytest.approx(record["host"]["gpu_watts"])
    assert {"throttle": [*reasons], "throttled": bool(reasons), "was_idle": True} == {
        name: value for name, value in record["gpu"].items() if name != "samples"}


@pytest.mark.parametrize(("told", "stored"), [
    ({"allocator_peak": {"allocated": 7, "reserved": 9}}, (7, 9, None)),
    ({"allocator_peak": {"allocated": "x"}}, (None, None, None)), ({"allocator_peak": None}, (None, None, None)),
    ({"gpu_libraries": {"cudnn": "9.20.0"}}, (None, None, {"cudnn": "9.20.0"}))])
def test_what_the_framework_held_and_loaded_is_stored_with_the_ending(
        tmp_path: Path, told: dict[str, Any], stored: tuple[Any, ...]) -> None:
    end = {"event": "end", "status": "ok", "message": "", "peak_bytes": 1, **told}
    record = ending(tmp_path / "r", [*good_lines()[:-1], json.dumps(end).encode() + b"\n"])
    assert stored == (record["host"].get("gpu_allocated_bytes"), record["host"].get("gpu_reserved_bytes"),
                      record.get("gpu_libraries"))
