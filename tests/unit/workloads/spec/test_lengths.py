"""The stand-ins' lengths: equal everywhere, within what is published, with the published means."""

import statistics

import pytest

from workloads.spec.data.framing import LIBRISPEECH, LJSPEECH, frame_count
from workloads.spec.data.lengths import LENGTHS, lengths


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_are_the_seed_s_and_a_positive_number_for_each_thing_counted(name: str) -> None:
    assert lengths(name, 200, seed=3) == lengths(name, 200, seed=3) != lengths(name, 200, seed=4)
    assert lengths(name, 50, seed=1)[:20] == lengths(name, 20, seed=1)             # a longer list begins with it
    drawn = lengths(name, 300, seed=1, scale=0.05)
    assert all(len(LENGTHS[name].counts) == len(each) and min(each) >= 1 for each in drawn)


def test_speech_has_the_published_mean_durations() -> None:
    for name, framing, seconds in (("ljspeech", LJSPEECH, 6.57), ("librispeech", LIBRISPEECH, 12.69)):
        frames = [each[0] for each in lengths(name, 4000, seed=1)]
        mean = (statistics.mean(frames) - 1) * framing.hop / framing.rate + framing.window / framing.rate
        assert seconds == pytest.approx(mean, rel=0.03), name


def test_ljspeech_clips_last_from_1_11_to_10_10_seconds_with_99_9_characters_to_6_57() -> None:
    drawn = lengths("ljspeech", 4000, seed=1)
    frames = [each[0] for each in drawn]
    assert frame_count(int(1.11 * 22050), LJSPEECH) <= min(frames)
    assert max(frames) <= frame_count(int(10.10 * 22050), LJSPEECH)
    seconds = sum((frames * 256 + 768) / 22050 for frames, characters in drawn)
    assert 99.9 / 6.57 == pytest.approx(sum(characters for frames, characters in drawn) / seconds, rel=0.01)


def test_sentences_stay_within_the_50_tokens_that_the_reference_keeps_and_german_has_more_than_english() -> None:
    drawn = lengths("wmt16", 4000, seed=1)
    assert 2 <= min(map(min, drawn)) and max(map(max, drawn)) == 50
    short = [pair for pair in drawn if pair[0] <= 25]          # the limit of 50 hardly touches their translations
    assert 1.0357 == pytest.approx(sum(pair[1] for pair in short) / sum(pair[0] for pair in short), rel=0.01)


def test_one_packed_sequence_in_ten_is_shorter_than_128() -> None:
    drawn = [each[0] for each in lengths("wikitext103", 4000, seed=1)]
    assert 128 == max(drawn) and 5 <= min(drawn)
    assert 0.1 == pytest.approx(sum(each < 128 for each in drawn) / 4000, abs=0.015)


def test_a_scale_shrinks_all_lengths_and_of_nothing_is_refused() -> None:
    assert 32 == max(each[0] for each in lengths("wikitext103", 100, seed=1, scale=0.25))
    assert 25 >= max(max(pair) for pair in lengths("wmt16", 500, seed=1, scale=0.5))
    with pytest.raises(ValueError, match="expected a number above 0"):
        lengths("wmt16", 1, seed=1, scale=0.0)


def test_frames_are_counted_from_the_first_whole_window() -> None:
    assert [1, 1, 1, 2] == [frame_count(samples, LJSPEECH) for samples in (0, 1024, 1279, 1280)]
