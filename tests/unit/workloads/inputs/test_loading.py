"""How batches are loaded, the same way in every framework."""
import itertools

import numpy as np
import pytest

from workloads.frameworks import contract
from workloads.inputs import loading
from workloads.spec.cell import Cell

cell = Cell(stack="s", task="lenet5", measure="train")._replace


def test_batches_follow_the_orders_and_what_fills_none_is_dropped():
    images = np.arange(10).reshape(5, 2)
    batches = list(loading.gathered((images, np.arange(5)), [[4, 3, 2, 1, 0], [0, 1, 2, 3, 4]], 2))
    assert [[4, 3], [2, 1], [0, 1], [2, 3]] == [labels.tolist() for _, labels in batches]
    assert [[8, 9], [6, 7]] == batches[0][0].tolist()


def test_a_batch_is_gathered_into_the_memory_that_a_framework_gives():
    made = []

    def empty(shape, dtype):
        made.append(np.zeros(shape, dtype))
        return made[-1]

    (gathered,), = loading.gathered((np.arange(6).reshape(3, 2),), [[2, 0]], 2, empty)
    assert gathered is made[0] and [[4, 5], [0, 1]] == gathered.tolist()


def test_the_seeded_order_is_the_data_s_own_and_the_framework_s_is_asked_for_anew_each_pass():
    seeded = list(itertools.islice(loading.orders(cell(), 3, None), 2))
    assert [[0, 1, 2], [0, 1, 2]] == [order.tolist() for order in seeded]
    numbers = iter(([2, 1, 0], [1, 0, 2]))
    own = itertools.islice(loading.orders(cell(order="framework"), 3, lambda: next(numbers)), 2)
    assert [[2, 1, 0], [1, 0, 2]] == list(own)


def test_a_thread_ahead_gives_the_same_batches_in_their_order_and_what_it_raises_is_raised_by_who_asks():
    def batches():
        yield from range(50)
        raise MemoryError("no room for batch 50")

    ahead = loading.ahead(batches())
    assert list(range(50)) == [next(ahead) for _ in range(50)]
    with pytest.raises(MemoryError, match="batch 50"):
        next(ahead)


def test_batches_for_a_gpu_are_prepared_ahead_and_those_for_a_cpu_are_not_and_that_is_said():
    batches = iter([1, 2, 3])
    assert loading.for_device(cell(), batches) is batches
    assert [1, 2, 3] == list(loading.for_device(cell(device="gpu"), batches))
    for changes, words in (({}, "nothing ahead"), ({"device": "gpu"}, "one thread"),
                           ({"input": "synthetic"}, "lies on the device")):
        assert words in loading.told(cell(**changes), contract.Workload())
