"""Preparing data sets in their published layouts, made small here, and what is told of a folder that is not whole."""

import json
import runpy
from argparse import Namespace
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner import paths
from runner.datasets import choice, published
from runner.datasets.speech import spectrogram
from runner.errors import InputError
from tests.fakes import quiet
from tests.made_files import files, sound
from workloads.inputs import images, ragged
from workloads.spec.cell import Cell
from workloads.spec.data.framing import LIBRISPEECH, LJSPEECH, frame_count


@cache
def script(name: str) -> dict[str, Any]:
    """What the prepare.py of a data set defines."""
    return runpy.run_path(str(paths.ROOT / "data" / name / "prepare.py"))


def prepared(name: str, source: Path, **options: Any) -> Path:
    asked = Namespace(**{"source": source, "limit": 0, "image": 80, "labels": None, "vocabulary": None, **options})
    return published.prepared(script(name)["SET"], script(name)["write"], asked, source.parent / "cache", quiet)


def tone(samples: int, rate: int = 22050) -> bytes:
    return sound((8000 * np.sin(2 * np.pi * 1000 * np.arange(samples) / rate)).astype("<i2").tobytes(), rate)


@pytest.fixture
def speech(tmp_path: Path) -> Path:
    """Two clips in LJSpeech's layout."""
    return files(tmp_path / "LJ", {
        "wavs/LJ001-0001.wav": tone(5000), "wavs/LJ001-0002.wav": tone(2000),
        "metadata.csv": "LJ001-0001|No. 2|Number two\nLJ001-0002|Ab|Ab, \u00fc\n"})


def test_ljspeech_becomes_frames_and_character_ids(speech: Path) -> None:
    folder = str(prepared("ljspeech", speech))
    frames, characters = ragged.ragged(folder, "frames"), ragged.ragged(folder, "characters")
    assert [1 + (5000 - 1024) // 256, 1 + (2000 - 1024) // 256] == frames.lengths.tolist()
    assert (16, 80) == frames[0].shape and np.float16 == frames[0].dtype
    letters = " !\"'(),-.:;?abcdefghijklmnopqrstuvwxyz"
    assert [1 + letters.index(letter) for letter in "number two"] == characters[0].tolist()
    assert [1 + letters.index(letter) for letter in "ab, "] == characters[1].tolist()      # the u with dots is left out
    facts = ragged.facts(folder, "ljspeech")
    assert {"clips": 2, "frames": 20, "characters": 14} == facts["counts"]
    assert facts["sha256"] == ragged.facts(str(prepared("ljspeech", speech)), "ljspeech")["sha256"]
    assert facts["sha256"] != ragged.facts(str(prepared("ljspeech", speech, limit=1)), "ljspeech")["sha256"]


def test_a_prepared_folder_is_what_a_run_takes_from_the_cache_unless_it_was_cut_short(speech: Path) -> None:
    folder = prepared("ljspeech", speech)
    assert choice.Data("ljspeech", folder) == choice.chosen("ljspeech", speech.parent / "cache")
    assert choice.Data("ljspeech", folder) == choice.chosen(f"ljspeech={folder}", speech)
    (folder / "frames.npy").write_bytes((folder / "frames.npy").read_bytes()[:-1])
    with pytest.raises(InputError, match=r"frames\.npy: found \d+ bytes, expected \d+: cut short"):
        choice.chosen("ljspeech", speech.parent / "cache")


@pytest.mark.parametrize(("broken", "message"), [
    (lambda path: path.write_bytes(path.read_bytes()[:-500]),
     r"LJ001-0002\.wav: found 1750 samples, expected 2000 by its header: cut short"),
    (lambda path: path.write_bytes(tone(2000, rate=16000)), "found 16000 Hz, 1 channels, 16 bits, expected 22050 Hz"),
    (lambda path: path.unlink(), r"LJ001-0002\.wav: no such file")], ids=["cut", "rate", "missing"])
def test_a_recording_that_is_not_as_published_is_named_and_nothing_is_left(
        broken: Callable[[Path], None], message: str, speech: Path) -> None:
    broken(speech / "wavs" / "LJ001-0002.wav")
    with pytest.raises(InputError, match=message):
        prepared("ljspeech", speech)
    assert [] == list((speech.parent / "cache" / "data").iterdir())


def test_a_tone_of_1000_hz_is_loudest_there_and_each_mel_band_has_an_area_of_one_hertz() -> None:
    frames = spectrogram(np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000), LIBRISPEECH)
    assert (frame_count(16000, LIBRISPEECH), 161) == frames.shape
    assert {20} == set(frames.argmax(1).tolist())               # 1000 Hz / (16000 Hz / 320)
    assert np.log(320 / 4) == pytest.approx(frames[0, 20], rel=1e-5)     # half of a Hann window's sum, which is 160
    assert np.log(1e-5) == pytest.approx(spectrogram(np.zeros(10), LJSPEECH)[0, 0])          # silence
    bands = script("ljspeech")["mel_bands"]()
    assert (80, 513) == bands.shape
    assert 1.0 == pytest.approx(bands[40:].sum(1) * 22050 / 1024, rel=0.05)      # few lines fall on narrow ones


