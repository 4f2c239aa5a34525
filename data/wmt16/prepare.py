"""WMT'16 English-German as token ids: .venv/bin/python data/wmt16/prepare.py [--vocabulary vocab.bpe.32000].

Text that is split into byte pairs already (train.tok.clean.bpe.32000.en) keeps its split, other is split at spaces.
Without a vocabulary the 32,000 most frequent tokens of both languages are one.
"""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import evenbench  # noqa: F401  of an installed one, whose folder it puts on the path
from runner.datasets.published import Download, Published, run
from runner.datasets.writing import ragged, sources, text_lines
from runner.errors import InputError
from workloads.spec.data.lengths import WMT16_LONGEST
from workloads.spec.models.gnmt import BEGIN, END, FIRST_WORD, PAD, UNKNOWN

SET = Published(                     # Europarl 7, Common Crawl, News Commentary 11; the checksums are TFDS'
    "wmt16", "https://www.statmt.org/wmt16/translation-task.html",
    "stated by each part on the publisher's page; research",
    (Download("https://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz", 657_632_379,
              "sha256:0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7"),
     Download("https://www.statmt.org/wmt13/training-parallel-commoncrawl.tgz", 918_311_367,
              "sha256:c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5"),
     Download("https://data.statmt.org/wmt16/translation-task/training-parallel-nc-v11.tgz", 75_178_032,
              "sha256:cfe8ab047e05043476e498ee765c98e939c7b7d6d294e856344c84476b619d6a")))
WORDS = 32_000                      # of a vocabulary that is made here, the marks counted
VOCABULARY = "vocab.bpe.32000"
SPLIT = ("train.tok.clean.bpe.32000",)       # as the public preparation of WMT'16 names it
PLAIN = ("europarl-v7.de-en", "commoncrawl.de-en", "news-commentary-v11.de-en")
Pairs = list[tuple[Path, Path]]


def write(source: Path, folder: Path, asked: Namespace) -> dict[str, Any]:
    """Write source and target: pairs of at most WMT16_LONGEST tokens, an end mark after each."""
    pairs = pairs_in(source)
    numbers, vocabulary = vocabulary_of(source, pairs, asked.vocabulary)
    counts = Counter[str]()
    with ragged(folder, "source", np.dtype(np.int32)) as add_english, \
            ragged(folder, "target", np.dtype(np.int32)) as add_german:
        for texts in lines(pairs):
            if asked.limit and counts["pairs"] >= asked.limit:
                break
            both = [[numbers.get(token, UNKNOWN) for token in text.split()] + [END] for text in texts]
            lengths = [len(ids) for ids in both]
            if min(lengths) < 2 or max(lengths) > WMT16_LONGEST:
                counts["left_out"] += 1
                continue
            add_english(np.array(both[0], np.int32))
            add_german(np.array(both[1], np.int32))
            counts.update({"pairs": 1, "source_tokens": lengths[0], "target_tokens": lengths[1],
                           "unknown": both[0].count(UNKNOWN) + both[1].count(UNKNOWN)})
    if not counts["pairs"]:
        raise InputError(f"{source}: found no pair of 2 to {WMT16_LONGEST} tokens")
    made = {"vocabulary": len(numbers) + FIRST_WORD, "vocabulary_from": vocabulary, "longest": WMT16_LONGEST,
            "marks": {"pad": PAD, "unknown": UNKNOWN, "begin": BEGIN, "end": END}}
    return {"sources": sources(path for pair in pairs for path in pair), "counts": dict(counts), "made": made}


def pairs_in(folder: Path) -> Pairs:
    """The (English, German) files: those split into byte pairs, else the plain corpora."""
    for names in (SPLIT, PLAIN):
        if pairs := [(path, path.with_suffix(".de")) for name in names for path in sorted(folder.rglob(f"{name}.en"))]:
            return pairs
    raise InputError(f"{folder}: found no {SPLIT[0]}.en and no {PLAIN[0]}.en in it or below")


def lines(pairs: Pairs) -> Iterator[tuple[str, str]]:
    """The (English, German) lines of all files."""
    for english, german in pairs:
        try:
            yield from zip(text_lines(english), text_lines(german), strict=True)
        except ValueError as error:
            raise InputError(f"{german}: not as many lines as {english}: one of the two is cut short") from error


def vocabulary_of(source: Path, pairs: Pairs, named: Path | None) -> tuple[dict[str, int], str]:
    """The ids of tokens from FIRST_WORD on, and where they are from."""
    path = named or next(iter(sorted(source.rglob(VOCABULARY))), None)
    if path is not None:
        tokens = dict.fromkeys(filter(None, text_lines(path)))
        return {token: index for index, token in enumerate(tokens, FIRST_WORD)}, path.name
    counted = Counter(token for texts in lines(pairs) for text in texts for token in text.split())
    best = sorted(counted, key=lambda token: (-counted[token], token))[:WORDS - FIRST_WORD]
    return {token: index for index, token in enumerate(best, FIRST_WORD)}, f"the {len(best):,} most frequent tokens"


if __name__ == "__main__":
    run(SET, write, vocabulary={"type": Path, "help": f"a token a line; else {VOCABULARY} beside the text"})
