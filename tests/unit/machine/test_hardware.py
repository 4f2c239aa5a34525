"""What the kernel's files say of a machine."""

from pathlib import Path

import pytest

from runner.machine.hardware import hardware
from tests.made_files import files

CPU = "sys/devices/system/cpu"


@pytest.mark.parametrize(("texts", "facts"), [
    ({"sys/devices/system/node/node0/cpulist": "0", "sys/devices/system/node/node1/cpulist": "0",
      "sys/devices/system/node/possible": "0-1", f"{CPU}/cpu0/cache/index3/level": "3",
      f"{CPU}/cpu0/cache/index3/size": "32768K", "sys/devices/virtual/dmi/id/sys_vendor": "A vendor",
      "sys/devices/virtual/dmi/id/product_name": "A model"},
     {"numa_nodes": 2, "l3_bytes": 32 * 2**20, "product": "A vendor A model"}),
    # two sockets of two cores with two threads each
    ({f"{CPU}/cpu{cpu}/topology/{name}": str(number) for cpu in range(8)
      for name, number in (("physical_package_id", cpu // 4), ("core_id", cpu // 2 % 2))},
     {"sockets": 2, "cores": 4, "threads": 8}),
    ({f"{CPU}/intel_pstate/no_turbo": "0"}, {"turbo": "on"}), ({f"{CPU}/intel_pstate/no_turbo": "1"}, {"turbo": "off"}),
    ({f"{CPU}/cpufreq/boost": "1"}, {"turbo": "on"}), ({f"{CPU}/cpufreq/boost": "0"}, {"turbo": "off"}),
    ({f"{CPU}/smt/active": "0"}, {"smt": "off"}), ({f"{CPU}/smt/active": "1"}, {"smt": "on"}),
    ({"proc/cpuinfo": "processor\t: 0\nmicrocode\t: 0xd0003a5\nflags\t\t: fpu hypervisor avx\n\n"
                      "processor\t: 1\nmicrocode\t: 0x1\nflags\t\t: fpu"},
     {"microcode": "0xd0003a5", "is_virtual": True}),
    # the narrowest control group around us
    ({"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/cpu.max": "150000 100000",
      "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
      "sys/fs/cgroup/a/b/cpu.max": "max 100000", "sys/fs/cgroup/a/b/memory.max": "1000000",
      "sys/fs/cgroup/a/memory.max": "max"}, {"group_cpus": 1.5, "group_memory_bytes": 1000000}),
    ({}, {})])
def test_what_the_kernel_s_files_say_is_read_and_the_rest_left_out(
        tmp_path: Path, texts: dict[str, str], facts: dict[str, object]) -> None:
    assert facts == hardware(files(tmp_path, {name: f"{text}\n" for name, text in texts.items()}))


def module(size: int, speed: int, configured: int) -> bytes:
    """A memory device of SMBIOS 2.7: type 17, 34 bytes, then two texts."""
    structure = bytearray(34)
    structure[0], structure[1] = 17, 34
    for offset, value in ((0x0C, size), (0x15, speed), (0x20, configured)):
        structure[offset:offset + 2] = value.to_bytes(2, "little")
    return bytes(structure) + b"DIMM 0\0a maker\0\0"


FIRMWARE, DMI = bytes([0, 5, 0, 0, 9]) + b"a vendor\0\0", "sys/firmware/dmi/tables/DMI"


@pytest.mark.parametrize(("table", "facts"), [
    (FIRMWARE + module(16384, 3200, 2933) + module(0, 0, 0) + module(16384, 3200, 0),
     {"memory_modules": 2, "memory_transfers_per_second": 2_933_000_000}),
    (module(16384, 3200, 2933)[:14] + b"\xff" * 3, {})], ids=["whole", "torn"])
def test_memory_s_speed_is_that_of_the_slowest_module_as_it_is_set_up_and_a_torn_table_says_nothing(
        tmp_path: Path, table: bytes, facts: dict[str, object]) -> None:
    (files(tmp_path, {DMI: ""}) / DMI).write_bytes(table)

    assert facts == hardware(tmp_path)