def test_librispeech_reads_flac_and_names_a_file_cut_short(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    folder = files(tmp_path / "LibriSpeech/dev-clean/1/2", {"1-2.trans.txt": "1-2-0000 IT'S A\n"})
    samples = np.random.RandomState(1).randint(-9000, 9000, 8000).astype(np.int16)
    soundfile.write(folder / "1-2-0000.flac", samples, 16000)
    cached = str(prepared("librispeech", tmp_path / "LibriSpeech"))
    assert [1 + (8000 - 320) // 160] == ragged.ragged(cached, "frames").lengths.tolist()
    assert [10, 21, 1, 20, 28, 2] == ragged.ragged(cached, "characters")[0].tolist()
    path = folder / "1-2-0000.flac"
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(InputError, match=r"1-2-0000\.flac: "):
        prepared("librispeech", tmp_path / "LibriSpeech")


SPLIT = "train.tok.clean.bpe.32000"


def test_wmt16_takes_the_ids_of_the_published_vocabulary(tmp_path: Path) -> None:
    folder = files(tmp_path / "wmt", {f"{SPLIT}.en": "the h@@ ouse\nthe\n", f"{SPLIT}.de": "das h@@ aus\n\n",
                                      "vocab.bpe.32000": "the\ndas\nh@@\nouse\n"})
    written = str(prepared("wmt16", folder))
    assert [[4, 6, 7, 3]] == [each.tolist() for each in ragged.ragged(written, "source")]
    assert [[5, 6, 1, 3]] == [each.tolist() for each in ragged.ragged(written, "target")]       # aus is unknown
    facts = ragged.facts(written, "wmt16")
    assert {"pairs": 1, "left_out": 1, "source_tokens": 4, "target_tokens": 4, "unknown": 1} == facts["counts"]
    assert 8 == facts["made"]["vocabulary"]


def test_wmt16_without_a_vocabulary_counts_words_and_leaves_long_pairs_out(tmp_path: Path) -> None:
    folder = files(tmp_path / "wmt", {"europarl-v7.de-en.en": f"b a\n{'b ' * 50}\n",
                                      "europarl-v7.de-en.de": "b c\nb\n"})
    cached = str(prepared("wmt16", folder))
    assert [[4, 5, 3]] == [each.tolist() for each in ragged.ragged(cached, "source")]    # b first, then a before c
    assert [[4, 6, 3]] == [each.tolist() for each in ragged.ragged(cached, "target")]


def test_wmt16_with_one_side_cut_short_is_named(tmp_path: Path) -> None:
    folder = files(tmp_path / "wmt", {f"{SPLIT}.en": "a\nb\n", f"{SPLIT}.de": "a\n"})
    with pytest.raises(InputError, match=r"\.de: not as many lines as .*\.en"):
        prepared("wmt16", folder)


def wikitext(folder: Path, vocabulary: str = "") -> str:
    """Two articles, prepared by the words of a vocabulary."""
    text = " \n = One = \n \n a b \n = = Part = = \n c \n = Two = \n \n d \n"
    files(folder, {"w/wiki.train.raw": text, "v.txt": vocabulary})
    return str(prepared("wikitext103", folder / "w", vocabulary=folder / "v.txt" if vocabulary else None))


def test_wikitext_is_the_bytes_of_each_article_or_the_word_pieces_of_bert_s_vocabulary(tmp_path: Path) -> None:
    tokens = ragged.ragged(wikitext(tmp_path), "tokens")
    assert ["= One =a b= = Part = =c", "= Two =d"] == [bytes((each - 5).astype(np.uint8)).decode() for each in tokens]
    folder = wikitext(tmp_path, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n=\non\n##e\n")
    assert [5, 6, 7, 5] == ragged.ragged(folder, "tokens")[0].tolist()[:4]
    assert {"pad": 0, "unknown": 1, "begin": 2, "end": 3, "mask": 4} == ragged.facts(folder, "wikitext103")["made"][
        "marks"]
    with pytest.raises(InputError, match=r"v\.txt: found no \[PAD\], expected BERT's"):
        wikitext(tmp_path, "a\n")


def test_wikitext_is_cut_at_a_limit_and_one_below_none_is_refused(tmp_path: Path) -> None:
    wikitext(tmp_path)
    assert 1 == len(ragged.ragged(str(prepared("wikitext103", tmp_path / "w", limit=1)), "tokens"))
    with pytest.raises(InputError, match="found no article"):
        prepared("wikitext103", tmp_path / "w", limit=-1)


def test_word_pieces_are_the_longest_that_fit_and_accents_go(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\nx\n##able\nuna\n,\ncafe\n")
    pieces = script("wikitext103")["WordPieces"](tmp_path / "v")
    assert [8, 1, 9, 10, 6, 7] == pieces.ids("una xyz, Caf\u00e9 xable")


def pictures(folder: Path, names: list[str]) -> Path:
    """One-coloured pictures, the n-th of grey 10 n."""
    image = pytest.importorskip("PIL.Image")
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image.new("RGB", (30, 20), (10 * number, 0, 255)).save(path, format="PNG" if name.endswith("png") else "JPEG")
    return folder


EIGHT_PIXELS = Cell(stack="s", task="vgg16", measure="epochs", batch=1, image=8, classes=1000, data="imagenet")


def test_imagenet_s_folders_become_records_that_workers_read(tmp_path: Path) -> None:
    source = pictures(tmp_path / "i", ["train/n00000002/a.png", "train/n00000001/b.png", "val/n00000002/c.png",
                                       "val/n00000001/d.png"])
    folder = prepared("imagenet", source, image=8)
    choice.verify("imagenet", folder)
    read = images.read(str(folder), EIGHT_PIXELS._replace(batch=2, classes=2))
    assert (2, 3, 8, 8) == read.images.shape
    by_label = dict(zip(read.labels.tolist(), read.images.tolist(), strict=True))
    assert 10 == by_label[0][0][0][0] and 0 == by_label[1][0][0][0] and 255 == by_label[0][2][7][7]


def test_classes_beyond_a_byte_are_read(tmp_path: Path) -> None:
    source = pictures(tmp_path / "i", [f"ILSVRC2010_val_0000000{n}.JPEG" for n in range(5)])
    (tmp_path / "labels.txt").write_text("1\n1000\n300\n2\n3\n")
    folder = prepared("imagenet", source, image=8, labels=tmp_path / "labels.txt")
    assert {999, 299, 1, 2} == set(images.read(str(folder), EIGHT_PIXELS).labels.tolist())
    assert [0] == images.read(str(folder), EIGHT_PIXELS, "test").labels.tolist()


def test_an_image_cut_short_is_named(tmp_path: Path) -> None:
    source = pictures(tmp_path / "i", [f"n00000001/{n}.JPEG" for n in range(5)])
    path = source / "n00000001" / "3.JPEG"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match=r"3\.JPEG: not a whole image"):
        prepared("imagenet", source)


@pytest.mark.parametrize(("labels", "message"), [("1\n2\n", "found 2 class numbers, expected one for each of the 5"),
                                                 ("1\n2\n3\n4\n1001\n", 'line 5: found "1001", expected 1 to 1000')])
def test_class_numbers_that_do_not_fit_are_refused(labels: str, message: str, tmp_path: Path) -> None:
    source = pictures(tmp_path / "i", [f"{n}.JPEG" for n in range(5)])
    (tmp_path / "labels.txt").write_text(labels)
    with pytest.raises(InputError, match=message):
        prepared("imagenet", source, labels=tmp_path / "labels.txt")


def test_a_limit_is_taken_evenly_from_all_classes(tmp_path: Path) -> None:
    source = pictures(tmp_path / "i", [f"n0000000{c}/{n}.png" for c in range(5) for n in range(4)])
    facts = json.loads((prepared("imagenet", source, image=8, limit=10) / "facts.json").read_text())
    assert {"train": 8, "test": 2} == facts["counts"]


def test_cifar_s_files_are_taken_as_they_are_and_a_cut_one_leaves_nothing(tmp_path: Path) -> None:
    source = files(tmp_path / "cifar", {"train.bin": bytes(50_000 * 3074), "test.bin": bytes(10_000 * 3074)})
    folder = prepared("cifar100", source)
    assert choice.Data("cifar100", folder) == choice.chosen("cifar100", tmp_path / "cache")
    (source / "train.bin").write_bytes(bytes(3074))
    with pytest.raises(InputError, match=r"train\.bin: found 3074 bytes, expected 153700000: cut short"):
        prepared("cifar100", source)
    assert {"cifar100"} == {path.name for path in (tmp_path / "cache" / "data").iterdir()}


def test_the_list_says_what_is_here_and_the_command_of_every_set(speech: Path) -> None:
    prepared("ljspeech", speech)
    rows = {row["data"]: row for row in published.listing(speech.parent / "cache")}
    assert {*choice.NAMES} - {"own"} == set(rows)
    assert "ready" == rows["ljspeech"]["here"] and "missing" == rows["cifar10"]["here"]
    shown = {row["data"]: row["size"] for row in published.for_people(rows.values())}
    assert ("by hand", "170 MB") == (shown["imagenet"], shown["cifar10"])
    with pytest.raises(InputError) as told:
        choice.chosen("wmt16", speech)
    assert rows["wmt16"]["command"] in str(told.value)


def test_a_script_tells_bad_input_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for words, said in ((["--from", "none"], "none: no such folder"), ([], "registered users alone"),
                        (["--from", str(tmp_path)], "expected 1 to 1000")):
        monkeypatch.setattr("sys.argv", ["prepare.py", *words])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(paths.ROOT / "data/imagenet/prepare.py"), run_name="__main__")
        (line,) = capsys.readouterr().err.splitlines()
        assert 2 == ended.value.code and line.startswith("imagenet: ") and said in line
