"""Which cells run on which GPUs: machines with a P100, two RTX 2080 Ti, four V100, an H100, MIG slices and none."""

import re
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from docker.errors import APIError
from docker.types import HostConfig

from runner.errors import EngineUnreachable
from runner.launchers import docker as docker_launcher
from runner.launchers import kernel_cache, process_groups
from runner.launchers.docker import DockerLauncher
from runner.launchers.protocol import Order
from runner.machine import gpus, nvml
from runner.machine.cpu_sets import shared
from runner.machine.gpus import Gpus
from runner.planning.plan import Plan, Wishes, plan
from runner.stacks.definition import CAPABILITIES, GpuCode, read_all
from tests import fakes
from tests.fake_nvml import H100, P100, RTX, SLICED, V100, FakeNvml
from tests.fakes import MACHINE, study
from workloads.process import caches
from workloads.spec.cell import Cell

STACKS = read_all(Path(__file__).parents[3] / "docker")
STUDY = study("tf-1.15-gpu", "torch-1.4", "mxnet-1.7-gpu", "tf-2.5-gpu", "torch-2.13-gpu", "tf-1.15-nv",
              task="resnet50", image=224, device="gpu")


def seen(*fakes: Any, driver: str = "580.95.05") -> Gpus:
    return nvml.observe(FakeNvml(*fakes, driver=driver))


def planned(here: Gpus, **settings: Any) -> Plan:
    return plan(STUDY, STACKS, MACHINE, Wishes(settings=settings), lambda stack: None, here)


def running(here: Gpus, **settings: Any) -> list[str]:
    return [each.cell.stack for each in planned(here, **settings).cells]


def cell(**settings: Any) -> Cell:
    return Cell(**{"stack": "torch-1.4", "task": "resnet50", "measure": "train", "device": "gpu", **settings})


def uuids(here: Gpus, **settings: Any) -> list[str]:
    return [gpu.uuid for gpu in gpus.assigned(cell(**settings), STACKS["torch-1.4"], here)]


OLD, NEW = ["tf-1.15-gpu", "torch-1.4", "mxnet-1.7-gpu"], ["torch-2.13-gpu"]


@pytest.mark.parametrize(("found", "old", "new"), [
    (seen(P100), OLD, []), (seen(*RTX), OLD, NEW), (seen(*V100), OLD, []), (seen(H100), [], NEW),
    (seen(SLICED), [], NEW)], ids=["P100", "RTX 2080 Ti", "V100", "H100", "slice of an A100"])
def test_up_to_turing_every_stack_of_the_studies_runs_and_cuda_13_from_turing_on(
        found: Gpus, old: list[str], new: list[str]) -> None:
    assert [*old, "tf-2.5-gpu", *new, "tf-1.15-nv"] == running(found)


NONE = nvml.observe(FakeNvml(failure="NVML Shared Library Not Found"))


@pytest.mark.parametrize(("here", "stack", "settings", "why"), [
    # on an H100 the old ones, with the one that runs there
    (seen(H100), "tf-1.15-gpu", {},
     r"tf-1\.15-gpu needs .* ≤ 7\.5, not NVIDIA H100 80GB HBM3 \(9\.0\): .*; tf-1\.15-nv runs there"),
    (seen(H100), "torch-1.4", {}, r".*; torch-2\.13-gpu runs there"),
    (NONE, "tf-1.15-gpu", {}, r"needs an NVIDIA GPU \(compute capability ≤ 7\.5 for tf-1\.15-gpu\)"),
    (NONE, "tf-2.5-gpu", {}, r"needs an NVIDIA GPU \(compute capability ≥ 6\.0 for tf-2\.5-gpu\)"),
    (seen(P100, driver="418.87.00"), "torch-2.13-gpu", {},
     r".*\(CUDA 13\.0\) needs driver 580\.65\.06 or newer, this machine has 418\.87\.00.*"),
    (seen(*RTX), "torch-1.4", {"gpus": 4},
     r"needs 4 whole NVIDIA GPUs of one model that run torch-1\.4; see `evenbench doctor`")])
def test_a_stack_that_cannot_run_on_the_gpus_here_is_skipped_with_why(
        here: Gpus, stack: str, settings: dict[str, Any], why: str) -> None:
    skipped = {each.cell.stack: each.reason for each in planned(here, **settings).skipped}
    assert re.fullmatch(why, skipped[stack])


def test_without_a_gpu_nothing_runs_and_an_old_driver_runs_old_stacks() -> None:
    assert ([], "NVML Shared Library Not Found") == (running(NONE), NONE.problem)
    assert "torch-1.4" in running(seen(P100, driver="418.87.00"))


def test_a_stack_compiled_for_gpus_that_are_not_listed_says_so() -> None:
    code = GpuCode(cuda="8.0", driver="0.0", native=(), jit=(), unsupported=CAPABILITIES, why="old", verified=False)
    mine = fakes.stack("mine", devices=("gpu",)).model_copy(update={"gpu": code})
    assert "mine needs compute capability other than 6.0 to 12.0, not Tesla P100" in str(
        gpus.lacking(cell(stack="mine"), mine, {}, seen(P100)))


def test_a_stack_for_cpus_names_its_sister_for_gpus() -> None:
    planned = plan(STUDY, STACKS, MACHINE, Wishes(stacks=("tf-1.15",)), lambda stack: None, seen(P100))
    assert "tf-1.15 has no code for GPUs: tf-1.15-gpu has" == planned.skipped[0].reason


DRIVER = "(CUDA 12.6) needs driver 560.28.03 or newer, this machine has 550.54.15:"
MODE = "%s needs compute capability 8.0 or newer, not Tesla V100-SXM2-16GB (7.0)"


