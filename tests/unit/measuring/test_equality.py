"""Checks: what agrees passes, what differs is named by its first layer."""

from pathlib import Path

import numpy as np
import pytest

from runner.analysis import agreement
from runner.launchers.watchdog import Ending
from runner.measuring import equality
from runner.report.writers import equality as written
from runner.results.joined import joined
from runner.results.rows import Measurements
from runner.stacks.definition import Stack
from tests import made_rows as made
from tests.clock import FakeClock
from tests.fakes import MACHINE, FakeLauncher, quiet, stack
from workloads.measuring.count_sketch import WIDTH, sketch
from workloads.spec.cell import Cell

TORCH, TF, MXNET = stack("torch-x"), stack("tf-x", framework="tensorflow"), stack("mxnet-x", framework="mxnet")
RUNTIME = stack("runtime-x", framework="onnxruntime")


def cell(precision: str = "float64") -> Cell:
    return agreement.check_cell("lenet5", "tf-x", precision, 2, 0)


def arrays(scale: float = 1.0, name: str = "3", kind: str = "activation") -> agreement.Sent:
    """Made arrays of LeNet-5's layers, one of them times scale."""
    random = np.random.default_rng(3)
    made = {each: {path: random.normal(size=8) for path in ("0", "3", "7.weight")} for each in agreement.KINDS}
    made[kind][name] = made[kind][name] * scale
    return made


def without(sent: agreement.Sent, *kinds: str) -> agreement.Sent:
    return {kind: {} if kind in kinds else named for kind, named in sent.items()}


def gradients(scale: float) -> agreement.Sent:
    return arrays(scale, kind="gradient")


INFERRED = without(arrays(), "loss", "gradient", "weight", "statistic")
BY_BATCH, BOTH = arrays(1.1), arrays(1.1)                       # a layer normalised by a batch's own statistics
BOTH["inferred"]["3"] = 1.1 * BOTH["inferred"]["3"]
TUNED = agreement.check_cell("lenet5", "tf-x", "float64", 2, 0, "tuned")


@pytest.mark.parametrize(("stack", "ours", "theirs", "of", "said"), [
    (TF, arrays(), arrays(), cell(), ""),
    # float64 must agree to 1e-10, and to 1e-6 with TensorFlow; the first that differs is named with its layer's type
    (TF, arrays(1 + 1e-7), arrays(), cell(), ""), (TF, arrays(1 + 3e-6), arrays(), cell(), "activation 3 (Conv)"),
    (TORCH, arrays(1 + 1e-11), arrays(), cell(), ""),
    (TORCH, arrays(1 + 1e-7), arrays(), cell(), "activation 3 (Conv)"),
    (TF, arrays(1.5, "7.weight", "gradient"), arrays(), cell(), "gradient 7.weight (Dense)"),
    # a gradient that is zero but for rounding may be rounded otherwise
    (TORCH, gradients(1e-16), gradients(-1e-16), cell(), ""),
    (TORCH, gradients(1e-12), gradients(-1e-12), cell(), "gradient 3 (Conv)"),
    (TF, arrays(np.nan), arrays(), cell(), "activation 3 (Conv)"),
    (TF, arrays(np.nan), arrays(), cell("float32"), "activation 3 (Conv)"),
    (TF, Ending("unsupported", "no such layer"), arrays(), cell(), "tf-x: unsupported: no such layer"),
    # what one stack does not have of a model is compared where both do
    (TF, without(arrays(), "decoded"), arrays(), cell(), ""), (TF, arrays(), without(arrays(), "decoded"), cell(), ""),
    (TF, arrays(2.0, kind="decoded"), arrays(), cell(), "decoded 3 (Conv)"),
    # a stack that only infers is compared by what it infers
    (RUNTIME, INFERRED, arrays(), cell("float32"), ""),
    (TF, INFERRED, arrays(), cell("float32"), "loss 0 is in torch-x alone"),
    (RUNTIME, {**INFERRED, "inferred": arrays(1.1, kind="inferred")["inferred"]},
     arrays(), cell("float32"), "inferred 3 (Conv)"),
    (RUNTIME, BY_BATCH, arrays(), cell("float32"), ""),
    (RUNTIME, BOTH, arrays(), cell("float32"), "activation 3 (Conv)"),
    # activations may be missing only where a loop compiles them away
    (TF, without(arrays(), "activation"), arrays(), TUNED, ""),
    (TF, without(arrays(), "activation"), arrays(), cell(), "activation 0 is in torch-x alone"),
    (MXNET, without(arrays(), "activation"), arrays(), cell("amp"), ""),
    (TF, without(arrays(), "activation"), arrays(), cell("amp"), "activation 0 is in torch-x alone"),
    # in bfloat16 the forward pass is judged; where a batch's own statistics normalise, loss and inference are
    (TF, without(arrays(1.5), "statistic"), without(arrays(), "statistic"), cell("amp"), "activation 3 (Conv)"),
    (TF, without(gradients(1.5), "statistic"), without(arrays(), "statistic"), cell("amp"), ""),
    (TF, arrays(1.5), arrays(), cell("amp"), ""),
    (TF, arrays(1.5, kind="inferred"), arrays(), cell("amp"), "inferred 3 (Conv)"),
    (TF, {**arrays(1.5, "0", "loss"), "activation": arrays(1.5)["activation"]}, arrays(), cell("amp"),
     "loss 0 (Conv)")])
