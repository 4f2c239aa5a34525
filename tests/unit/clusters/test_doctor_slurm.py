"""What doctor says of a Slurm cluster, by scripted commands."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from clusters.slurm import examination as doctor
from clusters.slurm.commands import Slurm
from tests.fake_slurm import SINFO, FakeSlurm

ENFORCED = {"TaskPlugin": "task/cgroup,task/affinity", "ConstrainRAMSpace": "yes", "ConstrainCores": "yes",
            "ConstrainSwapSpace": "yes"}


class Answering(FakeSlurm):
    """srun prints this, or a file of the machine at hand."""

    said: str | None = None

    def _srun(self, words: Sequence[str]) -> tuple[int, str, str]:
        if self.said is None:
            return 0, Path(words[-1]).read_text(), ""
        return (0, self.said, "") if self.said else (1, "", "srun: error: slurm1: task 0: Exited with exit code 1")


def findings(slurm: FakeSlurm, cache: Path) -> dict[str, tuple[str, str]]:
    return {each.what: (each.grade, each.found) for each in doctor.examine(Slurm(slurm), {}, (), cache)}


def test_nodes_that_are_down_and_unlike_ones_are_told(tmp_path: Path) -> None:
    told = findings(Answering(SINFO.replace("slurm2|mixed", "slurm2|down*")), tmp_path)
    assert ("note", "2 of 3 nodes are usable; slurm2 down*") == told["partition lab"]
    assert ("note", "1 of 2 CPUs, 7.3 GB, 2 of 4 CPUs, 16.8 GB, 2 GPUs") == told["nodes"]


def test_a_cluster_without_accounts_is_told_how_long_it_remembers(tmp_path: Path) -> None:
    assert ("note", "none: how a job ended is known for 300 sec") == findings(Answering(), tmp_path)["accounts"]


def test_limits_that_are_enforced_are_good() -> None:
    assert ["good"] * 3 == [each.grade for each in doctor.limits(ENFORCED)]


@pytest.mark.parametrize(("lack", "grades"), [
    ("TaskPlugin", ["note", "note", "good"]), ("ConstrainRAMSpace", ["good", "note", "good"]),
    ("ConstrainSwapSpace", ["good", "good", "note"])])
def test_a_limit_that_is_not_enforced_is_told_with_the_setting(lack: str, grades: list[str]) -> None:
    found = doctor.limits({**ENFORCED, lack: "none"})
    assert grades == [each.grade for each in found]
    assert any(lack in each.mend for each in found)


@pytest.mark.parametrize(("said", "grade"), [(None, "good"), ("", "fails"), ("other\n", "fails")])
def test_a_cache_that_a_node_does_not_see_fails(tmp_path: Path, said: str | None, grade: str) -> None:
    slurm = Answering()
    slurm.said = said
    assert grade == findings(slurm, tmp_path)["shared folder"][0]
    assert [] == list((tmp_path / "slurm").iterdir())