@pytest.mark.parametrize(("here", "changes", "why"), [
    # code that is compiled first wants the driver of its own CUDA
    (seen(H100, driver="550.54.15"), {}, DRIVER), (seen(H100, driver="560.28.03"), {}, ""),
    (seen(V100[0], driver="550.54.15"), {}, ""),
    (seen(V100[0]), {"precision": "tf32"}, MODE % "TF32"), (seen(V100[0]), {"precision": "amp"}, MODE % "bfloat16"),
    (seen(V100[0]), {"precision": "amp", "task": "lstm"}, ""), (seen(H100), {"precision": "tf32"}, "")])
def test_a_driver_or_a_precision_that_is_lacking_is_told_before_a_run(here: Gpus, changes: dict[str, str], why: str
                                                                      ) -> None:
    lacking = gpus.lacking(cell(stack="tf-2.21-gpu", **changes), STACKS["tf-2.21-gpu"], STACKS, here) or ""
    assert why in lacking and bool(why) is bool(lacking)


def test_on_a_slice_of_an_a100_a_run_gets_that_slice() -> None:
    own = gpus.assigned(cell(stack="torch-2.13-gpu"), STACKS["torch-2.13-gpu"], seen(SLICED))
    assert [("MIG-1", "GPU-a")] == [(gpu.uuid, gpu.board) for gpu in own]


def test_a_cell_for_several_gpus_gets_whole_ones_of_one_model_that_run_its_stack() -> None:
    assert ["GPU-v0", "GPU-v1"] == uuids(seen(P100, *V100), gpus=2)
    assert ["GPU-v0", "GPU-v1", "GPU-v2", "GPU-v3"] == uuids(seen(P100, *V100), gpus=4)
    assert () == gpus.assigned(cell(stack="torch-2.13-gpu", gpus=2), STACKS["torch-2.13-gpu"], seen(SLICED))
    assert ["GPU-r0"] == uuids(seen(H100, *RTX))


def test_an_unknown_capability_is_taken_for_the_newest_known_one_below_it_of_its_major_version() -> None:
    code = STACKS["torch-2.13-gpu"].gpu
    assert code
    assert ["native", "unsupported", "unsupported", "unsupported"] == [
        gpus.way(code, each) for each in ("8.7", "7.2", "5.2", "13.0")]


def test_code_that_is_compiled_first_is_warned_of() -> None:
    cells = [each.cell for each in planned(seen(H100)).cells]
    (told,) = gpus.warnings(cells, STACKS, seen(H100))
    assert told.startswith("tf-2.5-gpu has no ready code for NVIDIA H100 80GB HBM3 (compute capability 9.0)")
    assert [] == gpus.warnings(cells, STACKS, seen(P100))


KERNELS = {"/k": {"bind": "/kernels", "mode": "rw"}}


@pytest.mark.parametrize(("uuids", "ulimits", "folders"), [
    ([], None, {}), (["GPU-r0"], None, KERNELS),
    (["GPU-r0", "GPU-r1"], [{"Name": "memlock", "Soft": -1, "Hard": -1}], KERNELS)])      # may pin as much as they want
def test_the_engine_is_asked_for_gpus_as_the_container_toolkit_wants_it_and_for_a_folder_of_compiled_kernels(
        uuids: list[str], ulimits: Any, folders: dict[str, Any]) -> None:
    order = Order(cell(), STACKS["torch-1.4"], Path("/d"), "r.0.1")
    how = docker_launcher.settings(order, 0, shared(cell(), {0}), seen(*RTX).gpus[:len(uuids)], Path("/k"))
    host = HostConfig(version="1.41", **{name: how[name] for name in ("device_requests", "ulimits", "shm_size")
                                         if name in how})

    # docs of the toolkit: an empty driver lets the engine choose by capability; ids and a count exclude each other
    asked = {"Driver": "", "Count": 0, "Capabilities": [["gpu", "compute", "utility"]], "Options": {}}
    assert [{**asked, "DeviceIDs": uuids}][:len(uuids)] == host.get("DeviceRequests", [])
    assert (2**30, ulimits) == (host["ShmSize"], host.get("Ulimits"))
    assert {"/d": {"bind": "/data", "mode": "ro"}, **folders} == how["volumes"]
    assert bool(folders) is (how["environment"].get(caches.FOLDER) == "/kernels")


def test_compiled_kernels_are_kept_in_a_folder_of_the_stack_that_a_container_s_user_can_write_to(
        tmp_path: Path) -> None:
    kernels = kernel_cache.folder(STACKS["torch-1.4"], tmp_path)
    assert (tmp_path / "kernels" / "torch-1.4", 0o1777) == (kernels, kernels.stat().st_mode & 0o7777)


def test_an_engine_without_the_container_toolkit_is_told_with_the_command_that_mends_it(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = 'could not select device driver "" with capabilities: [[gpu compute utility]]'
    client = MagicMock()
    client.containers.create.side_effect = APIError("500", explanation=said)
    launcher = DockerLauncher(client, seen(P100), tmp_path)
    image = docker_launcher.images.Image("i", "b", True, "f")
    monkeypatch.setattr(docker_launcher.images, "find", lambda client, stack: image)
    with pytest.raises(EngineUnreachable, match=r"could not select device driver .*: install nvidia-container-tool"):
        launcher.start(cell(cpus=1), STACKS["torch-1.4"], tmp_path, "r.0.1")


def test_a_worker_on_the_host_sees_its_gpus_alone() -> None:
    own = gpus.assigned(cell(gpus=2), STACKS["torch-1.4"], seen(*V100))
    assert {"CUDA_VISIBLE_DEVICES": "GPU-v0,GPU-v1", caches.FOLDER: "/k"} == process_groups.on_gpus(own, "/k")
    assert {} == process_groups.on_gpus((), None)
