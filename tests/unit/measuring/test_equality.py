"""Checks: what agrees passes, what differs is named by its first layer."""

from pathlib import Path

import numpy as np
import pytest

from runner.launchers.watchdog import Ending
from runner.measuring import equality
from runner.report.writers import equality as written
from tests.clock import FakeClock
from tests.fakes import FakeLauncher, stack
from workloads.measuring.sketch import WIDTH, sketch
from workloads.spec.cell import Cell

TORCH, TF = stack("torch-x"), stack("tf-x", framework="tensorflow")
RUNTIME = stack("runtime-x", framework="onnxruntime")


def cell(precision: str = "float64") -> Cell:
    return equality.check_cell("lenet5", "tf-x", precision, 2, 0)


def arrays(scale: float = 1.0, name: str = "3", kind: str = "activation") -> equality.Sent:
    """Made arrays of LeNet-5's layers, one of them times scale."""
    random = np.random.default_rng(3)
    made = {each: {path: random.normal(size=8) for path in ("0", "3", "7.weight")} for each in equality.KINDS}
    made[kind][name] = made[kind][name] * scale
    return made


def test_equal_arrays_pass() -> None:
    assert equality.compare(cell(), arrays(), arrays(), TF, TORCH).passed


@pytest.mark.parametrize(("pair", "difference", "passes"), [
    ((TF, TORCH), 1e-7, True), ((TF, TORCH), 3e-6, False), ((TORCH, TORCH), 1e-7, False),
    ((TORCH, TORCH), 1e-11, True)])
def test_float64_must_agree_to_1e_10_and_1e_6_with_tensorflow(pair: tuple[object, object], difference: float,
                                                             passes: bool) -> None:
    ours, reference = pair
    verdict = equality.compare(cell(), arrays(1 + difference), arrays(), ours, reference)  # type: ignore[arg-type]
    assert passes == verdict.passed


def test_the_first_layer_that_differs_is_named_with_its_type() -> None:
    verdict = equality.compare(cell(), arrays(1.5, "3"), arrays(), TF, TORCH)
    assert not verdict.passed
    assert "activation 3 (Conv)" == verdict.first
    assert "gradient 7.weight (Dense)" == equality.compare(cell(), arrays(1.5, "7.weight", "gradient"), arrays(), TF,
                                                        TORCH).first


def test_a_gradient_that_is_zero_but_for_rounding_may_be_rounded_otherwise() -> None:
    ours, theirs = arrays(1e-16, kind="gradient"), arrays(-1e-16, kind="gradient")
    assert equality.compare(cell(), ours, theirs, TORCH, TORCH).passed
    ours, theirs = arrays(1e-12, kind="gradient"), arrays(-1e-12, kind="gradient")
    assert not equality.compare(cell(), ours, theirs, TORCH, TORCH).passed


def test_in_float32_one_gradient_may_be_far_off_if_the_whole_is_not() -> None:
    ours, theirs = arrays(), arrays()
    ours["gradient"]["0"] = ours["gradient"]["0"] * 100         # the one that counts
    theirs["gradient"]["0"] = theirs["gradient"]["0"] * 100
    ours["gradient"]["3"] = ours["gradient"]["3"] * 1.2
    assert equality.compare(cell("float32"), ours, theirs, TF, TORCH).passed
    assert not equality.compare(cell("float64"), ours, theirs, TF, TORCH).passed


def test_what_is_not_a_number_never_passes() -> None:
    assert not equality.compare(cell(), arrays(np.nan), arrays(), TF, TORCH).passed
    assert not equality.compare(cell("float32"), arrays(np.nan), arrays(), TF, TORCH).passed


def test_a_stack_that_cannot_run_the_task_is_not_passed_and_says_why() -> None:
    verdict = equality.compare(cell(), Ending("unsupported", "no such layer"), arrays(), TF, TORCH)
    assert not verdict.passed and "tf-x: unsupported: no such layer" == verdict.problem


def test_a_sketch_keeps_the_length_of_a_difference_to_a_few_percent() -> None:
    random = np.random.default_rng(5)
    first = random.normal(size=200_000)
    second = first.copy()
    second[::1000] += 0.01
    apart = np.linalg.norm(sketch("w", first) - sketch("w", second))
    assert apart == pytest.approx(np.linalg.norm(first - second), rel=0.15)
    assert (WIDTH,) == sketch("w", first).shape


def test_a_small_array_is_sent_whole() -> None:
    assert [1.0, 2.0, 3.0] == list(sketch("b", np.array([[1.0, 2.0, 3.0]])))


def test_verdicts_prove_only_what_the_stacks_are_made_of_now(tmp_path: Path) -> None:
    verdict = equality.compare(cell(), arrays(), arrays(), TF, TORCH)
    equality.keep([verdict], {"tf-x": "1", "torch-x": "2"}, tmp_path)
    assert {("lenet5", "tf-x"), ("lenet5", "torch-x")} == equality.proved(tmp_path, {"tf-x": "1", "torch-x": "2"})
    assert set() == equality.proved(tmp_path, {"tf-x": "1", "torch-x": "3"})


