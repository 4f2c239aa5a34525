"""`evenbench list` shows every task, images and sequences in one table."""

from typer.testing import CliRunner

from runner.cli import app
from workloads.spec import tasks


def test_tasks_of_both_kinds_stand_in_one_table() -> None:
    shown = CliRunner().invoke(app, ["list", "tasks"])
    rows = {line.split()[0]: line.split()[-2:] for line in shown.stdout.splitlines()[2:]}

    assert set(rows) >= set(tasks.NAMES)
    assert ["224", "1000"] == rows["resnet50"]
    assert ["-", "-"] == rows["gnmt"]
