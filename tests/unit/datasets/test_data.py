"""Data: CIFAR's layouts, the stand-in written in them, and what is refused before training starts."""

import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from runner.datasets import choice
from runner.errors import InputError
from tests.fakes import quiet
from tests.made_files import files
from workloads.inputs import images as data
from workloads.inputs import pickled
from workloads.process.errors import DataError
from workloads.spec.cell import Cell

CELL = Cell(stack="s", task="lenet5", measure="epochs", batch=4)
# the first line of UCI's optdigits.tes, a zero
FIRST_DIGIT = np.array([[0, 0, 5, 13, 9, 1, 0, 0], [0, 0, 13, 15, 10, 15, 5, 0], [0, 3, 15, 2, 0, 11, 8, 0],
                        [0, 4, 12, 0, 0, 8, 8, 0], [0, 5, 8, 0, 0, 9, 8, 0], [0, 4, 11, 0, 1, 12, 7, 0],
                        [0, 2, 14, 5, 10, 12, 0, 0], [0, 0, 6, 13, 10, 0, 0, 0]])


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return choice.digits32(tmp_path_factory.mktemp("cache"), quiet, images=3000)


STEMS = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in CIFAR-10's binary layout and size: image i is all i % 251, its label i % 10."""
    index = np.arange(10_000)
    made = np.repeat((index % 251)[:, None], 3073, axis=1).astype(np.uint8)
    made[:, 0] = index % 10
    made.tofile(path := tmp_path_factory.mktemp("cifar") / "batch.bin")
    return path


def cifar(folder: Path, file: Path) -> Path:
    """A folder whose every file is that one, under the published names."""
    folder.mkdir()
    for stem in STEMS:
        (folder / f"{stem}{file.suffix}").hardlink_to(file)
    return folder


def test_the_stand_in_has_the_epoch_s_length_and_real_digits_of_every_class(digits: Path) -> None:
    read = data.read(str(digits), CELL)
    assert (3000, 3, 32, 32) == read.images.shape
    assert set(range(10)) == set(read.labels.tolist())
    assert read.facts["stand_in"] and 64 == len(read.facts["sha256"])


def test_an_epoch_may_take_some_of_the_images_and_all_held_out_ones(digits: Path) -> None:
    whole, some = data.read(str(digits), CELL), data.read(str(digits), CELL._replace(images=100))
    assert 100 == len(some.labels) == some.facts["images"] and (whole.images[:100] == some.images).all()
    assert len(data.read(str(digits), CELL, "test").labels) == len(
        data.read(str(digits), CELL._replace(images=100), "test").labels)


def test_open_ended_steps_go_round_all_images_or_as_many_as_fit(digits: Path) -> None:
    train = CELL._replace(measure="train", steps=2, warmup=1, batch=10)
    assert 30 == len(data.read(str(digits), train).labels)
    assert 3000 == len(data.read(str(digits), train._replace(seconds=1.0)).labels)
    # 2 ** 28 bytes hold 445 images of 224 pixels as float32, and a batch is whole whatever they hold
    large = train._replace(warm="steady", image=224)
    assert [445, 500] == [len(data.read(str(digits), large._replace(batch=batch)).labels) for batch in (10, 500)]


def test_each_digit_s_pixel_becomes_four_by_four_grey_ones(digits: Path) -> None:
    record = np.fromfile(digits / "data_batch_1.bin", dtype=np.uint8)[:3073]
    image = record[1:].reshape(3, 32, 32)
    assert record[0] == 0
    assert (image[0] == image[1]).all() and (image[0] == image[2]).all()
    assert (image[0][::4, ::4] == np.round(FIRST_DIGIT * 255 / 16)).all()
    assert (image[0][3::4, 3::4] == image[0][::4, ::4]).all()


def test_test_digits_are_none_of_the_training_ones_and_drawn_from_all_writers(digits: Path) -> None:
    train = {image.tobytes() for image in data.read(str(digits), CELL).images}
    test = data.read(str(digits), CELL, "test").images
    assert 297 == len(test) and not sum(image.tobytes() in train for image in test)
    pixels = np.loadtxt(choice.DIGITS, delimiter=",")[:, :64].reshape(-1, 8, 8)
    grey = [np.round(image * 255 / 16).astype(np.uint8).tobytes() for image in pixels]
    positions = [grey.index(image[0, ::4, ::4].tobytes()) for image in test]
    tenths = np.histogram(positions, bins=10, range=(0, len(grey)))[0]
    assert tenths.min() >= 15 and tenths.max() <= 50        # 29.7 on average


def test_the_order_is_the_seed_s_and_a_second_session_finds_the_digits_written(digits: Path) -> None:
    first, same, other = (data.read(str(digits), CELL._replace(seed=seed)).labels for seed in (1, 1, 2))
    assert (first == same).all() and (first != other).any()
    said: list[str] = []
    assert digits == choice.digits32(digits.parents[1], said.append, images=3000) and not said
    with pytest.raises(DataError, match="found label 9, expected labels below classes = 5"):
        data.read(str(digits), CELL._replace(classes=5))


