"""The published layouts of data sets: what is in a folder, in words, each fault named by its file.

Each check says in words what it saw, as `evenbench data verify` prints it, and raises InputError for what is missing or
cut short.
"""

import wave
from collections.abc import Iterator
from pathlib import Path

from runner import formatting
from runner.errors import InputError

LJSPEECH_CLIPS = 13_100
LIBRISPEECH_PARTS = {"train-clean-100": 28_539, "dev-clean": 2_703}
WMT16_TEXTS = ("europarl-v7.de-en", "commoncrawl.de-en", "news-commentary-v11.de-en")
WMT16_PAIRS = "train.tok.clean.bpe.32000"       # as the public preparation of WMT'16 names it
WIKITEXT_FILES = ("wiki.train.raw", "wiki.valid.raw", "wiki.test.raw")
_FLAC = b"fLaC"                  # how such a file begins


def ljspeech(folder: Path) -> str:
    """LJSpeech's metadata and clips. Raises InputError."""
    lines = ljspeech_lines(folder)
    if len(lines) != LJSPEECH_CLIPS:
        raise InputError(f"{folder / 'metadata.csv'}: found {len(lines)} lines, expected {LJSPEECH_CLIPS}: cut short")
    for name, _ in lines:
        whole_wave(folder / "wavs" / f"{name}.wav")
    return f"LJSpeech with all {LJSPEECH_CLIPS:,} clips"


def ljspeech_lines(folder: Path) -> list[tuple[str, str]]:
    """(clip, normalised text) of each line of metadata.csv. Raises InputError."""
    path = folder / "metadata.csv"
    clips = []
    for number, line in enumerate(text_lines(path), 1):
        fields = line.split("|")
        if len(fields) != 3:
            raise InputError(f"{path}: line {number}: found {len(fields)} fields, "
                             "expected 3 (clip|text|normalised text)")
        clips.append((fields[0], fields[2]))
    return clips


def whole_wave(path: Path) -> None:
    """Raise InputError unless the file holds the samples that its header promises."""
    try:
        with wave.open(str(path)) as clip:
            promised = clip.getnframes() * clip.getnchannels() * clip.getsampwidth()
            header = 44                          # bytes of the shortest header that there is
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file, though metadata.csv lists it") from error
    except (wave.Error, EOFError, OSError, RuntimeError) as error:      # RuntimeError: a chunk beyond the file
        raise InputError(f"{path}: not a WAV file: {error or 'cut short'}") from error
    if path.stat().st_size < promised + header:
        raise InputError(f"{path}: found {path.stat().st_size} bytes, expected {promised + header} by its header: "
                         "cut short")


def librispeech(folder: Path) -> str:
    """LibriSpeech's parts, their transcripts and sound files. Raises InputError."""
    parts = librispeech_parts(folder)
    for part in parts:
        clips = list(librispeech_clips(folder / part))
        if len(clips) != LIBRISPEECH_PARTS[part]:
            raise InputError(f"{folder / part}: found {len(clips)} utterances in its *.trans.txt files, "
                             f"expected {LIBRISPEECH_PARTS[part]}")
        for path, _ in clips:
            _begins(path)
    return f"LibriSpeech with {', '.join(parts)} (a sound file cut short shows when it is prepared)"


def librispeech_parts(folder: Path) -> list[str]:
    """The parts that are there. Raises InputError where none is."""
    parts = [part for part in LIBRISPEECH_PARTS if (folder / part).is_dir()]
    if not parts:
        raise InputError(f"{folder}: found none of the folders {', '.join(LIBRISPEECH_PARTS)}")
    return parts


def librispeech_clips(folder: Path) -> Iterator[tuple[Path, str]]:
    """(sound file, text) of each utterance of a part, in the order of their names."""
    for path in sorted(folder.glob("*/*/*.trans.txt")):
        for line in text_lines(path):
            name, _, text = line.partition(" ")
            yield path.parent / f"{name}.flac", text


def _begins(path: Path) -> None:
    """Raise InputError unless the file is there and begins as FLAC does."""
    try:
        with path.open("rb") as file:
            if file.read(len(_FLAC)) != _FLAC:
                raise InputError(f"{path}: not a flac file, or an empty one")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}, though its transcript is there") from error


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def wmt16(folder: Path) -> str:
    """WMT'16's pairs of files, line by line. Raises InputError."""
    stems = wmt16_stems(folder)
    for english, german in stems:
        counts = [_lines(path) for path in (english, german)]
        if counts[0] != counts[1]:
            raise InputError(f"{german}: found {counts[1]} lines, expected the {counts[0]} of {english}: "
                             "one of the two is cut short")
    return f"WMT'16 English-German in {formatting.count(len(stems), 'pair')} of files"


def wmt16_stems(folder: Path) -> list[tuple[Path, Path]]:
    """The (English, German) files: those split into byte pairs, else the plain corpora. Raises InputError."""
    for names in ((WMT16_PAIRS,), WMT16_TEXTS):
        english_files = [path for name in names for path in sorted(folder.rglob(f"{name}.en"))]
        pairs = [(path, path.with_suffix(".de")) for path in english_files]
        for english, german in pairs:
            if not german.is_file():
                raise InputError(f"{german}: no such file, expected the translation of {english}")
        if pairs:
            return pairs
    raise InputError(f"{folder}: found no {WMT16_PAIRS}.en and no {WMT16_TEXTS[0]}.en in it or below")


def wikitext(folder: Path) -> str:
    """WikiText-103's three files. Raises InputError."""
    for name in WIKITEXT_FILES:
        path = folder / name
        if not path.is_file() or not path.stat().st_size:
            raise InputError(f"{path}: {'empty' if path.is_file() else 'no such file'}, expected WikiText-103's text")
    return "WikiText-103 raw with its three files (nobody published their sizes)"


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their ends. Raises InputError."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line.rstrip("\r\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from error

