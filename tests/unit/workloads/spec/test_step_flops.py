"""FLOPs of padded batches: what is computed, and what the samples need."""

from workloads.spec import sequence_tasks, tasks
from workloads.spec.cell import Cell
from workloads.spec.models import bert

LSTM = Cell(stack="s", task="lstm", measure="infer", batch=2, hidden=3, length=10)


def test_a_padded_batch_counts_the_steps_that_it_has_and_training_three_passes_of_it() -> None:
    # 2 samples of 4 steps: 2 * 4 gates * 3 units * (3 + 3) numbers a step
    assert 2 * 4 * (2 * 4 * 3 * 6) == tasks.step_flops(LSTM, tokens=8)
    assert tasks.step_flops(LSTM) == tasks.step_flops(LSTM, tokens=20)
    assert 3 * tasks.step_flops(LSTM, tokens=8) == tasks.step_flops(LSTM._replace(measure="train"), tokens=8)


def test_a_translation_s_tokens_are_of_two_sequences() -> None:
    cell = Cell(stack="s", task="gnmt", measure="infer", batch=2)
    full = sequence_tasks.sizes(cell).length
    assert tasks.step_flops(cell) == tasks.step_flops(cell, tokens=2 * 2 * full)


def test_bert_s_head_has_as_many_positions_in_a_shorter_batch() -> None:
    sizes = bert.PRESETS["small"]
    head = 2 * bert.predictions(sizes.length) * sizes.width * (sizes.width + sizes.vocabulary)
    assert head < bert.flops_at(sizes, 1) < head + 2 * sizes.layers * sizes.width * (6 * sizes.width + 2 * sizes.inner)