def test_a_later_failure_takes_an_earlier_proof_back_and_garbage_proves_nothing(tmp_path: Path) -> None:
    made_of = {"tf-x": "1", "torch-x": "2"}
    equality.keep([equality.compare(cell(), arrays(), arrays(), TF, TORCH)], made_of, tmp_path)
    equality.keep([equality.compare(cell(), arrays(2.0), arrays(), TF, TORCH)], made_of, tmp_path)
    with (tmp_path / equality.VERDICTS).open("a") as file:
        file.write('nonsense\n{"task": 1}\n[]\n')
    assert set() == equality.proved(tmp_path, made_of)


def test_what_one_stack_does_not_have_of_a_model_is_compared_where_both_do() -> None:
    without, other = arrays(), arrays(2.0, kind="decoded")
    without["decoded"].clear()
    assert equality.compare(cell(), without, arrays(), TF, TORCH).passed
    assert equality.compare(cell(), arrays(), without, TF, TORCH).passed
    assert "decoded 3 (Conv)" == equality.compare(cell(), other, arrays(), TF, TORCH).first


def test_a_stack_that_only_infers_is_compared_by_what_it_infers() -> None:
    ours = arrays()
    for kind in ("loss", "gradient", "weight", "statistic"):
        ours[kind].clear()

    assert equality.compare(cell("float32"), ours, arrays(), RUNTIME, TORCH).passed
    assert "loss 0 is in torch-x alone" == equality.compare(cell("float32"), ours, arrays(), TF, TORCH).problem
    changed = ({**ours, "inferred": arrays(1.1, kind="inferred")["inferred"]})
    assert "inferred 3 (Conv)" == equality.compare(cell("float32"), changed, arrays(), RUNTIME, TORCH).first


def test_a_layer_that_differs_by_a_batch_s_own_statistics_is_named_where_what_is_inferred_differs() -> None:
    by_batch, both = arrays(1.1), arrays(1.1)
    both["inferred"]["3"] = 1.1 * both["inferred"]["3"]

    verdicts = [equality.compare(cell("float32"), ours, arrays(), RUNTIME, TORCH) for ours in (by_batch, both)]
    assert [(True, ""), (False, "activation 3 (Conv)")] == [(each.passed, each.first) for each in verdicts]


def test_a_stack_that_only_infers_is_proved_in_float32_which_proves_nothing_of_others(tmp_path: Path) -> None:
    made_of = {"tf-x": "1", "torch-x": "2", "runtime-x": "3"}
    for ours in (RUNTIME, TF):
        equality.keep([equality.compare(cell("float32"), arrays(), arrays(), ours, TORCH)._replace(stack=ours.name)],
                      made_of, tmp_path)

    assert {("lenet5", "runtime-x")} == equality.proved(tmp_path, made_of)


def test_where_no_stack_runs_natively_no_tuned_one_passes() -> None:
    end = b'{"event": "end", "status": "%s", "message": "no"}\n'
    launcher = FakeLauncher(FakeClock(), lambda cell, run: [end % (b"ok" if cell.loop == "tuned" else b"unsupported")])
    check = equality.Check(launcher, Path("data"), (2, 0), lambda text: None, loop="tuned", clock=FakeClock())
    verdicts = equality.run(["lenet5"], [TORCH, TF], check)

    assert [("torch-x", False, "tuned"), ("tf-x", False, "tuned")] == [
        (each.stack, each.passed, each.loop) for each in verdicts]
    assert verdicts[0].problem.endswith("torch-x: unsupported: no; tf-x: unsupported: no")


def test_a_tuned_build_that_equals_its_own_native_one_is_proved_once_that_is_compared_with_another(
        tmp_path: Path) -> None:
    made_of, own = {"tf-x": "1", "torch-x": "2"}, equality.check_cell("lenet5", "torch-x", "float64", 2, 0, "tuned")
    equality.keep([equality.compare(own, arrays(), arrays(), TORCH, TORCH)], made_of, tmp_path)
    assert set() == equality.proved(tmp_path, made_of)

    equality.keep([equality.compare(cell(), arrays(), arrays(), TF, TORCH)], made_of, tmp_path)
    assert ("lenet5", "torch-x, tuned") in equality.proved(tmp_path, made_of)


def test_a_tuned_build_is_proved_for_itself_and_proves_nothing_of_its_reference(tmp_path: Path) -> None:
    tuned = equality.check_cell("lenet5", "tf-x", "float64", 2, 0, "tuned")
    equality.keep([equality.compare(tuned, arrays(), arrays(), TF, TORCH)], {"tf-x": "1", "torch-x": "2"}, tmp_path)
    assert {("lenet5", "tf-x, tuned")} == equality.proved(tmp_path, {"tf-x": "1", "torch-x": "2"})


def test_activations_may_be_missing_only_where_a_loop_compiles_them_away() -> None:
    tuned, without = equality.check_cell("lenet5", "tf-x", "float64", 2, 0, "tuned"), arrays()
    without["activation"].clear()
    assert equality.compare(tuned, without, arrays(), TF, TORCH).passed
    assert not equality.compare(cell(), without, arrays(), TF, TORCH).passed


def test_a_verdict_without_activations_is_listed() -> None:
    tuned, without = equality.check_cell("lenet5", "tf-x", "float64", 2, 0, "tuned"), arrays()
    without["activation"].clear()
    line = written.listed(equality.compare(tuned, without, arrays(), TF, TORCH))
    assert ("-", "0e+00", "equal") == (line["layers"], line["loss"], line["verdict"])
