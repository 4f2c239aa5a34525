"""LibriSpeech as frames of 161 spectrum bins and character ids: .venv/bin/python data/librispeech/prepare.py.

Of train-clean-100, or of dev-clean where that is not there.
"""

from argparse import Namespace
from pathlib import Path
from typing import Any

import evenbench  # noqa: F401  of an installed one, whose folder it puts on the path
from runner.datasets import speech
from runner.datasets.published import Download, Published, run
from runner.datasets.speech import Signal
from runner.datasets.writing import text_lines
from runner.errors import InputError, lacking
from workloads.spec.data.alphabets import LIBRISPEECH_LETTERS
from workloads.spec.data.framing import LIBRISPEECH

SET = Published(
    "librispeech", "https://www.openslr.org/12/", "CC BY 4.0",
    (Download("https://www.openslr.org/resources/12/train-clean-100.tar.gz", 6_387_309_499,
              "md5:2a93770f6d5c6c964bc36631d331a522"),
     Download("https://www.openslr.org/resources/12/dev-clean.tar.gz", 337_926_286,
              "md5:42e2234ba48799c1f50f24a7926300a1")), "LibriSpeech")
PARTS = ("train-clean-100", "dev-clean")


def write(source: Path, folder: Path, asked: Namespace) -> dict[str, Any]:
    """Write the frames and characters of the first part that is there."""
    part = next((part for part in PARTS if (source / part).is_dir()), None)
    if part is None:
        raise InputError(f"{source}: found none of the folders {', '.join(PARTS)}")
    clips = []
    for path in sorted((source / part).glob("*/*/*.trans.txt")):
        for line in text_lines(path):
            name, _, text = line.partition(" ")
            clips.append((path.parent / f"{name}.flac", text))
    facts = speech.write(clips[:asked.limit or None], folder, LIBRISPEECH, LIBRISPEECH_LETTERS, samples)
    return {**facts, "made": {**facts["made"], "part": part}}


def samples(path: Path) -> Signal:
    """Those of a mono FLAC file, from -1 to 1."""
    try:
        import soundfile
    except (ImportError, OSError) as error:           # OSError: the package is there, its library is not
        raise lacking("librispeech", "soundfile", f" (found: {error})") from error
    try:
        with soundfile.SoundFile(path) as clip:
            promised, form = clip.frames, (clip.samplerate, clip.channels)
            content: Signal = clip.read(dtype="float64")
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise InputError(f"{path}: not a whole FLAC file: {error}") from error
    if form != (LIBRISPEECH.rate, 1):
        raise InputError(f"{path}: found {form[0]} Hz, {form[1]} channels, expected {LIBRISPEECH.rate} Hz, 1 channel")
    if len(content) != promised:
        raise InputError(f"{path}: found {len(content)} samples, expected {promised}: cut short")
    return content


if __name__ == "__main__":
    run(SET, write)
