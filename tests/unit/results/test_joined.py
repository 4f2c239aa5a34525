"""Several sessions of a study as one."""
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runner.analysis import doubts
from runner.cells import key
from runner.results.joined import alike, joined
from runner.results.reader import measurements
from runner.results.rows import Measurements
from tests import made_rows as made
from workloads.spec.cell import Cell

TORCH, TF = made.cell(), made.cell("tf")
OTHER = made.cell(batch=20)


def session(name: str, rates: Mapping[Cell, float], *more: Cell, **values: Any) -> Measurements:
    """A session that ran cells at these rates, in five rounds, and planned more."""
    runs = [record for cell, rate in rates.items() for record in made.runs(cell, [rate] * 5)]
    claim = {"id": "c", "of": name}
    return made.measured(*rates, *more, made.session(id=name, **values), *runs, claims=[claim])


def rates(of: Measurements) -> dict[Cell, float]:
    """The first round's rate of each cell that ran."""
    return {row.cell: row.rates[0] for row in of.rows if row.rates}


def test_what_is_compared_comes_from_its_newest_session() -> None:
    figures = ({"number": "Fig. 1", "title": "Speed"},)
    found = joined([session("new", {TORCH: 4.0, TF: 8.0}), replace(
        session("old", {TORCH: 1.0, TF: 2.0, OTHER: 5.0}), index=figures)])

    assert {TORCH: 4.0, TF: 8.0, OTHER: 5.0} == rates(found)
    assert ["new", "new", "old"] == [found.session_of(key(cell)) for cell in (TORCH, TF, OTHER)]
    assert {key(cell) for cell in (TORCH, TF, OTHER)} == set(found.experiments[0].cells) and figures == found.index


def test_no_word_is_said_of_what_comes_from_an_interrupted_session() -> None:
    other = OTHER._replace(stack="tf")
    records = [made.session(id="old"), made.plan(OTHER, other, rounds=8), *made.runs(OTHER, [5.0] * 6),
               *made.runs(other, [6.0] * 6), {"event": "closed", "reason": "interrupted"}]
    found = joined([session("new", {TORCH: 4.0, TF: 8.0}), measurements(records)])

    assert {key(cell) for cell in (OTHER, other)} == set(doubts.of(found))
    back = joined([measurements(records), session("old", {TORCH: 4.0, TF: 8.0})])
    assert set(doubts.of(found)) == set(doubts.of(back))


def test_a_session_of_which_nothing_is_shown_is_not_told_of() -> None:
    records = [made.session(id="old"), made.plan(TORCH, TF, rounds=20), *made.runs(TORCH, [5.0]), {
        "event": "closed", "reason": "interrupted"}]
    found = joined([session("new", {TORCH: 4.0, TF: 8.0}), measurements(records)])

    assert (5, True) == (found.rounds, found.is_done)


def test_ratios_are_never_of_two_sessions_and_what_the_newest_did_not_run_is_an_older_one_s() -> None:
    """The newest has one of two stacks, so both are an older one's."""
    assert {TORCH: 1.0, TF: 2.0} == rates(joined([session("new", {TORCH: 4.0}), session("old", {TORCH: 1.0, TF: 2.0})]))
    found = joined([session("new", {TORCH: 4.0}, OTHER), session("old", {OTHER: 5.0})])

    assert {TORCH: 4.0, OTHER: 5.0} == rates(found) and 2 == len(found.rows)
    assert ({"id": "c", "of": "new"},) == found.claims


def test_sessions_of_another_scale_or_machine_stand_on_no_page_with_the_newest() -> None:
    newest, older, small = (session(name, {TORCH: 1.0}, scale=scale)
                            for name, scale in (("new", "paper"), ("old", "paper"), ("small", "quick")))
    elsewhere = session("there", {TORCH: 1.0}, scale="paper", machine={**made.MACHINE, "hostname": "there"})

    assert ([newest, older], ["small: another scale than the newest session's",
                              "there: another machine than the newest session's"]) == alike(
        [newest, older, small, elsewhere])
