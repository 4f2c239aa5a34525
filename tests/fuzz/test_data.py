"""Data of strangers: images, pickles, prepared folders, sounds, transcripts. Read, or refused in one line."""

import json
import pickle
import runpy
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runner import paths
from runner.datasets import choice
from tests.fuzz.mutations import bytes_of, document_of, read_or_refused
from tests.made_files import files, sound
from tests.made_sequences import prepared
from workloads.inputs import images as inputs
from workloads.inputs import ragged
from workloads.spec.cell import Cell
from workloads.spec.data.datasets import DATA_SETS

CELL = Cell("s", "lenet5", "train", batch=2, steps=1, warmup=0, data="cifar10")
SCRIPTS = {path.parent.name: runpy.run_path(str(path)) for path in paths.ROOT.glob("data/*/prepare.py")}
BATCHES = (*DATA_SETS["cifar10"].train, *DATA_SETS["cifar10"].test)


@contextmanager
def folder(contents: Mapping[str, str | bytes]) -> Iterator[Path]:
    """A folder of these files, in one that nothing else may come into."""
    with tempfile.TemporaryDirectory() as name:
        inside = files(Path(name) / "data", contents)
        yield inside
        assert [inside] == list(Path(name).iterdir())


def pickled(protocol: int = 2) -> bytes:
    content = {b"data": np.arange(4 * 3072, dtype=np.uint8).reshape(4, 3072), b"labels": [0, 1, 2, 3],
               b"batch_label": b"one", b"filenames": [b"a", b"b", b"c", b"d"]}
    return pickle.dumps(content, protocol=protocol)


@given(st.sampled_from((pickled(), pickled(4))).flatmap(bytes_of))
def test_a_pickle_of_cifar(content: bytes) -> None:
    with folder(dict.fromkeys(BATCHES, content)) as here:
        read_or_refused(lambda: inputs.read(str(here), CELL))


@given(st.lists(st.sampled_from((b"c", b"(", b"t", b"R", b"o", b"i", b"b", b".", b"0", b"\x93", b"\x94", b"\x81",
                                 b"\x92", b"h\x00", b"}", b"]", b"I9\n", b"L9999999999L\n", b"cos\nsystem\n",
                                 b"cnumpy\nload\n", b"cnumpy.core.multiarray\n_reconstruct\n", b"cnumpy\nndarray\n",
                                 b"cnumpy\ndtype\n", b"c_codecs\nencode\n", b"cbuiltins\neval\n", b"Vtouch x\n",
                                 b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x96\x00\x00\x00\x10\x00\x00\x00\x00",
                                 b"X\xff\xff\xff\x7f", b"r\xff\xff\xff\x7f",
                                 b"p999999999\n", b"I1000000000000\n", b"\x85", b"\x86", b"\x87"))).map(b"".join))
def test_a_pickle_of_a_stranger_s_own_making(content: bytes) -> None:
    with folder(dict.fromkeys(BATCHES, b"\x80\x04" + content)) as here:
        assert read_or_refused(lambda: inputs.read(str(here), CELL)) is None


@given(st.binary(max_size=400), st.integers(-2, 2))
def test_a_binary_file_of_cifar(content: bytes, more: int) -> None:
    whole = (content or b"\0") * (3073 * 20 // max(1, len(content)) + 1)
    with folder({f"{name}.bin": whole[: 3073 * 20 + more] for name in BATCHES}) as here:
        read_or_refused(lambda: choice.verify("cifar10", here))
        read_or_refused(lambda: inputs.read(str(here), CELL._replace(data="digits32")))


@given(st.data())
def test_a_prepared_folder(drawn: st.DataObject) -> None:
    with folder({}) as here:
        sentences = [[1, 2, 3], [4]]
        prepared(here, "wmt16", {"vocabulary": 10, "marks": {"pad": 0}}, source=sentences, target=sentences)
        name = drawn.draw(st.sampled_from(sorted(path.name for path in here.iterdir())))
        content = (here / name).read_bytes()
        (here / name).write_bytes(drawn.draw(bytes_of(content) if drawn.draw(st.booleans()) or name != "facts.json" else
                                             document_of(json.loads(content)).map(lambda found:
                                                                                  json.dumps(found).encode())))
        read_or_refused(lambda: choice.verify("wmt16", here))
        read_or_refused(lambda: ragged.facts(str(here), "wmt16"))
        found = read_or_refused(lambda: ragged.ragged(str(here), "source"))
        if found is not None:
            assert sum(len(found[index]) for index in range(len(found))) == sum(found.lengths)


def written(name: str, source: Path, to: Path, **options: object) -> None:
    """Prepare a data set, or refuse it in one line."""
    asked = Namespace(**{"limit": 0, "image": 8, "labels": None, "vocabulary": None, **options})
    to.mkdir()
    read_or_refused(lambda: SCRIPTS[name]["write"](source, to, asked))


@given(bytes_of(sound(bytes(range(16)))), bytes_of(b"LJ001-0001|Printing|Printing\n"))
def test_a_sound_and_a_transcript(content: bytes, transcript: bytes) -> None:
    with folder({"wavs/LJ001-0001.wav": content, "metadata.csv": transcript}) as here:
        written("ljspeech", here, here / "to")


@given(bytes_of(b"a b c\nd e\n" * 3), bytes_of(b"x y\nz z z\n" * 3), bytes_of(b"a\nb\nx\n"))
def test_texts_and_a_vocabulary(english: bytes, german: bytes, vocabulary: bytes) -> None:
    with folder({"train.tok.clean.bpe.32000.en": english, "train.tok.clean.bpe.32000.de": german, "v": vocabulary}
                ) as here:
        written("wmt16", here, here / "to", vocabulary=here / "v")


@given(bytes_of(b"1\n2\n3\n"))
def test_class_numbers(content: bytes) -> None:
    with folder({"a.JPEG": "", "b.JPEG": "", "c.JPEG": "", "labels": content}) as here:
        written("imagenet", here, here / "to", labels=here / "labels")
