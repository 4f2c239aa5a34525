"""LJSpeech 1.1 as frames of 80 mel bands and character ids: .venv/bin/python data/ljspeech/prepare.py."""

import wave
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

import evenbench  # noqa: F401  of an installed one, whose folder it puts on the path
from runner.datasets import speech
from runner.datasets.published import Download, Published, run
from runner.datasets.speech import Signal
from runner.datasets.writing import text_lines
from runner.errors import InputError
from workloads.spec.data.alphabets import LJSPEECH_LETTERS
from workloads.spec.data.framing import LJSPEECH

SET = Published(
    "ljspeech", "https://keithito.com/LJ-Speech-Dataset/", "public domain",
    (Download("https://data.keithito.com/data/speech/LJSpeech-1.1.tar.bz2", 2_748_572_632,        # TFDS' checksum
              "sha256:be1a30453f28eb8dd26af4101ae40cbf2c50413b1bb21936cbcdc6fae3de8aa5"),), "LJSpeech-1.1")
MEL_TOP = 8000.0                # Hz, the upper end of the mel bands


def write(source: Path, folder: Path, asked: Namespace) -> dict[str, Any]:
    """Write the frames and characters of the clips in metadata.csv, whose lines are clip|text|normalised text."""
    clips = []
    for number, line in enumerate(text_lines(source / "metadata.csv"), 1):
        fields = line.split("|")
        if len(fields) != 3:
            raise InputError(f"{source / 'metadata.csv'}: line {number}: found {len(fields)} fields, expected 3")
        clips.append((source / "wavs" / f"{fields[0]}.wav", fields[2]))
    return speech.write(clips[:asked.limit or None], folder, LJSPEECH, LJSPEECH_LETTERS, samples, mel_bands())


def samples(path: Path) -> Signal:
    """Those of a 16-bit mono WAV file, from -1 to 1."""
    try:
        with wave.open(str(path)) as clip:
            form = (clip.getframerate(), clip.getnchannels(), clip.getsampwidth() * 8)
            promised, content = clip.getnframes(), clip.readframes(clip.getnframes())
    except (wave.Error, EOFError, OSError, RuntimeError) as error:      # RuntimeError: a chunk beyond the file
        raise InputError(f"{path}: not a WAV file: {error or 'cut short'}") from error
    if form != (LJSPEECH.rate, 1, 16):
        raise InputError(f"{path}: found {form[0]} Hz, {form[1]} channels, {form[2]} bits, expected "
                         f"{LJSPEECH.rate} Hz, 1 channel, 16 bits")
    if len(content) != 2 * promised:
        raise InputError(f"{path}: found {len(content) // 2} samples, expected {promised} by its header: cut short")
    return np.frombuffer(content, "<i2").astype(np.float64) / 32768


def mel_bands() -> Signal:
    """(bins, window // 2 + 1): triangles that meet at half their height, evenly spaced in mel, each of area 1 in Hz.

    The mel of O'Shaughnessy 1987: 2595 log10(1 + Hz / 700). Areas of 1: each band weighs equally whatever its width.
    """
    top = 2595 * np.log10(1 + MEL_TOP / 700)
    edges = 700 * (10 ** (np.linspace(0, top, LJSPEECH.bins + 2) / 2595) - 1)
    lines = np.arange(LJSPEECH.window // 2 + 1) * LJSPEECH.rate / LJSPEECH.window
    left, middle, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    triangles = np.minimum((lines - left) / (middle - left), (right - lines) / (right - middle))
    return np.asarray(np.maximum(triangles, 0) * 2 / (right - left))


if __name__ == "__main__":
    run(SET, write)