def test_cifar_s_binary_and_pickle_layouts_give_the_same_arrays(tmp_path: Path, records: Path) -> None:
    read = np.fromfile(records, dtype=np.uint8).reshape(-1, 3073)
    (tmp_path / "batch").write_bytes(pickle.dumps({b"data": read[:, 1:], b"labels": read[:, 0].tolist()}, protocol=2))
    binary, pickled = cifar(tmp_path / "binary", records), cifar(tmp_path / "pickled", tmp_path / "batch")
    cell = CELL._replace(data="cifar10")
    first, second = (data.read(str(folder), cell) for folder in (binary, pickled))
    assert (first.images == second.images).all() and (first.labels == second.labels).all()
    assert first.facts["sha256"] == second.facts["sha256"] and not first.facts["stand_in"]


def batch_of_python_2() -> bytes:
    """Two images, one of ones and one of twos, and the labels 3 and 4, as the published files were written."""
    pixels = b"\1" * 3072 + b"\2" * 3072
    return (b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00\x85"
            b"U\x01b\x87Rq\x05(K\x01K\x02M\x00\x0c\x86cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01\x87Rq\x07(K\x03U\x01|NNNJ\xff\xff\xff"
            b"\xffJ\xff\xff\xff\xffK\x00tb\x89T" + len(pixels).to_bytes(4, "little") + pixels
            + b"tbU\x06labelsq\x08]q\x09(K\x03K\x04eu.")


def test_a_batch_as_python_2_wrote_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "batch").write_bytes(batch_of_python_2())
    assert {b"data", b"labels"} == set(pickle.loads(batch_of_python_2(), encoding="bytes"))        # it is a pickle
    images, labels = pickled.batch(str(tmp_path / "batch"), b"labels")
    assert (2, 3072) == images.shape and ([1, 2], [3, 4]) == (images[:, -1].tolist(), labels.tolist())


@pytest.mark.parametrize("content", [
    b"\x80\x02r\xff\xff\xff\x7f.", b"\x80\x02cnumpy\nndarray\nJ\xff\xff\xff\x7f\x85R.",
    b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff.", b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
    b"\x80\x05\x96\x00\x00\x00\x10\x00\x00\x00\x00."])
def test_a_pickle_that_would_fill_the_memory_does_not(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "batch").write_bytes(content)
    tracemalloc.start()
    with pytest.raises(DataError, match="batch: not a batch of images"):
        pickled.batch(str(tmp_path / "batch"), b"labels")
    assert 2**20 > tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def test_labels_that_hold_each_other_are_not_multiplied_out(tmp_path: Path) -> None:
    labels: list[object] = [1]
    for _ in range(60):
        labels = [labels, labels]
    (tmp_path / "batch").write_bytes(pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"labels": labels}, 2))
    with pytest.raises(DataError, match="no list of class numbers"):
        pickled.batch(str(tmp_path / "batch"), b"labels")


def test_a_pickle_that_would_run_code_is_refused_and_runs_none(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (str(tmp_path / "ran"),)

    files(tmp_path, dict.fromkeys(STEMS, pickle.dumps(Evil(), protocol=2)))
    with pytest.raises(DataError, match="expected numpy arrays only"):
        data.read(str(tmp_path), CELL._replace(data="cifar10"))
    assert not (tmp_path / "ran").exists()


def test_a_file_cut_short_is_named_before_anything_starts(tmp_path: Path, records: Path) -> None:
    folder = cifar(tmp_path / "c", records)
    (folder / "data_batch_3.bin").unlink()
    (folder / "data_batch_3.bin").write_bytes(b"\0" * 3073 * 5000)
    with pytest.raises(InputError, match=r"data_batch_3\.bin: found 15365000 bytes, expected 30730000: cut short"):
        choice.verify("cifar10", folder)
    with pytest.raises(DataError, match=r"data_batch_3\.bin: found 15365000 bytes"):
        data.read(str(folder), CELL._replace(data="cifar10"))


@pytest.mark.parametrize(("argument", "message"), [
    ("cifar10", r"--data cifar10: not in the cache .*data/cifar10/prepare\.py"), ("cifar10=", "expected NAME=FOLDER"),
    ("own", "expected NAME=FOLDER"), ("own=/no/such", "/no/such: no such folder"),
    ("mnist=/tmp", "with NAME one of digits32, cifar10"),
    ("cifar10=/no/such", "/no/such: no such folder"), ("cifar10=/tmp", r"found no data_batch_1\.bin")])
def test_a_wrong_data_argument_is_told(argument: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        choice.chosen(argument, tmp_path)


def test_scaling_takes_the_nearest_pixel_and_pixels_become_numbers_from_minus_one_to_one() -> None:
    images = np.arange(4, dtype=np.uint8).reshape(1, 1, 2, 2)
    assert [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]] == data.scaled(images, 4)[0, 0].tolist()
    values = data.normalised(np.array([0, 255], np.uint8))
    assert [-1.0, 1.0] == values.tolist() and np.float32 == values.dtype


def test_several_sets_are_named_with_commas_and_a_folder_may_have_one(tmp_path: Path, records: Path) -> None:
    first, second = cifar(tmp_path / "a,b", records), cifar(tmp_path / "c", records)
    argument = f"cifar10={first},digits32"

    assert [("cifar10", first), ("digits32", choice.digits32_folder(tmp_path))] == list(
        choice.several(argument, tmp_path))
    assert ("cifar10", "digits32") == choice.names(argument)
    with pytest.raises(InputError, match="expected each name once"):
        choice.several(f"cifar10={first},cifar10={second}", tmp_path)
