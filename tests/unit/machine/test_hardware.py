"""What the kernel's files say of a machine."""

from pathlib import Path

from runner.machine.hardware import hardware


def put(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text + "\n")


def cpus(root: Path, *places: tuple[int, int]) -> None:
    """A CPU a (socket, core)."""
    for number, (package, core) in enumerate(places):
        folder = f"sys/devices/system/cpu/cpu{number}/topology"
        put(root, f"{folder}/physical_package_id", str(package))
        put(root, f"{folder}/core_id", str(core))


def test_two_sockets_of_two_cores_with_two_threads_each(tmp_path: Path) -> None:
    cpus(tmp_path, *((package, core) for package in (0, 1) for core in (0, 1) for _ in range(2)))

    facts = hardware(tmp_path)
    assert (2, 4, 8) == (facts["sockets"], facts["cores"], facts["threads"])


def test_nodes_caches_and_the_product_are_read(tmp_path: Path) -> None:
    for node in (0, 1):
        put(tmp_path, f"sys/devices/system/node/node{node}/cpulist", "0")
    put(tmp_path, "sys/devices/system/node/possible", "0-1")
    put(tmp_path, "sys/devices/system/cpu/cpu0/cache/index3/level", "3")
    put(tmp_path, "sys/devices/system/cpu/cpu0/cache/index3/size", "32768K")
    put(tmp_path, "sys/devices/virtual/dmi/id/sys_vendor", "A vendor")
    put(tmp_path, "sys/devices/virtual/dmi/id/product_name", "A model")

    assert {"numa_nodes": 2, "l3_bytes": 32 * 2**20, "product": "A vendor A model"} == hardware(tmp_path)


def test_turbo_is_on_where_intel_does_not_forbid_it_or_others_allow_it(tmp_path: Path) -> None:
    states = []
    for number, (name, text) in enumerate((("intel_pstate/no_turbo", "0"), ("intel_pstate/no_turbo", "1"),
                                           ("cpufreq/boost", "1"), ("cpufreq/boost", "0"))):
        put(tmp_path / str(number), f"sys/devices/system/cpu/{name}", text)
        states.append(hardware(tmp_path / str(number))["turbo"])

    assert ["on", "off", "on", "off"] == states


def test_microcode_and_a_hypervisor_are_of_the_first_cpu(tmp_path: Path) -> None:
    put(tmp_path, "proc/cpuinfo", "processor\t: 0\nmicrocode\t: 0xd0003a5\nflags\t\t: fpu hypervisor avx\n\n"
                                  "processor\t: 1\nmicrocode\t: 0x1\nflags\t\t: fpu")

    assert {"microcode": "0xd0003a5", "is_virtual": True} == hardware(tmp_path)


def test_simultaneous_threads_are_on_or_off(tmp_path: Path) -> None:
    for number in (0, 1):
        put(tmp_path / str(number), "sys/devices/system/cpu/smt/active", str(number))

    assert [{"smt": "off"}, {"smt": "on"}] == [hardware(tmp_path / str(number)) for number in (0, 1)]


def module(size: int, speed: int, configured: int) -> bytes:
    """A memory device of SMBIOS 2.7: type 17, 34 bytes, then two texts."""
    structure = bytearray(34)
    structure[0], structure[1] = 17, 34
    for offset, value in ((0x0C, size), (0x15, speed), (0x20, configured)):
        structure[offset:offset + 2] = value.to_bytes(2, "little")
    return bytes(structure) + b"DIMM 0\0a maker\0\0"


def test_memory_s_speed_is_that_of_the_slowest_module_as_it_is_set_up(tmp_path: Path) -> None:
    put(tmp_path, "sys/firmware/dmi/tables/x", "")
    firmware = bytes([0, 5, 0, 0, 9]) + b"a vendor\0\0"
    table = firmware + module(16384, 3200, 2933) + module(0, 0, 0) + module(16384, 3200, 0)
    (tmp_path / "sys/firmware/dmi/tables/DMI").write_bytes(table)

    assert {"memory_modules": 2, "memory_transfers_per_second": 2_933_000_000} == hardware(tmp_path)


def test_a_torn_table_of_memory_says_nothing(tmp_path: Path) -> None:
    put(tmp_path, "sys/firmware/dmi/tables/x", "")
    (tmp_path / "sys/firmware/dmi/tables/DMI").write_bytes(module(16384, 3200, 2933)[:14] + b"\xff" * 3)

    assert {} == hardware(tmp_path)


def test_the_narrowest_control_group_around_us_is_told(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "0::/a/b")
    put(tmp_path, "proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
    put(tmp_path, "sys/fs/cgroup/a/cpu.max", "150000 100000")
    put(tmp_path, "sys/fs/cgroup/a/b/cpu.max", "max 100000")
    put(tmp_path, "sys/fs/cgroup/a/b/memory.max", "1000000")
    put(tmp_path, "sys/fs/cgroup/a/memory.max", "max")

    assert {"group_cpus": 1.5, "group_memory_bytes": 1000000} == hardware(tmp_path)


def test_what_no_file_says_is_left_out(tmp_path: Path) -> None:
    assert {} == hardware(tmp_path)