def test_what_agrees_passes_and_what_differs_is_named(
        stack: Stack, ours: agreement.Sent | Ending, theirs: agreement.Sent, of: Cell, said: str) -> None:
    verdict = agreement.compare(of, ours, theirs, stack, TORCH)

    assert (not said, said) == (verdict.passed, verdict.first or verdict.problem)


def test_in_float32_one_gradient_may_be_far_off_if_the_whole_is_not() -> None:
    ours, theirs = arrays(), arrays()
    ours["gradient"]["0"] = ours["gradient"]["0"] * 100         # the one that counts
    theirs["gradient"]["0"] = theirs["gradient"]["0"] * 100
    ours["gradient"]["3"] = ours["gradient"]["3"] * 1.2
    assert agreement.compare(cell("float32"), ours, theirs, TF, TORCH).passed
    assert not agreement.compare(cell("float64"), ours, theirs, TF, TORCH).passed


def test_a_sketch_keeps_the_length_of_a_difference_to_a_few_percent() -> None:
    random = np.random.default_rng(5)
    first = random.normal(size=200_000)
    second = first.copy()
    second[::1000] += 0.01
    apart = np.linalg.norm(sketch("w", first) - sketch("w", second))
    assert apart == pytest.approx(np.linalg.norm(first - second), rel=0.15)
    assert (WIDTH,) == sketch("w", first).shape
    assert [1.0, 2.0, 3.0] == list(sketch("b", np.array([[1.0, 2.0, 3.0]])))         # a small one is sent whole


def of_tf(scale: float = 1.0, of: Cell | None = None) -> agreement.Verdict:
    """The verdict on TensorFlow's arrays against PyTorch's, of which one array is so many times as large."""
    return agreement.compare(of or cell(), arrays(scale), arrays(), TF, TORCH)


def passed(stack: Stack, reference: Stack) -> agreement.Verdict:
    """The verdict on stacks that compute the same."""
    return agreement.compare(cell(), arrays(), arrays(), stack, reference)


MADE_OF = {"tf-x": "1", "torch-x": "2", "runtime-x": "3", "mxnet-x": "5", "jax-x": "6"}
JAX = stack("jax-x", framework="jax")
OF_ITSELF = agreement.compare(TUNED._replace(stack="torch-x"), arrays(), arrays(), TORCH, TORCH)


@pytest.mark.parametrize(("verdicts", "proved", "failed"), [
    ([of_tf()], {"tf-x", "torch-x"}, set()),
    # a later failure takes an earlier proof back, whichever of the two is the reference
    ([of_tf(), of_tf(2.0)], set(), {"tf-x", "torch-x"}),
    ([passed(TORCH, TF), of_tf(2.0), passed(JAX, TORCH)], {"torch-x", "jax-x"}, {"tf-x"}),
    ([of_tf(2.0), passed(TORCH, TF)], {"tf-x", "torch-x"}, set()),
    # a model of the user's own passes in each precision or in none
    ([each._replace(is_own=True, proves=True) for each in (of_tf(2.0), of_tf(of=cell("amp")))],
     set(), {"tf-x", "torch-x"}),
    # pairs that nothing links prove the larger group alone, and a stack against itself proves nothing
    ([of_tf(), passed(MXNET, JAX)], {"tf-x", "torch-x"}, set()),
    ([of_tf(), passed(MXNET, JAX), passed(JAX, TF)], {"tf-x", "torch-x", "mxnet-x", "jax-x"}, set()),
    ([passed(TORCH, TORCH), passed(TF, TF)], set(), set()),
    # a stack that only infers is proved in float32, which proves nothing of others and links none
    ([agreement.compare(cell("float32"), arrays(), arrays(), RUNTIME, TORCH), of_tf(of=cell("float32"))],
     {"runtime-x", "torch-x"}, set()),
    ([agreement.compare(cell("float32"), arrays(), arrays(), RUNTIME, each) for each in (TORCH, JAX)],
     {"runtime-x", "torch-x"}, set()),
    # a tuned build is proved for itself, and against its own native loop once that is compared with another stack
    ([of_tf(of=TUNED)], {"tf-x, tuned", "torch-x"}, set()), ([OF_ITSELF], set(), set()),
    ([OF_ITSELF, of_tf()], {"tf-x", "torch-x", "torch-x, tuned"}, set())])
