"""Which runs of a session are made again."""

from collections.abc import Iterator, Sequence
from typing import Any

from runner.measuring.disturbed import Cell, Disturbance, waiting

A, B, C = Cell("a", "x"), Cell("b", "x"), Cell("c", "y")
Record = dict[str, Any]


def ran(key: str, index: int, share: float = 0.0, attempt: int = 1, ending: str = "ok", **head: Any
        ) -> Iterator[Record]:
    """A run of which others took such a share."""
    name = f"{key}.{index}.{attempt}"
    yield {"event": "begin", "run": name, "key": key, "round": index, "attempt": attempt, **head}
    told = {"disturbed": Disturbance(share, False)._asdict()} if share else {}
    if ending:
        yield {"event": "ending", "run": name, "ending": ending, **told}


def again(*runs: Iterator[Record], cells: Sequence[Cell] = (A, B, C), rounds: int = 2) -> list[tuple[str, int]]:
    """The keys and rounds that are to be repeated, in order."""
    records = [record for each in runs for record in each]
    return [(each.key, each.round) for each in waiting(records, dict.fromkeys(range(rounds), cells))]


def test_all_stacks_of_the_comparison_are_made_again_and_no_other_comparison() -> None:
    assert [("a", 0), ("b", 0)] == again(ran("a", 0, 0.3), ran("b", 0), ran("c", 0), ran("a", 1), ran("b", 1))


def test_a_stack_that_did_not_end_ok_has_no_pair_to_make_again() -> None:
    assert [("a", 0)] == again(ran("a", 0, 0.3), ran("b", 0, ending="oom"), ran("c", 0))


def test_they_follow_each_other_in_the_round_s_own_order() -> None:
    assert [("b", 0), ("a", 0)] == again(ran("a", 0, 0.3), ran("b", 0), cells=(C, B, A))


def test_a_round_s_worst_run_says_how_disturbed_it_was_and_what_has_no_room_is_left_out() -> None:
    # three runs are a round: the pair with 0.5, then the single cell; the pair with 0.4 has no room
    repeated = again(ran("a", 0, 0.4), ran("b", 0, 0.4), ran("c", 0, 0.2), ran("a", 1), ran("b", 1, 0.5), ran("c", 1))
    assert [("c", 0), ("a", 1), ("b", 1)] == repeated


def test_what_was_repeated_counts_for_the_room_of_a_resumed_session() -> None:
    pair = {"repeats": "-", "together": ["a", "b"]}
    repeated = again(ran("a", 0, 0.4), ran("b", 0), ran("c", 0, 0.2), ran("a", 1, 0.3), ran("b", 1),
                  ran("a", 0, attempt=2, **pair), ran("b", 0, attempt=2, **pair))
    assert [("c", 0)] == repeated


def test_a_repeated_round_that_was_cut_short_is_ended_before_others_begin() -> None:
    pair = {"repeats": "-", "together": ["a", "b"]}
    repeated = again(ran("a", 0, 0.2), ran("b", 0), ran("a", 1, 0.9), ran("b", 1),
                  ran("a", 0, attempt=2, **pair), ran("b", 0, attempt=2, ending="", **pair), cells=(A, B))
    assert [("b", 0)] == repeated


def test_a_run_that_was_once_repeated_by_itself_is_left_so() -> None:
    assert [] == again(ran("a", 0, 0.4), ran("b", 0), ran("a", 0, attempt=2, repeats="a.0.1"))


def test_nothing_is_made_again_where_nothing_was_disturbed() -> None:
    assert [] == again(ran("a", 0), ran("b", 0)) == again()
