"""The campaign of planted reasons: what it plants, and which answers count as found."""

from types import SimpleNamespace
from typing import Any

import pytest

from runner.study.file import parse
from tests import planted_reasons
from tests.planted_reasons import PLANTED, STUDY, is_found
from workloads.spec.cell import checked

BEGINS = "planted is 0.50x (0.48–0.52) of torch-2.13-cpu"


@pytest.mark.parametrize("name", PLANTED)
def test_each_reason_has_a_study_of_two_sides_and_a_module_that_compiles(name: str) -> None:
    reason = PLANTED[name]
    switches = f', switches = "{reason.switches}"' if reason.switches else ""
    study = parse(STUDY.format(stack=reason.stack, batch=reason.batch, input=reason.input, switches=switches).encode(),
                  "planted.toml")

    assert [(reason.stack, "planted")] == [each.stacks for each in study.experiments]
    assert reason.switches == checked("switches", reason.switches)
    compile(reason.source, "planted.py", "exec")


@pytest.mark.parametrize(("name", "sentence", "expected"), [
    ("one-thread", f"{BEGINS} by its convolutions: with a thread for each CPU (cpus=2) it is 1.9x as fast", True),
    ("one-thread", f"{BEGINS}: most of the gap lies in convolutions (70 % of the gap); of 1 switch none", False),
    ("slow-input", f"{BEGINS} by its input (95 % of the gap): with one batch in memory (input=synthetic)", True),
    ("slow-input", f"{BEGINS} by its dispatch (95 % of the gap): with one batch in memory (input=synthetic)", False),
    ("python-optimizer", f"{BEGINS}: most of the gap lies in optimizer (90 % of the gap); of 3 switches none", True),
    ("python-optimizer", f"{BEGINS} by its optimizer (90 % of the gap): with torch.compile (loop=compile)", False),
    ("nothing", "planted is not shown to be slower than torch-2.13-cpu now: there is nothing to explain.", True),
    ("nothing", f"{BEGINS}: most of the gap lies in input (90 % of the gap); no documented switch applies.", False)])
def test_a_reason_is_found_where_its_own_is_named(name: str, sentence: str, expected: bool) -> None:
    assert expected == is_found(name, {"sentence": sentence})
    assert f"| {name} | {'yes' if expected else 'NO'} | {sentence} |" in planted_reasons.table({
        name: {"sentence": sentence}})


def test_each_batch_of_the_slow_pipeline_comes_20_ms_late() -> None:
    class Workload:
        def batches(self, *images: Any) -> Any:
            yield from images

    late: list[float] = []
    names: dict[str, Any] = {}
    exec(planted_reasons.SLOW_INPUT.replace("sys.meta_path.insert(0, Finder())", ""), names)
    names["time"] = SimpleNamespace(sleep=late.append)
    names["plant"](SimpleNamespace(Workload=Workload))

    assert ([1, 2], [0.02, 0.02]) == ([*Workload().batches(1, 2)], late)
