"""What `evenbench list` shows of tasks and stacks."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from runner import listings
from runner.screen import list_view


@pytest.mark.parametrize("rows", [listings.all_tasks, listings.stacks])
def test_every_row_has_the_same_columns_so_that_all_are_one_table(rows: Callable[[], list[dict[str, Any]]]) -> None:
    found = rows()
    file = io.StringIO()
    Console(file=file, width=200).print(list_view(found))
    assert 1 == len({tuple(row) for row in found})
    assert len(found) == len(file.getvalue().splitlines()) - 2         # below the names and a line


def test_image_tasks_say_their_pixels_and_classes_and_sequence_tasks_have_none() -> None:
    found = {row["task"]: (row["image"], row["classes"]) for row in listings.all_tasks()}
    assert (32, 10) == found["lenet5"] and (None, None) == found["gnmt"]
