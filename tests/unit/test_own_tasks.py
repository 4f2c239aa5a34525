"""Image tasks of the user's own, from a folder: planned, part of the cell, recorded, or refused in one line."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from runner import own_tasks, paths
from runner.cells import key, label, model_name, settings
from runner.cli import app
from runner.errors import InputError
from runner.measuring import equality, matrix_products, rerun
from runner.planning.plan import Planned
from tests.own_task import TINY
from tests.stack_folder import study_toml
from workloads.spec import tasks
from workloads.spec.cell import parse

Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """What writes a file of a task into a folder that the user's variable names."""
    folder = tmp_path / "tasks"
    folder.mkdir()
    monkeypatch.setenv(paths.OWN_TASKS, str(folder))

    def write(text: str = TINY, name: str = "tiny.py") -> Path:
        own_tasks._files.cache_clear()
        own_tasks._task.cache_clear()
        (folder / name).write_text(text)
        return folder / name

    return write


def planned(folder: Path, *words: str) -> list[dict[str, object]]:
    """The cells of a study of one's own that names the task."""
    (folder / "mine.toml").write_text(study_toml("torch-2.13-cpu").replace("lenet5", "tiny"))
    answer = CliRunner().invoke(app, ["plan", str(folder / "mine.toml"), "--launcher", "venv", "--json", "-", *words])
    assert 0 == answer.exit_code, answer.output
    return [each["cell"] for each in json.loads(answer.stdout)["cells"]]


def test_a_study_plans_a_task_of_one_s_own_with_its_table(written: Written, tmp_path: Path) -> None:
    written()
    (values,) = planned(tmp_path)
    cell = parse(values)

    assert ("tiny", 32, 10) == (cell.task, cell.image, cell.classes)
    assert 1_586 == sum(_size(each.shape) for each in tasks.parameters(cell) if each.is_trainable)


def _size(shape: tuple[int, ...]) -> int:
    return shape[0] * _size(shape[1:]) if shape else 1


def test_the_option_names_folders_too(written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written()
    monkeypatch.setenv(paths.OWN_TASKS, "")

    assert planned(tmp_path, "--tasks", str(tmp_path / "tasks"))


def test_a_changed_table_is_another_cell_and_proves_nothing_of_the_earlier_one(written: Written) -> None:
    written()
    before = equality.check_cell("tiny", "any", "float64", 1, 0)
    written(TINY.replace("conv_norm(8", "conv_norm(9"))
    after = equality.check_cell("tiny", "any", "float64", 1, 0)

    assert key(before) != key(after)
    assert model_name(before) != model_name(after) and model_name(before).startswith("tiny@")


def test_a_label_has_no_table_and_what_differs_is_its_digest(written: Written) -> None:
    written()
    cell = equality.check_cell("tiny", "any", "float32", 1, 0)

    assert "Conv" not in label(cell)
    assert settings(cell)["table"] == model_name(cell).partition("@")[2]


def test_a_record_is_repeated_without_the_file(written: Written, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    written()
    (values,) = planned(tmp_path)
    monkeypatch.setenv(paths.OWN_TASKS, "")

    assert rerun._gone(parse(values), {"torch-2.13-cpu": None}) is None      # type: ignore[dict-item]
    assert "task tiny is not here any more" == rerun._gone(parse({**values, "table": ""}),
                                                           {"torch-2.13-cpu": None})      # type: ignore[dict-item]


def test_the_machine_s_product_is_asked_of_cells_that_workers_know(written: Written, tmp_path: Path) -> None:
    written()
    cells = [parse(values) for values in planned(tmp_path)]
    plan: Any = SimpleNamespace(cells=[Planned(key(cell), "e", cell) for cell in cells])

    assert [True] == [tasks.is_known(cell) for cell in matrix_products.cells(plan)]


def test_the_example_of_the_document_is_such_a_file() -> None:
    assert TINY in (paths.ROOT / "docs/installing.md").read_text()


def test_blocks_that_tasks_share_lie_beside_them(written: Written) -> None:
    written("from workloads.spec.models.image_models import conv_norm\n", "_blocks.py")
    written(TINY.replace("from workloads.spec.models.image_models", "from _blocks"))

    assert {"image": 32, "classes": 10} == {name: value for name, value in own_tasks.defaults("tiny").items()
                                            if name != "table"}
    assert "_blocks" not in own_tasks.names()


@pytest.mark.parametrize(("text", "reason"), [
    ("", "found no TASK, expected TASK = Task("),
    ("TASK = 1", "found 1, expected a Task"),
    ("import nothing_like_it", "line 1: ModuleNotFoundError: No module named 'nothing_like_it'"),
    ("a = 1\nTASK = (", "line 2: SyntaxError: '(' was never closed"),
    ("import sys\nsys.exit(3)", "it ended without a word"),
    ("TASK = 'x' * 10**6", "expected a Task"),
    (TINY.replace("Dense(10)", "Dense(-1)"), "8: Dense.units: found -1, expected a whole number from 1"),
    (TINY.replace("Task(TINY, 32, 4", "Task(TINY, 32, 64"), "least: found 64, expected at most image, 32"),
])
def test_a_file_without_a_task_is_refused_in_one_line(written: Written, text: str, reason: str) -> None:
    path = written(text)
    with pytest.raises(InputError) as error:
        own_tasks.defaults("tiny")

    assert str(error.value).startswith(f"{path}: ") and reason in str(error.value) and "\n" not in str(error.value)


def test_what_a_file_prints_is_not_its_answer(written: Written) -> None:
    written(f"print('hello')\n{TINY}")
    assert 10 == own_tasks.defaults("tiny")["classes"]


@pytest.mark.parametrize(("name", "reason"), [("Tiny.py", 'found the name "Tiny", expected at most 40 small letters'),
                                              ("lenet5.py", "there is a task lenet5 already: give yours another name")])
def test_a_name_that_cannot_be_is_refused(written: Written, name: str, reason: str) -> None:
    path = written(TINY, name)
    with pytest.raises(InputError) as error:
        own_tasks.names()

    assert str(error.value).startswith(f"{path}: {reason}")


def test_a_folder_that_is_missing_or_has_no_task_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(paths.OWN_TASKS, str(tmp_path / "gone"))
    with pytest.raises(InputError, match=r"--tasks or EVENBENCH_TASKS: found .*gone, expected a folder"):
        own_tasks.names()
    monkeypatch.setenv(paths.OWN_TASKS, str(tmp_path))
    with pytest.raises(InputError, match=r"no task here; expected files NAME\.py"):
        own_tasks.names()


def test_one_name_in_two_folders_is_refused(written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = written()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "tiny.py").write_text(TINY)
    monkeypatch.setenv(paths.OWN_TASKS, f"{tmp_path / 'tasks'}:{tmp_path / 'more'}")
    with pytest.raises(InputError, match=f"there is a task tiny already, in {first}"):
        own_tasks.names()
