"""The order and the moves of every pass over the training images."""
import numpy as np

from workloads.inputs import passes
from workloads.spec.cell import Cell

cell = Cell(stack="s", task="lenet5", measure="epochs", batch=4, epochs=3)._replace


def test_each_pass_takes_whole_batches_of_different_samples_the_first_as_they_lie_and_the_others_not():
    ahead = passes.drawn(cell(), 10)
    assert (3, 8) == (ahead.count, ahead.samples) and (3, 8) == ahead.orders.shape
    assert [8, 8, 8] == [len(set(order)) for order in ahead.orders.tolist()]
    assert set(range(10)) >= set(ahead.orders.ravel().tolist())
    first, second, third = passes.drawn(cell(), 12).orders.tolist()
    assert list(range(12)) == first
    assert first != second and second != third and first != third


def test_the_order_of_a_pass_is_the_seed_s_whatever_the_number_of_passes():
    few, many, other = (passes.drawn(cell(**values), 12).orders[1].tolist()
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
        assert own.tolist() == labels_of(cell(augment=augment, order="framework"), lambda: own)
    assert list(range(12)) == labels_of(cell(), None)


def test_moves_reach_every_place_of_the_padding_and_mirror_half_of_the_images_where_it_is_asked_for():
    assert passes.drawn(cell(), 12).moves is None
    moves = passes.drawn(cell(augment="flip_crop", image=32, epochs=2), 4000).moves
    crops = passes.drawn(cell(augment="crop", image=8), 400).moves
    assert (2, 4000, 3) == moves.shape and (moves[0] != moves[1]).any()
    assert [set(range(9)), set(range(9)), {0, 1}] == [set(moves[..., which].ravel().tolist()) for which in range(3)]
    assert abs(float(moves[..., 2].mean()) - 0.5) < 0.05
    assert [{0, 1, 2}, {0, 1, 2}, {0}] == [set(crops[..., which].ravel().tolist()) for which in range(3)]


def test_moves_are_equal_in_the_seeded_and_in_the_framework_s_order():
    seeded, own = (passes.drawn(cell(augment="flip_crop", order=order), 12) for order in ("seeded", "framework"))
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
