"""The GPU proof's own code, on what workers would say: the proof itself needs a GPU."""

import time
from pathlib import Path

import pytest

from runner.machine.nvml import Reader
from tests import fake_nvml
from tests.gpu import __main__ as proof
from tests.gpu import checks
from tests.gpu.lines import NOT_HERE, NOT_OK, NOT_RUN, OK, Ended, Line
from tests.gpu.worker import Environment

GPU = Environment("here", "python", "torch", "gpu", time.monotonic() + 1e6, {})
SMI = checks.Smi(700.0, 700.0, 1980.0, 0.0, 0.0)


@pytest.mark.parametrize("task", ["lenet5", "lstm"])
def test_numpy_s_arrays_are_equal_to_themselves_and_to_no_other_model_s(task: str) -> None:
    cell = checks.check_cell(GPU, task, "float64")
    ours = {**checks.forward(cell), "gradient": {}}
    assert OK == checks.compared("x", cell, ours, checks.forward(cell)).verdict
    loss = ours["loss"]["loss"]
    for other in ({"loss": {"loss": loss * 1.001}}, {"loss": {"loss": loss * float("nan")}}, {"activation": {}}):
        assert NOT_OK == checks.compared("x", cell, {**ours, **other}, checks.forward(cell)).verdict


@pytest.mark.parametrize(("joules", "verdict"), [(7000, OK), (6000, NOT_OK), (None, NOT_OK)])
def test_the_reader_s_energy_is_the_integral_of_power(joules: int | None, verdict: str) -> None:
    gpu = fake_nvml.H100._replace(milliwatts=700_000, instant_milliwatts=None, millijoules=0 if joules else None)
    library = fake_nvml.FakeNvml(gpu)
    first = Reader([gpu.uuid], library)()[0]
    library.gpus[0] = gpu._replace(millijoules=joules and joules * 1000)
    lines = list(checks.energy_lines([(0.0, SMI, first), (10.0, SMI, Reader([gpu.uuid], library)()[0])],
                                     SMI._replace(watts=100.0)))
    assert [verdict, OK, OK, OK, OK] == [line.verdict for line in lines]


def test_a_part_that_crashes_is_not_ok_and_one_without_time_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, verdict in ((KeyError("x"), NOT_OK), (Ended(NOT_HERE, "none"), NOT_HERE)):
        monkeypatch.setitem(checks.CHECKS, "1", ("t", lambda env, error=error: (_ for _ in ()).throw(error), 60.0))
        assert [verdict] == [line.verdict for line in proof.run("1", GPU, time.monotonic() + 100)[1]]
    assert NOT_RUN == proof.run("1", GPU, time.monotonic() + 1)[1][0].verdict


def test_the_exit_code_and_the_last_line_are_of_the_worst(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = {verdict: [(GPU, "4", [Line("a", "b"), Line("c", "d", "", verdict)])] for verdict in (OK, NOT_RUN, NOT_OK)}
    assert [0, 3, 1] == [proof.summary(said[verdict])[0] for verdict in said]
    assert "check 4 of here (torch)" in proof.summary(said[NOT_RUN])[1]
    assert 2 == proof.main(["--only", "77"]) == proof.main(["--stack", f"m={tmp_path / 'python'}"])
    assert "found 77" in (told := capsys.readouterr().err) and "No such file" in told
    (tmp_path / "events.jsonl").write_text('{"event": "ending", "ending": "unsupported"}\n')
    assert NOT_OK == checks.endings(tmp_path).verdict
