"""The versions of NVIDIA's libraries are those that the process loaded, by their own words."""

import ctypes
from pathlib import Path
from types import SimpleNamespace

import pytest

from workloads.process import gpu_libraries

MAPS = """7f00-7f01 r-xp 00000000 08:01 1 /a b/libcudnn.so.9
7f01-7f02 r--p 00000000 08:01 1 /a b/libcudnn.so.9
7f02-7f03 r-xp 00000000 08:01 2 /lib/libcudart-1a2b.so.10.1
7f03-7f04 r-xp 00000000 08:01 3 /lib/libnccl.so.2
7f04-7f05 rw-p 00000000 00:00 0
"""


def telling(number: int):
    """A function that writes the number where it is told to."""
    def tell(pointer) -> int:
        pointer._obj.value = number
        return 0

    return tell


@pytest.mark.parametrize(("numbers", "versions"), [
    ((92000, 13000, 22907), ("9.20.0", "13.0", "2.29.7")), ((7605, 10010, 2708), ("7.6.5", "10.1", "2.7.8"))])
def test_old_and_new_ways_to_number_a_version_are_read(
        tmp_path: Path, numbers: tuple[int, int, int], versions: tuple[str, str, str]) -> None:
    cudnn, runtime, nccl = numbers
    libraries = {"libcudnn.so.9": SimpleNamespace(cudnnGetVersion=lambda: cudnn),
                 "libcudart-1a2b.so.10.1": SimpleNamespace(cudaRuntimeGetVersion=telling(runtime)),
                 "libnccl.so.2": SimpleNamespace(ncclGetVersion=telling(nccl))}
    (tmp_path / "maps").write_text(MAPS)
    found = gpu_libraries.loaded(str(tmp_path / "maps"), lambda path: libraries[Path(path).name])
    assert dict(zip(("cudnn", "cuda_runtime", "nccl"), versions, strict=True)) == found


def test_a_library_that_does_not_tell_is_left_out_and_a_process_without_any_has_none(tmp_path: Path) -> None:
    (tmp_path / "maps").write_text(MAPS)
    assert {} == gpu_libraries.loaded(str(tmp_path / "maps"), lambda path: SimpleNamespace())
    assert {} == gpu_libraries.loaded(opened=ctypes.CDLL)
