"""What a GPU machine is measured with: the study gpu, compose.gpu.yaml, and which images nobody builds unasked."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner.cli import app
from runner.errors import BuildFailed, InputError
from runner.launchers.docker import DockerLauncher
from runner.launchers.venv import VenvLauncher
from runner.machine import nvml
from runner.measuring import job
from runner.planning.plan import Plan, Wishes, plan
from runner.stacks import bases, engine
from runner.stacks.definition import chosen_names, read_all
from runner.study.file import read
from tests.fake_nvml import RTX, V100, FakeGpu, FakeNvml
from tests.fakes import MACHINE
from tests.made_files import program
from workloads.spec.cell import loads

ROOT = Path(__file__).parents[3]
STACKS = read_all(ROOT / "docker")
NO_GPU = nvml.observe(FakeNvml(failure="NVML Shared Library Not Found"))


def planned(scale: str, *fakes: FakeGpu) -> Plan:
    return plan(read("gpu", ROOT / "studies", scale), STACKS, MACHINE, Wishes(), lambda stack: None,
                nvml.observe(FakeNvml(*fakes)))


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_on_turing_every_cell_runs_whose_precision_it_has_and_on_volta_all_of_those_but_cuda_13_s(scale: str) -> None:
    plan = planned(scale, *(RTX[0]._replace(uuid=f"GPU-{index}") for index in range(4)))
    skipped = [each for each in plan.skipped if each.cell.conv != "fixed"]       # which four stacks have no switch for
    assert len(plan.cells) > 60 and {"tf32", "amp"} == {each.cell.precision for each in skipped}
    volta = planned(scale, *V100)
    assert {"torch-2.13-gpu", "jax-0.10-gpu"} == {each.cell.stack for each in volta.skipped
                                             if (each.cell.precision, each.cell.conv) == ("float32", "profiling")}
    assert {"profiling"} == {each.cell.conv for each in volta.cells if each.experiment != "conv"}
    assert {"fixed", "heuristic"} <= {each.cell.conv for each in volta.cells if each.experiment == "conv"}
    assert {"gpu"} == {each.cell.device for each in planned("quick", *V100).cells}


def test_without_a_gpu_the_study_is_refused_in_one_line_that_says_how_to_see_the_plan(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job.nvml, "observe", lambda: NO_GPU)
    with pytest.raises(InputError, match=r"none \(NVML Shared Library Not Found\); `evenbench plan gpu` shows"):
        CliRunner().invoke(app, ["run", "gpu", "--launcher", "venv"], catch_exceptions=False)


def test_compose_gives_the_worker_a_whole_cell() -> None:
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", (ROOT / "compose.gpu.yaml").read_text())
    cell = loads(" ".join(re.search(r"- >-\n((?: {8}.*\n)+)", text)[1].split()))
    assert ("torch-2.13-gpu", "resnet50", "gpu", 1, 224, "blocks") == (
        cell.stack, cell.task, cell.device, cell.gpus, cell.image, cell.sync)
    assert "capabilities: [gpu, compute, utility]" in text


def test_images_for_gpus_are_built_only_where_they_are_named() -> None:
    unasked = chosen_names(None, STACKS)
    assert "torch-1.4" in unasked and not [name for name in unasked if "cpu" not in STACKS[name].devices]
    assert ["tf-1.15-gpu"] == chosen_names(["tf-1.15-gpu"], STACKS)


def test_a_stack_that_nobody_can_build_is_skipped_before_anything_is_built_with_the_way_out(tmp_path: Path) -> None:
    nobody_s, docker = STACKS["tf-1.15-nv"], DockerLauncher(NoImages())     # type: ignore[arg-type]
    assert "imagetools inspect" in str(docker.missing(nobody_s)) and docker.missing(STACKS["tf-2.21-gpu"]) is None
    assert "only there as an image" in str(VenvLauncher(tmp_path).missing(nobody_s))
    with pytest.raises(BuildFailed, match=r"tf-1.15-nv: the digest of its base is on no record: run `docker buildx"):
        bases.choose(None, nobody_s, print)     # type: ignore[arg-type]


class NoImages:
    """A client of an engine that has no image."""

    @property
    def images(self) -> "NoImages":
        return self

    def get(self, tag: str) -> None:
        raise engine.ImageNotFound(tag)


def test_no_base_of_our_own_stands_in_for_one_with_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "docker", "echo 'registry: no answer' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(BuildFailed, match=r"tf-1.15-gpu: its base tensorflow/\S+:1.15.2-gpu-py3 .*registry: no answer"):
        bases.choose(NoImages(), STACKS["tf-1.15-gpu"], print)      # type: ignore[arg-type]


def test_that_bases_of_our_own_stand_in_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(bases, "_told", [])
    monkeypatch.setattr(bases, "_refusal", lambda image: "no answer")
    monkeypatch.setattr(bases, "own", lambda client, python, say: f"evenbench-base:{python}")
    for name in ("tf-1.15-gpu", "torch-1.4", "torch-2.13-cpu"):
        with suppress(BuildFailed):                  # whose base brings CUDA
            base = bases.choose(NoImages(), STACKS[name], told.append)     # type: ignore[arg-type]

    assert base == (f"evenbench-base:{STACKS[name].python}", False)
    assert 1 == len(told) and "(the registry: no answer): building on a base of our own" in told[0]


# two cells on a GPU, one of which a CPU can run too
ON_GPUS = """[study]
id = "mine"
title = "Mine"
[[experiment]]
id = "e"
measure = "train"
task = "lenet5"
stacks = ["torch-2.0"]
device = "gpu"
grid = { conv = ["default", "profiling"] }
"""


def test_where_nothing_runs_without_a_gpu_run_and_plan_say_what_a_cpu_could_unless_asked_for(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job.nvml, "observe", lambda: NO_GPU)
    (tmp_path / "mine.toml").write_text(ON_GPUS)

    def invoked(command: str, *options: str) -> str:
        words = [command, str(tmp_path / "mine.toml"), "--launcher", "venv", *options]
        return CliRunner().invoke(app, words, catch_exceptions=False).stderr

    with pytest.raises(InputError, match=r"nothing can run here: .*; 1 cell of it can run on a CPU with --device cpu$"):
        invoked("run")
    assert "1 cell of it can run on a CPU with --device cpu" in invoked("plan")
    assert "--device cpu" not in invoked("plan", "--device", "cpu")
