"""The energy of CPU packages, by made trees of the kernel's counters."""

from pathlib import Path

import pytest

from runner.machine.cpu_energy import Meter, zones
from tests.clock import FakeClock
from tests.made_files import files


def zone(root: Path, name: str, label: str, microjoules: int | None, reach: int = 1_000_000_000) -> Path:
    counter = {} if microjoules is None else {"energy_uj": f"{microjoules}\n"}
    return files(root / "sys/class/powercap" / name,
                 {"name": f"{label}\n", "max_energy_range_uj": f"{reach}\n", **counter}) / "energy_uj"


def measured(root: Path, *later: int | None) -> dict[str, float | None]:
    """What a meter says of two seconds of steps, in which the first package's counter goes through these values."""
    clock = FakeClock(step=0.0)
    found = zones(root)
    first = next(iter(found), None)
    meter = Meter(found, clock)
    meter.total()
    meter.heard("warm")
    for value in later:
        clock.advance(2 / len(later))
        assert first is not None
        first.write_text(f"{value}\n" if value is not None else "")
        meter.heard("steps")
    return meter.ended()


def test_packages_count_and_their_parts_and_the_whole_platform_do_not(tmp_path: Path) -> None:
    packages = [zone(tmp_path, f"intel-rapl:{number}", f"package-{number}", 5) for number in (0, 1)]
    zone(tmp_path, "intel-rapl:0:0", "core", 5)
    zone(tmp_path, "intel-rapl:0:1", "dram", 5)
    zone(tmp_path, "intel-rapl:2", "psys", 5)
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 5)

    assert dict.fromkeys(packages, 1_000_000_000) == zones(tmp_path)


def test_a_counter_that_only_root_may_read_is_none_at_all(tmp_path: Path) -> None:
    assert {} == zones(tmp_path / "nothing")
    zone(tmp_path, "intel-rapl:0", "package-0", 5)
    zone(tmp_path, "intel-rapl:1", "package-1", None)

    assert {} == zones(tmp_path)


@pytest.mark.parametrize(("first", "later", "joules"), [
    (1_000_000, (31_000_000, 101_000_000), 100.0), (90_000_000, (98_000_000, 20_000_000), 40.0),       # it wraps around
    (1_000_000, (2_000_000, None, 9_000_000), None), (1_000_000, (), None)])        # it goes away; no timed steps
def test_energy_and_power_are_those_of_the_timed_steps(
        tmp_path: Path, first: int, later: tuple[int | None, ...], joules: float | None) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", first, reach=110_000_000)

    assert {"cpu_joules": joules, "cpu_energy_seconds": joules and 2.0, "cpu_watts": joules and joules / 2} == measured(
        tmp_path, *later)


def test_what_others_take_between_a_run_s_turns_is_not_its_own(tmp_path: Path) -> None:
    counter, clock = zone(tmp_path, "intel-rapl:0", "package-0", 0), FakeClock(step=0.0)
    meter = Meter(zones(tmp_path), clock)
    for at in (10, 60):                                  # a second and 10 J of its own, then 40 J of another's
        counter.write_text(f"{at * 1_000_000 - 10_000_000}\n")
        meter.heard("warm")
        clock.advance(1.0)
        counter.write_text(f"{at * 1_000_000}\n")
        meter.heard("steps")
        clock.advance(5.0)
    assert {"cpu_joules": 20.0, "cpu_energy_seconds": 2.0, "cpu_watts": 10.0} == meter.ended()
