"""Deep Speech 2 and Tacotron 2: what goes into them."""

from pathlib import Path

import numpy as np
import pytest

from tests.made_sequences import prepared
from workloads.inputs.models import deepspeech2 as spoken
from workloads.inputs.models import tacotron2 as read
from workloads.process.errors import DataError
from workloads.spec.data import alphabets
from workloads.spec.models import deepspeech2, tacotron2

LETTERS = alphabets.LIBRISPEECH_LETTERS


def test_every_spoken_text_fits_into_its_steps() -> None:
    sizes = deepspeech2.PRESETS["small"]
    batch = spoken.collate(sizes, spoken.samples(sizes, 50, 3, None), "float32")
    assert (batch["characters"] <= batch["steps"]).all() and (batch["text"] < sizes.labels - 1).all()
    for text, length in zip(batch["text"], batch["characters"], strict=True):
        assert (np.diff(text[:length]) != 0).all()


def test_what_comes_before_a_frame_is_the_frame_before() -> None:
    sizes = tacotron2.PRESETS["small"]
    batch = read.collate(sizes, read.samples(sizes, 3, 1, None), "float64")
    assert (batch["before"][:, 0] == 0).all()
    assert np.array_equal(batch["before"][:, 1:], batch["frames"][:, :-1])
    lasts = batch["weights"].sum(axis=1).astype(int) - 1
    assert [1.0] * 3 == [row[last] for row, last in zip(batch["stops"], lasts, strict=True)]


def test_no_character_of_librispeech_is_the_blank(tmp_path: Path) -> None:
    sizes = deepspeech2.PRESETS["small"]
    folder = prepared(tmp_path, "librispeech", frames=[np.ones((60, sizes.bins))],
                      characters=[alphabets.ids("A '", LETTERS)])
    assert [1, 27, 0] == spoken.samples(sizes, 1, 1, folder)[0]["text"].tolist()       # the blank is 28


def test_clips_keep_their_text_and_too_long_ones_are_left_out(tmp_path: Path) -> None:
    sizes = tacotron2.PRESETS["small"]
    clips = [np.full((length, sizes.bins), length) for length in (10, 20, sizes.length + 1)]
    folder = prepared(tmp_path, "ljspeech", frames=clips, characters=[[1], [2, 2], [3]])
    samples = {(len(sample["frames"]), tuple(sample["text"])) for sample in read.samples(sizes, 6, 1, folder)}
    assert {(10, (1,)), (20, (2, 2))} == samples


@pytest.mark.parametrize(("shape", "texts", "message"), [
    ((99, 80), [[1]], "found no clip of at most 40 frames"), ((10, 81), [[1]], "expected 80 bins"),
    ((10, 80), [[1], [2]], "found 1 clips in frames and 2 in characters")])
def test_clips_that_do_not_fit_the_model_are_told(shape: tuple[int, int], texts: list[list[int]], message: str,
                                                  tmp_path: Path) -> None:
    folder = prepared(tmp_path, "ljspeech", frames=[np.ones(shape)], characters=texts)
    with pytest.raises(DataError, match=message):
        read.samples(tacotron2.PRESETS["small"], 1, 1, folder)
