"""WMT'16 English-German and WikiText-103 as token ids, written once on the host so that all stacks read equal bytes.

Text that is split into byte pairs already (train.tok.clean.bpe.32000.en) keeps its split, other is split at spaces.
Without a vocabulary file, WMT'16 takes the 32,000 most frequent tokens of both languages, and WikiText-103 the bytes of
its text: both need nothing from elsewhere, and the facts say which it was.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from runner.datasets import layouts
from runner.datasets.wordpiece import MARKS, Wordpiece
from runner.datasets.writing import Options, RaggedWriter, Sources
from runner.errors import InputError
from runner.processes import Say
from workloads.spec.data.lengths import WMT16_LONGEST
from workloads.spec.models.gnmt import BEGIN, END, FIRST_WORD, PAD, UNKNOWN

_WORDS = 32_000                      # of a vocabulary that is made here, the marks counted
_VOCABULARY = "vocab.bpe.32000"
# WikiText-103 as bytes: the marks of BERT first, byte b is 5 + b
BYTE_MARKS = {"pad": 0, "unknown": 1, "begin": 2, "end": 3, "mask": 4}
_HEADING = re.compile(r" = [^=].*[^=] = ?")
_TOLD_EVERY = 500_000


def wmt16(source: Path, folder: Path, options: Options, say: Say) -> dict[str, Any]:
    """Write WMT'16's pairs, an end mark after each, none longer than the reference's; their facts.

    Raises InputError.
    """
    pairs = layouts.wmt16_stems(source)
    numbers, vocabulary = _vocabulary(source, pairs, options, say)
    counts = Counter[str]()
    with RaggedWriter(folder, "source", np.dtype(np.int32)) as english, \
            RaggedWriter(folder, "target", np.dtype(np.int32)) as german:
        for texts in _lines(pairs):
            if options.limit and counts["pairs"] >= options.limit:
                break
            both = [[numbers.get(token, UNKNOWN) for token in text.split()] + [END] for text in texts]
            lengths = [len(ids) for ids in both]
            if min(lengths) < 2 or max(lengths) > WMT16_LONGEST:
                counts["left_out"] += 1
                continue
            english.append(np.array(both[0], np.int32))
            german.append(np.array(both[1], np.int32))
            counts.update({"pairs": 1, "source_tokens": lengths[0], "target_tokens": lengths[1],
                           "unknown": both[0].count(UNKNOWN) + both[1].count(UNKNOWN)})
            if counts["pairs"] % _TOLD_EVERY == 0:
                say(f"wmt16: {counts['pairs']:,} pairs")
    if not counts["pairs"]:
        raise InputError(f"{source}: found no pair of 2 to {WMT16_LONGEST} tokens")
    made = {"vocabulary": len(numbers) + FIRST_WORD, "vocabulary_from": vocabulary, "longest": WMT16_LONGEST,
            "marks": {"pad": PAD, "unknown": UNKNOWN, "begin": BEGIN, "end": END}}
    return _facts([path for pair in pairs for path in pair], counts, made)


def _lines(pairs: list[tuple[Path, Path]]) -> Iterator[tuple[str, str]]:
    """The (English, German) lines of all files. Raises InputError where one side has fewer."""
    for english, german in pairs:
        try:
            yield from zip(layouts.text_lines(english), layouts.text_lines(german), strict=True)
        except ValueError as error:
            raise InputError(f"{german}: not as many lines as {english}: one of the two is cut short") from error


def _vocabulary(source: Path, pairs: list[tuple[Path, Path]], options: Options, say: Say,
                ) -> tuple[dict[str, int], str]:
    """The ids of tokens from FIRST_WORD on, and where they are from."""
    path = options.vocabulary or next(iter(sorted(source.rglob(_VOCABULARY))), None)
    if path is not None:
        tokens = [line for line in layouts.text_lines(path) if line]
        return {token: index + FIRST_WORD for index, token in enumerate(dict.fromkeys(tokens))}, path.name
    say(f"wmt16: no {_VOCABULARY}: counting words for a vocabulary of {_WORDS:,}")
    counted = Counter(token for texts in _lines(pairs) for text in texts for token in text.split())
    best = sorted(counted, key=lambda token: (-counted[token], token))[:_WORDS - FIRST_WORD]
    return {token: index + FIRST_WORD for index, token in enumerate(best)}, f"the {len(best):,} most frequent tokens"


def wikitext103(source: Path, folder: Path, options: Options, say: Say) -> dict[str, Any]:
    """Write WikiText-103's training text, a sequence an article, without marks; its facts. Raises InputError."""
    path = source / layouts.WIKITEXT_FILES[0]
    coding = _pieces(options.vocabulary) if options.vocabulary else _BYTES
    counts = Counter[str]()
    with RaggedWriter(folder, "tokens", np.dtype(np.int32)) as tokens:
        for article in _articles(layouts.text_lines(path)):
            if options.limit and counts["articles"] >= options.limit:
                break
            ids = [number for line in article for number in coding.ids(line)]
            tokens.append(np.array(ids, np.int32))
            counts.update({"articles": 1, "tokens": len(ids)})
            if counts["articles"] % 5000 == 0:
                say(f"wikitext103: {counts['articles']:,} articles")
    if not counts["articles"]:
        raise InputError(f"{path}: found no article, expected lines such as \" = Title = \"")
    made = {"vocabulary": coding.size, "vocabulary_from": coding.title, "marks": dict(coding.marks)}
    return _facts([path], counts, made)


class _Coding(NamedTuple):
    """How a line becomes ids."""

    ids: Callable[[str], Iterable[int]]
    size: int
    marks: Mapping[str, int]
    title: str


_BYTES = _Coding(lambda line: [len(BYTE_MARKS) + byte for byte in line.encode()], 256 + len(BYTE_MARKS), BYTE_MARKS,
                 "the bytes of the text")


def _pieces(path: Path) -> _Coding:
    """BERT's word pieces. Raises InputError where the file has not its marks."""
    pieces = Wordpiece(list(layouts.text_lines(path)))
    missing = [mark for mark in MARKS.values() if mark not in pieces.numbers]
    if missing:
        raise InputError(f"--vocabulary {path}: found no {missing[0]}, expected BERT's vocab.txt, one piece a line")
    marks = {name: pieces.numbers[mark] for name, mark in MARKS.items()}
    return _Coding(pieces.ids, len(pieces.numbers), marks, path.name)


def _articles(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines of each article, its heading first; empty lines are left out."""
    article: list[str] = []
    for line in lines:
        if _HEADING.fullmatch(line) and article:
            yield article
            article = []
        if line.strip():
            article.append(line.strip())
    if article:
        yield article


def _facts(paths: list[Path], counts: Mapping[str, int], made: dict[str, Any]) -> dict[str, Any]:
    sources = Sources()
    for path in paths:
        sources.add(path.name, path)
    return {"sources": sources.record(), "counts": dict(counts), "made": made}