def test_verdicts_prove_only_what_the_stacks_are_made_of_now(
        tmp_path: Path, verdicts: list[agreement.Verdict], proved: set[str], failed: set[str]) -> None:
    equality.keep(verdicts, MADE_OF, tmp_path)
    with (tmp_path / equality.VERDICTS).open("a") as file:
        file.write('nonsense\n{"task": 1}\n[]\n')             # proves nothing

    assert {("lenet5", name): name in proved for name in proved | failed} == equality.proved(tmp_path, MADE_OF)
    assert {} == equality.proved(tmp_path, dict.fromkeys(MADE_OF, "4"))


@pytest.mark.parametrize(("older", "proved"), [("1", {"tf-x", "torch-x"}), ("0", set())])
def test_of_several_sessions_a_stack_is_proved_where_it_is_in_each(
        tmp_path: Path, older: str, proved: set[str]) -> None:
    equality.keep([of_tf()], MADE_OF, tmp_path)

    def session(name: str, made_of: dict[str, str], **values: int) -> Measurements:
        cells = [made.cell(stack, **values) for stack in ("torch-x", "tf-x")]
        return made.measured(*cells, made.session(id=name), *(record for each in cells for record in made.runs(
            each, [1.0], place={"fingerprint": made_of[each.stack]})))

    both = joined([session("2", MADE_OF), session("1", {**MADE_OF, "tf-x": older}, batch=20)])
    assert dict.fromkeys((("lenet5", name) for name in proved), True) == equality.proved_in(both, tmp_path)


def test_cells_of_a_check_are_as_large_as_the_machine_that_the_launcher_places_them_on(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = FakeLauncher(FakeClock(step=0.001))
    monkeypatch.setattr(launcher, "machine", lambda here: MACHINE._replace(cpus=1, memory_bytes=2**30))
    equality.Check.by(launcher, tmp_path, quiet).kept(["lenet5"], [TORCH, TF], tmp_path)

    assert {(1, 2**30)} == {(cell.cpus, cell.memory_bytes) for cell, _ in launcher.started}


def test_where_no_stack_runs_natively_no_tuned_one_passes() -> None:
    end = b'{"event": "end", "status": "%s", "message": "no"}\n'
    launcher = FakeLauncher(FakeClock(), lambda cell, run: [end % (b"ok" if cell.loop == "tuned" else b"unsupported")])
    check = equality.Check(launcher, Path("data"), (2, 0), lambda text: None, loop="tuned", clock=FakeClock())
    verdicts = equality.run(["lenet5"], [TORCH, TF], check)

    assert [("torch-x", False, "tuned"), ("tf-x", False, "tuned")] == [
        (each.stack, each.passed, each.loop) for each in verdicts]
    assert verdicts[0].problem.endswith("torch-x: unsupported: no; tf-x: unsupported: no")


def test_a_verdict_without_activations_is_listed() -> None:
    line = written.listed(agreement.compare(TUNED, without(arrays(), "activation"), arrays(), TF, TORCH))
    assert ("-", "0e+00", "equal") == (line["layers"], line["loss"], line["verdict"])


@pytest.mark.parametrize(("checks_at_once", "seconds"), [(1, 300), (2, 600)])
def test_a_check_that_shares_the_cpus_may_be_silent_for_longer(
        tmp_path: Path, checks_at_once: int, seconds: float) -> None:
    clock = FakeClock(step=0.001)
    launcher = FakeLauncher(clock, lambda cell, run: [None])
    launcher.checks_at_once = checks_at_once
    ended = equality.Check(launcher, tmp_path, (2, 0), quiet, clock=clock).of_one(cell(), TF)

    assert isinstance(ended, Ending) and "timeout" == ended.word
    assert seconds == pytest.approx(clock(), abs=1.0)
