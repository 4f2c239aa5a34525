"""WikiText-103 raw as token ids, a sequence an article: .venv/bin/python data/wikitext103/prepare.py.

With --vocabulary vocab.txt BERT's word pieces (Devlin et al. 2019; Chinese characters are not parted, which WikiText
hardly has): words split at spaces and punctuation, each into the longest pieces that the vocabulary has. Else bytes.
"""

import functools
import re
import unicodedata
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import evenbench  # noqa: F401  of an installed one, whose folder it puts on the path
from runner.datasets.published import Download, Published, run
from runner.datasets.writing import ragged, sources, text_lines
from runner.errors import InputError

SET = Published(                     # nobody published a checksum: facts.json has the text's digest
    "wikitext103", "https://huggingface.co/datasets/Salesforce/wikitext", "CC BY-SA 3.0 and GFDL",
    (Download("https://wikitext.smerity.com/wikitext-103-raw-v1.zip", 191_984_949),), "wikitext-103-raw")
HEADING = re.compile(r" = [^=].*[^=] = ?")
MARKS = {"pad": "[PAD]", "unknown": "[UNK]", "begin": "[CLS]", "end": "[SEP]", "mask": "[MASK]"}
LONGEST_WORD = 100                   # characters; longer ones are unknown


def write(source: Path, folder: Path, asked: Namespace) -> dict[str, Any]:
    """Write the tokens of the training text, without marks."""
    path = source / "wiki.train.raw"
    coding = WordPieces(asked.vocabulary) if asked.vocabulary else Bytes()
    counts = Counter[str]()
    with ragged(folder, "tokens", np.dtype(np.int32)) as add:
        for article in articles(text_lines(path)):
            if asked.limit and counts["articles"] >= asked.limit:
                break
            ids = [number for line in article for number in coding.ids(line)]
            add(np.array(ids, np.int32))
            counts.update({"articles": 1, "tokens": len(ids)})
    if not counts["articles"]:
        raise InputError(f"{path}: found no article, expected lines such as \" = Title = \"")
    made = {"vocabulary": coding.size, "vocabulary_from": coding.title, "marks": coding.marks}
    return {"sources": sources([path]), "counts": dict(counts), "made": made}


def articles(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines of each article, its heading first; empty lines are left out."""
    article: list[str] = []
    for line in lines:
        if HEADING.fullmatch(line) and article:
            yield article
            article = []
        if line.strip():
            article.append(line.strip())
    if article:
        yield article


class Bytes:
    """The marks of BERT first, byte b is 5 + b."""

    size, title = 256 + len(MARKS), "the bytes of the text"

    def __init__(self) -> None:
        self.marks = {name: number for number, name in enumerate(MARKS)}

    def ids(self, line: str) -> list[int]:
        """A line's."""
        return [len(MARKS) + byte for byte in line.encode()]


class WordPieces:
    """Those of a vocabulary's lines; lower case where it has no upper-case letter."""

    def __init__(self, path: Path) -> None:
        self._numbers = {piece: number for number, piece in enumerate(text_lines(path))}
        if lacking := [mark for mark in MARKS.values() if mark not in self._numbers]:
            raise InputError(f"--vocabulary {path}: found no {lacking[0]}, expected BERT's vocab.txt, a piece a line")
        self.marks = {name: self._numbers[mark] for name, mark in MARKS.items()}
        self.size, self.title = len(self._numbers), path.name
        self._is_lower = not any(piece != piece.lower() for piece in self._numbers if not piece.startswith("["))
        self._of_word = functools.lru_cache(2**18)(self._split)

    def ids(self, line: str) -> list[int]:
        """A line's."""
        if self._is_lower:
            parted = unicodedata.normalize("NFD", line.lower())
            line = "".join(letter for letter in parted if unicodedata.category(letter) != "Mn")
        words = "".join(f" {letter} " if is_punctuation(letter) else letter for letter in line).split()
        return [number for word in words for number in self._of_word(word)]

    def _split(self, word: str) -> tuple[int, ...]:
        """A word's pieces, all but the first with ## before them; one [UNK] where no pieces fit."""
        ids, first = [], 0
        while first < len(word) <= LONGEST_WORD:
            before = "##" if first else ""
            end = next((end for end in range(len(word), first, -1) if before + word[first:end] in self._numbers), None)
            if end is None:
                break
            ids.append(self._numbers[before + word[first:end]])
            first = end
        return tuple(ids) if first == len(word) else (self.marks["unknown"],)


def is_punctuation(letter: str) -> bool:
    """Also the marks of ASCII that Unicode calls symbols, as BERT does."""
    if letter.isascii():
        return letter.isprintable() and not letter.isalnum() and letter != " "
    return unicodedata.category(letter).startswith("P")


if __name__ == "__main__":
    run(SET, write, vocabulary={"type": Path, "help": "BERT's vocab.txt; else the text's bytes are its tokens"})
