"""GPT-2 and Llama: FLOPs of what they generate, and batches whose labels are the tokens that follow."""

from typing import Any

import numpy as np
import pytest

from tests.sent import Sent
from workloads.frameworks import contract
from workloads.inputs import sequence_batches
from workloads.inputs.models import gpt2 as inputs
from workloads.measuring import generating
from workloads.spec import sequence_tasks, tasks
from workloads.spec.cell import Cell
from workloads.spec.models import gpt2, llama

SIZES = gpt2.PRESETS["small"]
TINY = gpt2.Sizes(layers=1, width=2, heads=1, inner=3, vocabulary=5, positions=4, length=4)
TINY_LLAMA = llama.Sizes(layers=1, width=4, heads=2, key_heads=1, inner=3, vocabulary=5, positions=4, length=4)
CELL = Cell(stack="s", task="gpt2", measure="decode", batch=3, length=64)


def test_llama_s_keys_and_values_are_of_fewer_heads_than_its_queries() -> None:
    shapes = {each.name: each.shape for each in llama.parameters(TINY_LLAMA)}
    assert (4, 4) == shapes["layers.0.attention.query.weight"]
    assert (2, 4) == shapes["layers.0.attention.key.weight"] == shapes["layers.0.attention.value.weight"]
    assert (3, 2, 64, 64) == sequence_tasks.kept_shape(CELL._replace(task="llama"), 3)


def test_a_prompt_has_one_head_and_a_token_sees_all_before_it() -> None:
    assert gpt2.prefill_flops(TINY, 2) == 2 * (2 * 28 + 3 * 2 * 2 + 10)
    assert gpt2.decode_flops(TINY, 2) == 2 * (2 * 28 + 7 * 2 * 2 + 2 * 10) // 2


@pytest.mark.parametrize(("spec", "sizes"), [(gpt2, TINY), (llama, TINY_LLAMA)], ids=["gpt2", "llama"])
def test_with_all_heads_a_prompt_and_the_tokens_after_it_are_a_whole_pass(spec: Any, sizes: Any) -> None:
    missing_head = 2 * sizes.width * sizes.vocabulary
    assert spec.prefill_flops(sizes, 2) + missing_head + 2 * spec.decode_flops(sizes, 2) == spec.forward_flops(sizes)


def test_a_step_counts_the_batch_s_prompts_or_tokens_once() -> None:
    assert tasks.step_flops(CELL, 3) == 3 * gpt2.decode_flops(SIZES, 32)
    assert tasks.step_flops(CELL._replace(measure="prefill", prompt=5)) == 3 * gpt2.prefill_flops(SIZES, 5)
    assert tasks.step_flops(CELL._replace(decode="program")) == 3 * 32 * gpt2.decode_flops(SIZES, 32)


@pytest.mark.parametrize(("changes", "message"), [
    ({"task": "bert"}, "measure decode is of models that generate token after token: gpt2, llama"),
    ({"task": "lenet5", "measure": "prefill"}, "measure prefill is of models"),
    ({"prompt": 64}, "a prompt of 64 tokens leaves none to generate: expected fewer than the length, 64"),
    ({"prompt": 63}, "None"), ({"task": "bert", "measure": "train"}, "None"),
])
def test_what_cannot_be_generated_is_said_with_the_reason(changes: "dict[str, object]", message: str) -> None:
    assert message in str(sequence_tasks.generating_problem(CELL._replace(**changes)))


@pytest.mark.parametrize(("measure", "prompt", "decode", "tokens"), [
    ("prefill", 0, "token", 96), ("prefill", 5, "program", 15), ("decode", 5, "token", 3),
    ("decode", 5, "program", 3 * 59)])
def test_the_tokens_of_a_step_are_those_that_it_takes(measure: str, prompt: int, decode: str, tokens: int) -> None:
    cell = CELL._replace(measure=measure, prompt=prompt, decode=decode)
    facts = generating.of_steps(cell, sequence_batches.read("", cell)).facts
    assert (tokens, tokens) == (facts["tokens"], facts["padded_tokens"])


def test_a_label_is_the_token_that_follows() -> None:
    batch = inputs.collate(SIZES, inputs.samples(SIZES, 3, 1, None), "float32")
    assert batch["ids"].shape == batch["labels"].shape == (3, SIZES.length)
    assert np.array_equal(batch["ids"][:, 1:], batch["labels"][:, :-1])
    assert inputs.tokens(batch) == (3 * SIZES.length, 3 * SIZES.length)


class _Workload(contract.Sequences):
    """Answers a batch by the cache and by a whole pass, and gives the tokens 5, 6 ... to each of three sequences."""

    generates = True

    def __init__(self, difference: float, first_of_program: int = 5) -> None:
        self._difference, self._first = difference, first_of_program

    def decode(self, batches: object, count: int, watch: contract.Watch) -> None:
        for step in range(count):
            watch.stepped([5 + step] * 3)

    def decode_program(self, batches: object, count: int, watch: contract.Watch) -> None:
        watch.stepped([[self._first + step for step in range(32)]] * 3)

    def cached(self, batch: object) -> "tuple[np.ndarray, np.ndarray]":
        whole = np.ones((1, 2, 2))
        return whole + self._difference, whole


def test_a_check_sends_what_the_cache_gave_and_how_far_it_is_from_the_whole_pass_or_ends_there() -> None:
    sent = Sent()
    generating.check(CELL._replace(precision="float64"), _Workload(0.0), ({},), sent)
    assert [("decoded", "logits", 0.0), ("decoded", "tokens", None)] == [
        (each["kind"], each["name"], each.get("from_whole")) for each in sent]
    with pytest.raises(ArithmeticError, match=r"the whole sequence by 1\.0e-09, expected at most 1e-10"):
        generating.check(CELL._replace(precision="float64"), _Workload(1e-9), ({},), print)


def test_a_check_ends_where_one_program_gives_other_tokens_than_a_call_each() -> None:
    with pytest.raises(ArithmeticError, match="other tokens"):
        generating.check(CELL._replace(precision="float64"), _Workload(0.0, 6), ({},), lambda event, **values: None)


def test_a_pass_of_decode_ends_with_the_last_position() -> None:
    assert 64 - 20 == generating.of_pass(CELL._replace(prompt=20), sequence_batches.read("", CELL)).pass_steps
