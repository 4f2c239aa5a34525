"""GPT-2: FLOPs by hand, and batches whose labels are the tokens that follow."""

import numpy as np
import pytest

from workloads.inputs import sequence_batches
from workloads.inputs.models import gpt2 as inputs
from workloads.measuring import generating
from workloads.spec import sequence_tasks, tasks
from workloads.spec.cell import Cell
from workloads.spec.models import gpt2

SIZES = gpt2.PRESETS["small"]
TINY = gpt2.Sizes(layers=1, width=2, heads=1, inner=3, vocabulary=5, positions=4, length=4)
CELL = Cell(stack="s", task="gpt2", measure="decode", batch=3, length=64)


def test_the_names_of_a_layer_s_arrays_end_in_their_kinds() -> None:
    assert {each.kind for each in gpt2.parameters(SIZES)} == {"weight", "bias", "gamma", "beta"}
    assert all(each.name.endswith("." + each.kind) for each in gpt2.parameters(SIZES))


def test_flops_of_a_tiny_model_are_those_counted_by_hand() -> None:
    # a token: four products of 2 x 2, two of 2 x 3; attention: ten pairs of two products of 2; a head of 2 x 5
    assert gpt2.forward_flops(TINY) == 2 * (4 * (4 * 4 + 2 * 6) + 10 * 2 * 2 + 4 * 10)


def test_a_prompt_has_one_head_and_a_token_sees_all_before_it() -> None:
    assert gpt2.prefill_flops(TINY, 2) == 2 * (2 * 28 + 3 * 2 * 2 + 10)
    assert gpt2.decode_flops(TINY, 2) == 2 * (2 * 28 + 7 * 2 * 2 + 2 * 10) // 2


def test_a_prompt_with_all_heads_and_the_tokens_after_it_are_a_whole_pass() -> None:
    missing_head = 2 * 1 * 10
    assert gpt2.prefill_flops(TINY, 2) + missing_head + 2 * gpt2.decode_flops(TINY, 2) == gpt2.forward_flops(TINY)


def test_a_step_counts_the_batch_s_prompts_or_tokens_once() -> None:
    assert tasks.step_flops(CELL, 3) == 3 * gpt2.decode_flops(SIZES, 32)
    assert tasks.step_flops(CELL._replace(measure="prefill", prompt=5)) == 3 * gpt2.prefill_flops(SIZES, 5)


@pytest.mark.parametrize(("changes", "message"), [
    ({"task": "bert"}, "measure decode is of models that generate token after token: gpt2"),
    ({"task": "lenet5", "measure": "prefill"}, "measure prefill is of models"),
    ({"prompt": 64}, "a prompt of 64 tokens leaves none to generate: expected fewer than the length, 64"),
    ({"prompt": 63}, "None"), ({"task": "bert", "measure": "train"}, "None"),
])
def test_what_cannot_be_generated_is_said_with_the_reason(changes: "dict[str, object]", message: str) -> None:
    assert message in str(sequence_tasks.generating_problem(CELL._replace(**changes)))


@pytest.mark.parametrize(("measure", "prompt", "tokens"), [("prefill", 0, 96), ("prefill", 5, 15), ("decode", 5, 3)])
def test_the_tokens_of_a_step_are_those_that_it_takes(measure: str, prompt: int, tokens: int) -> None:
    cell = CELL._replace(measure=measure, prompt=prompt)
    facts = generating.of_steps(cell, sequence_batches.read("", cell)).facts
    assert (tokens, tokens) == (facts["tokens"], facts["padded_tokens"])


def test_a_label_is_the_token_that_follows() -> None:
    batch = inputs.collate(SIZES, inputs.samples(SIZES, 3, 1, None), "float32")
    assert batch["ids"].shape == batch["labels"].shape == (3, SIZES.length)
    assert np.array_equal(batch["ids"][:, 1:], batch["labels"][:, :-1])
    assert inputs.tokens(batch) == (3 * SIZES.length, 3 * SIZES.length)


class _Workload:
    """Answers a batch by the cache and by a whole pass."""

    generates = True

    def __init__(self, difference: float) -> None:
        self._difference = difference

    def cached(self, batch: object) -> "tuple[np.ndarray, np.ndarray]":
        whole = np.ones((1, 2, 2))
        return whole + self._difference, whole


def test_a_check_sends_what_the_cache_gave_and_how_far_it_is_from_the_whole_pass_or_ends_there() -> None:
    sent: list[dict[str, object]] = []
    generating.check(CELL._replace(precision="float64"), _Workload(0.0), ({},),
                     lambda event, **values: sent.append(dict(values, event=event)))
    assert [("tensor", "decoded", 0.0)] == [(each["event"], each["kind"], each["from_whole"]) for each in sent]
    with pytest.raises(ArithmeticError, match=r"differs from a pass over the whole sequence by 1\.0e-09, expected at "
                                              "most 1e-10"):
        generating.check(CELL._replace(precision="float64"), _Workload(1e-9), ({},), print)


def test_a_pass_of_decode_ends_with_the_last_position() -> None:
    assert 64 - 20 == generating.of_pass(CELL._replace(prompt=20), sequence_batches.read("", CELL)).pass_steps
