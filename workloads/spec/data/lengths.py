"""How long the sequences of four data sets are: seeded stand-ins where the data itself is not there.

Standard library only. Drawn with random.Random(seed).random() alone, whose sequence Python keeps for a seed, so all
stacks see equal lengths. What a table's source counts is said beside it; what nobody published is marked "assumed".
"""
import math
import random
from typing import Callable, NamedTuple, Tuple

from workloads.spec.data.framing import LIBRISPEECH, LJSPEECH, frame_count

# (share of the clips, seconds that they are not longer than); between two points the lengths are spread evenly.
# LJSpeech: ends from the publisher's page (1.11 s, 10.10 s), quartiles and the 99 % point as k2-fsa/icefall prints
# them for all 13,100 clips (egs/ljspeech/TTS/local/display_manifest_statistics.py). The table's own mean is 6.45 s,
# 2 % under the published 6.57 s: it says too little about the quarter of the shortest clips.
LJSPEECH_SECONDS = ((0.0, 1.11), (0.25, 5.0), (0.5, 6.8), (0.75, 8.4), (0.99, 10.0), (1.0, 10.10))
# LibriSpeech train-clean-100: as k2-fsa/icefall prints it (egs/librispeech/ASR/local, same file name) for the set at
# three speeds (0.9, 1.0, 1.1): 85,617 clips, mean 12.8 s; the table's own mean is 12.7 s, the plain set's too (100.6 h
# over 28,539 clips; hours: Panayotov et al. 2015, table 1).
LIBRISPEECH_SECONDS = ((0.0, 1.3), (0.001, 1.9), (0.005, 2.2), (0.01, 2.5), (0.05, 4.2), (0.1, 6.4), (0.25, 11.4),
                       (0.5, 13.8), (0.75, 15.3), (0.9, 16.7), (0.95, 17.3), (0.99, 18.1), (0.995, 18.4),
                       (0.999, 18.8), (1.0, 27.2))
# LJSpeech: 1,308,678 characters in 23:55:17 h (publisher's page). LibriSpeech: assumed, somewhat fewer than those
# since its transcripts have no punctuation. Readers differ by 10 % (standard deviation): assumed.
LJSPEECH_CHARACTERS = 1308678.0 / 86117.0
LIBRISPEECH_CHARACTERS = 14.5
_CHARACTERS_SPREAD = 0.1
# WMT'16 EN-DE with 32,000 joint byte pairs, an end mark in each sentence: 132,886,171 English and 137,628,246 German
# tokens in 4,500,966 pairs (what fairseq-preprocess prints for wmt16_en_de_bpe32k). Log-normal with these spreads:
# assumed. Pairs beyond 50 tokens are drawn again: the reference GNMT of NVIDIA leaves them out of its training.
WMT16_TOKENS = (132886171.0 / 4500966.0, 137628246.0 / 4500966.0)
WMT16_LONGEST = 50
_SENTENCE_SPREAD, _TRANSLATION_SPREAD = 0.6, 0.2
# WikiText-103 as BERT packs text: 128 tokens, but one sequence in ten is made shorter, evenly from 2 tokens on, three
# marks not counted (short_seq_prob and its use in google-research/bert's create_pretraining_data.py).
WIKITEXT_LONGEST = 128
_SHORT_SHARE, _MARKS, _SHORTEST = 0.1, 3, 2


class Lengths(NamedTuple):
    """A data set's distribution: what its numbers count, and a function of (random.Random, scale) that draws them."""

    counts: Tuple[str, ...]
    draw: Callable
    source: str


def _normal(numbers):
    """A draw from about the standard normal distribution: twelve uniform ones, whose variance is 1/12 each."""
    return sum(numbers.random() for _ in range(12)) - 6.0


def _log_normal(numbers, mean, spread):
    return mean * math.exp(spread * _normal(numbers) - spread * spread / 2)


def _from_table(numbers, table):
    share = numbers.random()
    for (low_share, low), (high_share, high) in zip(table, table[1:]):
        if share < high_share:
            return low + (high - low) * (share - low_share) / (high_share - low_share)
    return table[-1][1]


def _speech(table, framing, characters_per_second):
    """A draw of (frames, characters) of a clip."""
    def draw(numbers, scale):
        seconds = _from_table(numbers, table) * scale
        characters = _log_normal(numbers, seconds * characters_per_second, _CHARACTERS_SPREAD)
        return frame_count(int(seconds * framing.rate), framing), max(1, round(characters))
    return draw


def _translation(numbers, scale):
    """(source tokens, target tokens) of a pair, the end marks counted."""
    longest = max(2, round(WMT16_LONGEST * scale))
    while True:
        source = _log_normal(numbers, WMT16_TOKENS[0] * scale, _SENTENCE_SPREAD)
        ratio = _log_normal(numbers, WMT16_TOKENS[1] / WMT16_TOKENS[0], _TRANSLATION_SPREAD)
        pair = round(source), round(source * ratio)
        if 2 <= min(pair) and max(pair) <= longest:
            return pair


def _packed(numbers, scale):
    """(tokens,) of a packed sequence, its marks counted."""
    longest = max(_MARKS + _SHORTEST, round(WIKITEXT_LONGEST * scale))
    if numbers.random() >= _SHORT_SHARE:
        return (longest,)
    shortest = _MARKS + _SHORTEST
    return (shortest + int(numbers.random() * (longest - shortest + 1)),)


LENGTHS = {
    "ljspeech": Lengths(("frames", "characters"), _speech(LJSPEECH_SECONDS, LJSPEECH, LJSPEECH_CHARACTERS),
                        "durations by published quantiles; characters per second published, their spread assumed"),
    "librispeech": Lengths(("frames", "characters"),
                           _speech(LIBRISPEECH_SECONDS, LIBRISPEECH, LIBRISPEECH_CHARACTERS),
                           "durations by published quantiles; characters per second assumed"),
    "wmt16": Lengths(("source_tokens", "target_tokens"), _translation,
                     "means published; log-normal shape and spreads assumed; at most 50 tokens"),
    "wikitext103": Lengths(("tokens",), _packed, "128 tokens, one in ten shorter, as BERT's own preparation does"),
}


def lengths(name: str, count: int, seed: int, scale=1.0):
    """So many tuples of ints, the lengths of a data set's sequences, equal for equal arguments on every machine.

    What a tuple holds is LENGTHS[name].counts. scale shrinks (or stretches) all of them, for small presets.
    Raises KeyError for an unknown name, ValueError for a scale that is not above 0.
    """
    if not scale > 0:
        raise ValueError("scale: found %r, expected a number above 0" % (scale,))
    numbers = random.Random(seed)
    return [LENGTHS[name].draw(numbers, scale) for _ in range(count)]
