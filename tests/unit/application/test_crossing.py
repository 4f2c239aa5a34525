"""A sweep over sessions that are done: what they ended with."""

from pathlib import Path

import pytest

from runner.application import measure
from runner.application.crossing import swept
from runner.measuring.bench import Request
from runner.planning.plan import Wishes
from tests import made_rows as made

pytestmark = pytest.mark.usefixtures("known_interpreters")


@pytest.mark.parametrize(("endings", "expected"), [(("ok", "ok"), 0), (("ok", "died"), 1), (("died", "ok"), 1)])
def test_the_exit_code_is_the_worst_session_s(tmp_path: Path, endings: tuple[str, str], expected: int) -> None:
    def request(value: int) -> Request:
        return Request("quick/train", "quick", "venv", results=tmp_path, with_products=False,
                       wishes=Wishes(("torch-2.13-cpu", "tf-2.21"), 5, settings={"batch": value}))

    for value, ending in enumerate(endings, 1):
        job = measure.named(request(value)).hashed()
        runs = [record for planned in job.plan.cells for record in made.repeated(planned.cell, 5, made.steps(
            [0.1] * made.STEPS), ending=ending if planned.cell.stack == "tf-2.21" else "ok")]
        made.kept(tmp_path / str(value), made.session(command=job.command(), id=str(value)), job.plan.record(), *runs,
                  made.DONE)

    assert expected == swept(request, "batch", 1, 2)[1]
