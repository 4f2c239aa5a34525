"""Bare libraries in a framework's place: where they are found, what they refuse, how their stacks are compiled."""

from pathlib import Path

import pytest

from runner import paths
from runner.stacks import environments
from tests.made_files import files
from tests.stack_folder import small_stack
from workloads.frameworks.library import settings
from workloads.process.errors import Unsupported
from workloads.spec import library
from workloads.spec.cell import SWITCHES, Cell
from workloads.spec.models import lstm_kernels


def test_a_library_is_found_by_the_file_that_its_build_leaves(tmp_path: Path) -> None:
    assert library.installed(str(tmp_path)) is None

    files(tmp_path, {"lib/liblstm-onednn.so": ""})

    assert "onednn" == library.installed(str(tmp_path))


@pytest.mark.parametrize(("changes", "words"), [
    ({"task": "bert"}, "lstm task alone"), ({"precision": "float64"}, "float32"), ({"device": "gpu"}, "runs on a cpu"),
    ({"lstm": "skip_input"}, "no lstm skip_input"), ({"loop": "graph"}, "no loop graph"),
    ({"optimizer": "adam"}, "sgd or momentum"), ({"onednn": "off"}, "nothing is left")])
def test_what_a_bare_library_has_not_is_refused_with_the_reason(changes: dict[str, str], words: str) -> None:
    cell = Cell(**{"stack": "lstm-onednn", "task": "lstm", "measure": "train", **changes})

    with pytest.raises(Unsupported, match=words):
        settings.demand(cell, "onednn")


def test_every_implementation_is_a_value_of_the_switch() -> None:
    named = {kind for kinds in lstm_kernels.IMPLEMENTATIONS.values() for kind in kinds}

    assert set(SWITCHES["lstm"]) == named
    assert all(set(kinds) <= named for kinds in lstm_kernels.TABLE_5.values())


def test_a_missing_implementation_is_told_with_those_that_are_there() -> None:
    assert lstm_kernels.missing("pytorch", "cpu", "cell") is None
    assert "mxnet has no lstm block on a cpu: it has cell" in str(lstm_kernels.missing("mxnet", "cpu", "block"))


@pytest.mark.parametrize(("script", "said"), [
    ('echo "no g++ here: run it" >&2; exit 1\n', "torch-9: no g++ here: run it"), ("exit 0\n", None), ("", None)])
def test_a_host_without_the_tools_of_a_program_says_which(script: str, said: str | None, tmp_path: Path) -> None:
    stack = small_stack(tmp_path)
    files(stack.folder, {"build.sh": script} if script else {})

    assert said == environments.missing_tools(stack)


def test_both_programs_have_the_one_interface() -> None:
    ours, theirs = ((paths.STACKS / name / "lstm.h").read_text() for name in ("lstm-onednn", "lstm-cudnn"))

    assert ours == theirs.replace("docker/lstm-onednn/", "docker/lstm-cudnn/")
