"""How images become batches: gathered in an order, moved in passes, read by a framework's own loader."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from workloads.frameworks import contract
from workloads.inputs import images, loading, passes, records
from workloads.process.errors import DataError
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


epochs = Cell(stack="s", task="lenet5", measure="epochs", batch=4, epochs=3)._replace


def test_each_pass_takes_whole_batches_of_different_samples_the_first_as_they_lie_and_the_others_not():
    ahead = passes.drawn(epochs(), 10)
    assert (3, 8) == (ahead.count, ahead.samples) and (3, 8) == ahead.orders.shape
    assert [8, 8, 8] == [len(set(order)) for order in ahead.orders.tolist()]
    assert set(range(10)) >= set(ahead.orders.ravel().tolist())
    first, second, third = passes.drawn(epochs(), 12).orders.tolist()
    assert list(range(12)) == first
    assert first != second and second != third and first != third


def test_the_order_of_a_pass_is_the_seed_s_whatever_the_number_of_passes():
    few, many, other = (passes.drawn(epochs(**values), 12).orders[1].tolist()
                        for values in ({"epochs": 2}, {"epochs": 9}, {"seed": 2}))
    assert few == many and few != other


def labels_of(asked, shuffled):
    """The labels, which are the samples' numbers, of the batches of one pass over 12 small images."""
    images, numbers = np.zeros((12, 3, 8, 8), np.uint8), np.arange(12)
    ahead = passes.drawn(asked._replace(epochs=1, batch=4, image=8), 12)
    read = passes.around(images, ahead.moves)
    batches = list(ahead.batches(read, numbers, asked._replace(image=8, batch=4), shuffled))
    assert all((4, 3, 8, 8) == images.shape for images, _ in batches)
    return [label for _, labels in batches for label in labels.tolist()]


def test_the_framework_s_order_is_asked_for_only_where_it_is_wanted_whether_images_move_or_not():
    own = np.array([5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6])
    for augment in ("none", "crop"):
        assert own.tolist() == labels_of(epochs(augment=augment, order="framework"), lambda: own)
    assert list(range(12)) == labels_of(epochs(), None)


def test_moves_reach_every_place_of_the_padding_and_mirror_half_of_the_images_where_it_is_asked_for():
    assert passes.drawn(epochs(), 12).moves is None
    moves = passes.drawn(epochs(augment="flip_crop", image=32, epochs=2), 4000).moves
    crops = passes.drawn(epochs(augment="crop", image=8), 400).moves
    assert (2, 4000, 3) == moves.shape and (moves[0] != moves[1]).any()
    assert [set(range(9)), set(range(9)), {0, 1}] == [set(moves[..., which].ravel().tolist()) for which in range(3)]
    assert abs(float(moves[..., 2].mean()) - 0.5) < 0.05
    assert [{0, 1, 2}, {0, 1, 2}, {0}] == [set(crops[..., which].ravel().tolist()) for which in range(3)]


def test_moves_are_equal_in_the_seeded_and_in_the_framework_s_order():
    seeded, own = (passes.drawn(epochs(augment="flip_crop", order=order), 12) for order in ("seeded", "framework"))
    assert (seeded.moves == own.moves).all() and own.orders is None


def test_an_image_in_the_middle_of_its_padding_is_itself_and_a_moved_one_shows_the_padding():
    images = np.arange(1, 1 + 3 * 8 * 8, dtype=np.uint8).reshape(1, 3, 8, 8)
    around = passes.padded(images)
    assert (1, 3, 10, 10) == around.shape
    assert (images[0] == passes.moved(around[0], (1, 1, 0), 8)).all()
    assert (images[0, :, :, ::-1] == passes.moved(around[0], (1, 1, 1), 8)).all()
    moved = passes.moved(around[0], (0, 2, 0), 8)[0]
    assert [0] * 8 == moved[0].tolist() and [*images[0, 0, 0, 1:], 0] == moved[1].tolist()


def test_a_batch_of_moved_images_is_each_of_them_moved_in_either_order_of_memory():
    images = np.arange(2 * 3 * 8 * 8, dtype=np.uint16).astype(np.uint8).reshape(2, 3, 8, 8)
    around, some, moves = passes.padded(images), [1, 0, 1], [(1, 1, 0), (0, 2, 1), (2, 0, 1)]
    expected = np.stack([passes.moved(around[number], move, 8) for number, move in zip(some, moves, strict=True)])
    assert (expected == passes.moved_batch(around, some, moves, 8)).all()
    last = passes.moved_batch(around.transpose(0, 2, 3, 1), some, moves, 8)
    assert (expected == last.transpose(0, 3, 1, 2)).all()


PIXELS = np.arange(5 * 3 * 32 * 32, dtype=np.uint32).reshape(5, 3, 32, 32).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Images 0 to 4 of classes 0 to 4: two in the first file, one in the second, two in the third."""
    for number, some in enumerate(((0, 1), (2,), (3, 4), (), ()), 1):
        content = b"".join(bytes([index]) + PIXELS[index].tobytes() for index in some)
        (tmp_path / f"data_batch_{number}.bin").write_bytes(content)
    return tmp_path


def test_a_sample_is_a_normalised_image_and_its_class(folder: Path) -> None:
    samples = records.Samples(records.found(folder, cell()), 32, "float32")

    assert [0, 1, 2, 3, 4] == [samples[index][1] for index in range(len(samples))]
    for index, pixels in enumerate(PIXELS):
        assert np.array_equal(pixels.astype(np.float32) / np.float32(127.5) - 1, samples[index][0])


def test_a_sample_is_scaled_and_laid_out_as_asked(folder: Path) -> None:
    samples = records.Samples(records.found(folder, cell()), 64, "float64", "nhwc", np.float32)
    image, label = samples[3]

    assert (64, 64, 3) == image.shape and np.float32 is type(label)
    assert np.array_equal(images.normalised(images.scaled(PIXELS[3:4], 64), "float64")[0].transpose(1, 2, 0), image)


def test_a_worker_reads_its_shard_alone(folder: Path) -> None:
    part = records.found(folder, cell()).part(1, 2)
    samples = records.Samples(part, 32, "float32")

    assert [1, 3] == [samples[index][1] for index in range(len(samples))]
    assert 2 == part.facts["images"] and "1 of 2" == part.facts["shard"]


def test_a_wide_label_has_its_lowest_byte_first(tmp_path: Path) -> None:
    read = records.Records((), (), 0, label_bytes=2, is_wide=True, side=32, facts={})
    assert 513 == records._label(np.array([1, 2, 9], np.uint8), read)
    assert 2 == records._label(np.array([1, 2, 9], np.uint8), read._replace(is_wide=False))


def test_a_pickled_set_is_refused_with_what_to_do(folder: Path) -> None:
    (folder / "data_batch_2.bin").rename(folder / "data_batch_2")

    with pytest.raises(DataError, match=r"data_batch_2: found a Python pickle, .*data/digits32/prepare\.py"):
        records.found(folder, cell())
