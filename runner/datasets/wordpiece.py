"""BERT's word pieces: words split at spaces and punctuation, each into the longest pieces that the vocabulary has.

Source: the tokenization that Devlin et al. 2019 publish with BERT; Chinese characters are not parted, which WikiText
hardly has.
"""

import functools
import unicodedata
from collections.abc import Sequence

MARKS = {"pad": "[PAD]", "unknown": "[UNK]", "begin": "[CLS]", "end": "[SEP]", "mask": "[MASK]"}
_LONGEST_WORD = 100                  # characters; longer ones are unknown


class Wordpiece:
    """The ids of text by a vocabulary's lines; lower case where the vocabulary has no upper-case letter."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.numbers = {piece: number for number, piece in enumerate(pieces)}
        self._is_lower = not any(piece != piece.lower() for piece in pieces if not piece.startswith("["))
        self._of_word = functools.lru_cache(2**18)(self._split)

    def ids(self, text: str) -> list[int]:
        """The ids of a text's pieces."""
        return [number for word in _words(self._cased(text)) for number in self._of_word(word)]

    def _cased(self, text: str) -> str:
        if not self._is_lower:
            return text
        parted = unicodedata.normalize("NFD", text.lower())
        return "".join(letter for letter in parted if unicodedata.category(letter) != "Mn")

    def _split(self, word: str) -> tuple[int, ...]:
        """A word's pieces, all but the first with ## before them; one [UNK] where no pieces fit."""
        unknown = (self.numbers[MARKS["unknown"]],)
        if len(word) > _LONGEST_WORD:
            return unknown
        ids: list[int] = []
        first = 0
        while first < len(word):
            before = "##" if first else ""
            ends = (end for end in range(len(word), first, -1) if before + word[first:end] in self.numbers)
            end = next(ends, None)
            if end is None:
                return unknown
            ids.append(self.numbers[before + word[first:end]])
            first = end
        return tuple(ids)


def _words(text: str) -> list[str]:
    """Runs of letters and digits, and each punctuation mark alone."""
    return "".join(f" {letter} " if _is_punctuation(letter) else letter for letter in text).split()


def _is_punctuation(letter: str) -> bool:
    """Also the marks of ASCII that Unicode calls symbols, as BERT does."""
    if letter.isascii():
        return letter.isprintable() and not letter.isalnum() and letter != " "
    return unicodedata.category(letter).startswith("P")
