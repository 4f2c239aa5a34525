"""LJSpeech and LibriSpeech as frames and character ids, computed once on the host so that all stacks read equal bytes.

A frame is the natural logarithm of a Hann window's magnitude spectrum (workloads/spec/data/framing.py), for LJSpeech
summed into 80 mel bands from 0 to 8,000 Hz; what is under 1e-5 counts as that, as in the public Tacotron 2
implementations. Frames are kept as float16: 36 million frames of LibriSpeech fit on a disk, and 0.01 of a logarithm is
far below noise.
"""

import functools
import io
import wave
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from runner.datasets import layouts
from runner.datasets.writing import Options, RaggedWriter, Sources
from runner.errors import InputError, lacking
from workloads.spec.data.alphabets import LIBRISPEECH_LETTERS, LJSPEECH_LETTERS, ids
from workloads.spec.data.framing import LIBRISPEECH, LJSPEECH, Framing, frame_count

Signal = np.ndarray[Any, np.dtype[np.float64]]
Clip = tuple[Path, str]
_LEAST = 1e-5                   # of a magnitude, before its logarithm
_MEL_TOP = 8000.0               # Hz, the upper end of the mel bands
_TOLD_EVERY = 1000


def ljspeech(source: Path, folder: Path, options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Write LJSpeech's arrays; their facts. Raises InputError naming the missing, cut or unlike file."""
    lines = options.first(layouts.ljspeech_lines(source))
    clips = [(source / "wavs" / f"{name}.wav", text) for name, text in lines]
    form = (LJSPEECH, LJSPEECH_LETTERS, str.lower, _pcm)
    return _write("ljspeech", clips, folder, form, say)


def librispeech(source: Path, folder: Path, options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Write the arrays of train-clean-100, or of dev-clean without it; their facts. Raises InputError."""
    part = layouts.librispeech_parts(source)[0]
    clips = options.first(list(layouts.librispeech_clips(source / part)))
    form = (LIBRISPEECH, LIBRISPEECH_LETTERS, str.upper, _flac)
    return _write("librispeech", clips, folder, form, say, {"part": part})


def _write(name: str, clips: list[Clip], folder: Path,
           form: tuple[Framing, str, Callable[[str], str], Callable[[Path, bytes, int], Signal]],
           say: Callable[[str], None], made: dict[str, Any] | None = None) -> dict[str, Any]:
    """Write the two arrays of a speech set; their facts."""
    framing, letters, cased, decoded = form
    if not clips:
        raise InputError(f"data {name}: found no clips")
    sources, frames, characters = Sources(), 0, 0
    with RaggedWriter(folder, "frames", np.dtype(np.float16), framing.bins) as sounds, \
            RaggedWriter(folder, "characters", np.dtype(np.uint8)) as texts:
        for path, text in _told(clips, name, say):
            content = _read(path)
            sources.add(path.name, content)
            sound = spectrogram(decoded(path, content, framing.rate), framing)
            letter_ids = np.array(ids(cased(text), letters), np.uint8)
            sounds.append(sound)
            texts.append(letter_ids)
            frames, characters = frames + len(sound), characters + len(letter_ids)
    return {"sources": sources.record(),
            "counts": {"clips": len(clips), "frames": frames, "characters": characters},
            "made": {**framing._asdict(), "letters": letters, "text_sha256": _digest(clips), **(made or {})}}


def _told(clips: list[Clip], name: str, say: Callable[[str], None]) -> Iterable[Clip]:
    for number, clip in enumerate(clips):
        if number and number % _TOLD_EVERY == 0:
            say(f"{name}: {number:,} of {len(clips):,} clips")
        yield clip


def _digest(clips: list[Clip]) -> str:
    texts = Sources()
    for path, text in clips:
        texts.add(path.name, text.encode())
    return str(texts.record()["sha256"])


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}, though its text is there") from error


def _pcm(path: Path, content: bytes, rate: int) -> Signal:
    """The samples of a 16-bit mono WAV file, from -1 to 1."""
    layouts.whole_wave(path)
    with wave.open(io.BytesIO(content)) as clip:
        form = (clip.getframerate(), clip.getnchannels(), clip.getsampwidth() * 8)
        if form != (rate, 1, 16):
            raise InputError(f"{path}: found {form[0]} Hz, {form[1]} channels, {form[2]} bits, "
                             f"expected {rate} Hz, 1 channel, 16 bits")
        return np.frombuffer(clip.readframes(clip.getnframes()), "<i2").astype(np.float64) / 32768


def _flac(path: Path, content: bytes, rate: int) -> Signal:
    """The samples of a mono FLAC file, from -1 to 1."""
    try:
        import soundfile
    except (ImportError, OSError) as error:           # OSError: the package is there, its library is not
        raise lacking("data librispeech", "soundfile", f" (found: {error})") from error
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as clip:
            promised, form = clip.frames, (clip.samplerate, clip.channels)
            samples: Signal = clip.read(dtype="float64")
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise InputError(f"{path}: not a whole FLAC file: {error}") from error
    if form != (rate, 1):
        raise InputError(f"{path}: found {form[0]} Hz, {form[1]} channels, expected {rate} Hz, 1 channel")
    if len(samples) != promised:
        raise InputError(f"{path}: found {len(samples)} samples, expected {promised}: cut short")
    return samples


def spectrogram(signal: Signal, framing: Framing) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """(frames, bins): the logarithm of each window's magnitudes, linear or in mel bands."""
    count = frame_count(len(signal), framing)
    filled = np.zeros(max(len(signal), framing.window))
    filled[:len(signal)] = signal
    windows = np.lib.stride_tricks.sliding_window_view(filled, framing.window)[::framing.hop][:count]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(framing.window) / framing.window)
    magnitudes = np.abs(np.fft.rfft(windows * hann, axis=1))
    bands = magnitudes @ mel_bands(framing).T if framing.is_mel else magnitudes
    return np.asarray(np.log(np.maximum(bands, _LEAST)), np.float32)


@functools.cache
def mel_bands(framing: Framing) -> Signal:
    """(bins, window // 2 + 1): triangles that meet at half their height, evenly spaced in mel, each of area 1 in Hz.

    The mel of O'Shaughnessy 1987: 2595 log10(1 + Hz / 700). Areas of 1: each band weighs equally whatever its width.
    """
    top = 2595 * np.log10(1 + _MEL_TOP / 700)
    edges = 700 * (10 ** (np.linspace(0, top, framing.bins + 2) / 2595) - 1)
    lines = np.arange(framing.window // 2 + 1) * framing.rate / framing.window
    left, middle, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    triangles = np.minimum((lines - left) / (middle - left), (right - lines) / (right - middle))
    return np.asarray(np.maximum(triangles, 0) * 2 / (right - left))
