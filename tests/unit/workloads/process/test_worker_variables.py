"""The variables of a worker: TF32, NCCL in containers, where the driver keeps its code, and what they lead it to."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner import paths
from workloads.process import caches, environment
from workloads.spec import cell, turns
from workloads.spec.cell import Cell

CELL = Cell(stack="s", task="resnet50", measure="train", device="gpu")


@pytest.mark.parametrize(("changes", "name", "value"), [
    ({"precision": "float32"}, "NVIDIA_TF32_OVERRIDE", "0"), ({"precision": "float64"}, "NVIDIA_TF32_OVERRIDE", "0"),
    ({"precision": "tf32"}, "NVIDIA_TF32_OVERRIDE", None), ({"precision": "amp"}, "NVIDIA_TF32_OVERRIDE", None),
    ({"device": "cpu"}, "NVIDIA_TF32_OVERRIDE", None), ({"device": "cpu"}, "TF_CUDNN_RNN_USE_AUTOTUNE", None),
    ({"gpus": 1}, "NCCL_CUMEM_HOST_ENABLE", None), ({"gpus": 2}, "NCCL_CUMEM_HOST_ENABLE", "0")])
def test_float32_and_float64_on_a_gpu_forbid_tf32_and_nccl_asks_a_container_for_no_numa_nodes(
        changes: dict[str, Any], name: str, value: str | None) -> None:
    assert value == environment.variables(CELL._replace(**changes)).get(name)


@pytest.mark.parametrize("name", sorted(set(cell.FIELDS) - {"device", "nodes", "gpus", "parallel"}))
def test_a_process_runs_another_cell_only_where_that_asks_for_the_same_variables(name: str) -> None:
    """Of cells that take turns: on a CPU, alone."""
    one = CELL._replace(device="cpu")
    value = getattr(one, name)
    others = cell.CHOICES.get(name) or [value + 1 if isinstance(value, (int, float)) else "another"]
    for each in [one._replace(**{name: other}) for other in others]:
        same = environment.variables(one) == environment.variables(each)
        assert same or turns.process(one) != turns.process(each), each


def test_a_tf32_cell_takes_the_override_out_of_its_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.os, "environ", {"NVIDIA_TF32_OVERRIDE": "0"})
    environment.enter(CELL._replace(precision="tf32"))
    assert "NVIDIA_TF32_OVERRIDE" not in environment.os.environ


def test_variables_that_move_results_are_recorded_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"TF_SYNC_ON_FINISH": "0", "NCCL_DEBUG": "VERSION", "CUDA_CACHE_PATH": "/k", "NVIDIA_TF32_OVERRIDE": "0",
            "MXNET_ENFORCE_DETERMINISM": "1", "CUBLAS_WORKSPACE_CONFIG": ":0:0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CUDA_DISABLE_PTX_JIT": "1", "CUDA_FORCE_PTX_JIT": "0", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.95"}
    monkeypatch.setattr(environment.os, "environ", {**seen, "SECRET": "x"})
    assert seen == environment.facts()["environment"]


def test_the_driver_keeps_its_work_in_the_folder_that_the_launcher_names_which_is_missing_empty_or_filled(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = caches.variables({"EVENBENCH_KERNELS": "/kernels"})
    assert {"CUDA_CACHE_PATH": "/kernels/cuda", "CUDA_CACHE_MAXSIZE": "4294967296"} == variables
    monkeypatch.setattr(caches.os, "environ", {})
    assert ("none", {}) == (caches.state(), caches.variables({}))
    monkeypatch.setattr(caches.os, "environ", {"EVENBENCH_KERNELS": str(tmp_path)})
    (tmp_path / "cuda").mkdir()
    assert "empty" == caches.state()
    (tmp_path / "cuda" / "index").touch()
    assert "filled" == caches.state()


def test_a_variable_that_the_user_passes_on_counts_before_ours_and_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.os, "environ", {"OMP_NUM_THREADS": "7", "MINE": "x", "EVENBENCH_ENV":
                                                    "MINE OMP_NUM_THREADS"})
    environment.enter(CELL)
    seen = environment.facts()["environment"]
    assert ("7", "x", str(CELL.cpus)) == (seen["OMP_NUM_THREADS"], seen["MINE"], seen["MKL_NUM_THREADS"])


def libraries(folder: Path, of_all: str = "environment._foreign") -> list[str]:
    """What a process that begins with this LD_LIBRARY_PATH, and has loaded zlib, says of its libraries."""
    program = f"import zlib; from workloads.process import environment, processor; print(*{of_all}(processor.mapped()))"
    return subprocess.run([sys.executable, "-c", program], cwd=paths.ROOT, capture_output=True, text=True, check=True,
                          env={**os.environ, "LD_LIBRARY_PATH": str(folder)}).stdout.splitlines()


def test_libraries_that_a_variable_leads_to_are_recorded_with_what_tells_them_apart(tmp_path: Path) -> None:
    """In a folder of links, too, as Spack's views are."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "view").mkdir()
    usual = next(Path(path) for path in libraries(tmp_path, "list")[0].split() if "/libz.so" in path)
    mine = Path(shutil.copy(usual, tmp_path / "kept" / "libz-mine.so"))
    os.utime(mine, (0, 0))
    (tmp_path / "view" / "libz.so.1").symlink_to(mine)

    assert [f"{mine}, {usual.stat().st_size} bytes, of 0"] == libraries(tmp_path / "view")
    assert [""] == libraries(tmp_path / "kept")
