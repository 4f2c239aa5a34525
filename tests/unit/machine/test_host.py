"""What others took of the CPUs that a run may use."""

from types import MappingProxyType

import pytest

from runner.machine import host, kernel_files
from runner.machine.host import CpuSeconds, Reading, foreign_share, reading, seconds_by_cpu
from tests.fakes import READING

STAT = """cpu  100 0 50 900 10 5 5 7 0 0
cpu0 40 0 20 400 5 2 3 7 0 0
cpu2 60 0 30 500 5 3 2 0 0 0
intr 12345 0 0
ctxt 99
"""


def at(busy: float, *each: float) -> Reading:
    """A machine of eight CPUs of which the first were busy so long."""
    return READING._replace(all_cpus=CpuSeconds(busy), cpus=8,
                            by_cpu=MappingProxyType({cpu: CpuSeconds(seconds) for cpu, seconds in enumerate(each)}))


def test_busy_seconds_of_each_cpu_leave_idle_and_waiting_out_and_offline_cpus_have_none() -> None:
    # 40 + 20 + 2 + 3 and 60 + 30 + 3 + 2 hundredths of a second
    assert {0: CpuSeconds(0.65, stolen=0.07), 2: CpuSeconds(0.95)} == seconds_by_cpu(STAT, 100)
    assert {} == seconds_by_cpu("", 100) == seconds_by_cpu("cpu0 1 2\ncpux 1 2 3 4 5 6 7 8\n", 100)


def test_what_others_do_on_the_rest_of_the_machine_does_not_disturb_a_run() -> None:
    # ten seconds in which the run used 9.5 s of CPU 0, which was busy for 10 s, and others 30 s of CPUs 1 to 3
    before, after = at(100.0, 1.0, 1.0, 1.0, 1.0), at(140.0, 11.0, 11.0, 11.0, 11.0)
    assert 0.05 == foreign_share(before, after, 9.5, 10.0, (0,))
    assert (20.0 - 9.5) / 20.0 == foreign_share(before, after, 9.5, 10.0, (0, 1))


def test_where_only_the_whole_machine_is_known_its_cpus_are_what_the_share_is_of() -> None:
    before, after = at(100.0), at(140.0)
    assert (40.0 - 9.5) / 80.0 == foreign_share(before, after, 9.5, 10.0, (0,))
    assert (40.0 - 9.5) / 80.0 == foreign_share(before, after, 9.5, 10.0)


def test_what_the_hypervisor_gave_to_other_guests_went_to_others() -> None:
    # ten seconds of two CPUs in which others of this guest had half a second, and other guests three of CPU 1
    before, after = at(100.0, 1.0, 1.0), at(116.5, 11.0, 7.5)
    stolen = after._replace(all_cpus=CpuSeconds(116.5, 5.0), by_cpu={0: CpuSeconds(11.0), 1: CpuSeconds(7.5, 3.0)})
    assert (0.5 + 3.0) / 20.0 == foreign_share(before, stolen, 16.0, 10.0, (0, 1))
    assert (0.5 + 5.0) / 80.0 == foreign_share(before, stolen, 16.0, 10.0)


def test_a_run_whose_own_time_holds_what_was_stolen_leaves_that_to_others_all_the_same() -> None:
    stolen = at(110.0)._replace(all_cpus=CpuSeconds(110.0, 8.0))
    assert 8.0 / 80.0 == foreign_share(at(100.0), stolen, 18.0, 10.0)
    assert 0.0 == foreign_share(stolen, at(118.0), 18.0, 10.0)            # some kernels count stolen time back


def test_a_run_that_used_more_than_is_seen_leaves_nothing_to_others_and_no_time_is_no_share() -> None:
    assert 0.0 == foreign_share(at(1.0, 1.0), at(2.0, 2.0), 5.0, 10.0, (0,))
    assert foreign_share(at(1.0), at(2.0), 0.0, 0.0) is None


def test_this_machine_tells_of_its_cpus_and_none_of_it_is_stored() -> None:
    host_now = reading()
    assert host_now.cpus >= 1
    assert {"load_1m", "frequency_hz", "free_bytes", "swap_used_bytes"} == host_now.record().keys()


@pytest.mark.parametrize(("cpuinfo", "name"), [
    ("processor: 0\nmodel name\t: AMD EPYC\n", "AMD EPYC"),
    ("processor: 0\nCPU implementer: 0x41\nCPU part: 0xd0c\n\nprocessor: 1\nCPU part: 0xd40\n",
     "aarch64 implementer 0x41 part 0xd0c"), ("", "aarch64")])
def test_a_cpu_without_a_name_has_its_numbers(cpuinfo: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_files, "content", lambda path: cpuinfo)
    monkeypatch.setattr(host.platform, "machine", lambda: "aarch64")
    assert name == host.observe().cpu


@pytest.mark.parametrize(("memory", "limit"), [(8 * 2**30, 6 * 2**30), (1_500_000_000, 2**30),
                                               (600_000_000, 600_000_000)])
def test_a_run_s_memory_is_never_more_than_there_is(memory: int, limit: int) -> None:
    assert limit == host.Machine("a CPU", 2, memory, "", "", "").limit_bytes
