"""Images as a framework's own loader asks for them."""
from pathlib import Path

import numpy as np
import pytest

from tests.made_rows import cell
from workloads.inputs import images, records
from workloads.process.errors import DataError

PIXELS = np.arange(5 * 3 * 32 * 32, dtype=np.uint32).reshape(5, 3, 32, 32).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Images 0 to 4 of classes 0 to 4: two in the first file, one in the second, two in the third."""
    for number, some in enumerate(((0, 1), (2,), (3, 4), (), ()), 1):
        content = b"".join(bytes([index]) + PIXELS[index].tobytes() for index in some)
        (tmp_path / f"data_batch_{number}.bin").write_bytes(content)
    return tmp_path


def test_a_sample_is_a_normalised_image_and_its_class(folder: Path) -> None:
    samples = records.Samples(records.found(folder, cell(input="loader")), 32, "float32")

    assert [0, 1, 2, 3, 4] == [samples[index][1] for index in range(len(samples))]
    for index, pixels in enumerate(PIXELS):
        assert np.array_equal(pixels.astype(np.float32) / np.float32(127.5) - 1, samples[index][0])


def test_a_sample_is_scaled_and_laid_out_as_asked(folder: Path) -> None:
    samples = records.Samples(records.found(folder, cell(input="loader")), 64, "float64", "nhwc", np.float32)
    image, label = samples[3]

    assert (64, 64, 3) == image.shape and np.float32 is type(label)
    assert np.array_equal(images.normalised(images.scaled(PIXELS[3:4], 64), "float64")[0].transpose(1, 2, 0), image)


def test_a_worker_reads_its_shard_alone(folder: Path) -> None:
    part = records.found(folder, cell(input="loader")).part(1, 2)
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
        records.found(folder, cell(input="loader"))
