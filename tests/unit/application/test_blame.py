"""What a blame has measured is kept for the same environments, and asked for once."""

import json
import math
from pathlib import Path

import pytest

from runner.analysis.blame import Measured
from runner.application.blame import UNCLEAR, Journal, TimeOver, blamed
from runner.application.prepare import begin_model
from runner.measuring.bench import Going, Request
from runner.measuring.session import INCOMPLETE
from tests import own_environment

SLOWER = Measured(0.7, 0.69, 0.71)


def journal(folder: Path, of: str = "old and new", ends: float = math.inf, is_fresh: bool = False, rounds: int = 20
            ) -> Journal:
    return Journal(folder / "blame.json", of, ends, is_fresh, rounds)


def test_what_was_measured_is_known_to_the_same_environments_alone(tmp_path: Path) -> None:
    first = journal(tmp_path)
    assert SLOWER == first.measured("jax", 0.9, lambda: SLOWER)
    unknown = first.measured("torch", 0.9, lambda: Measured(reason="no wheel"))
    assert ["jax"] == first.once("loaded", lambda: ["jax"])

    again = journal(tmp_path, ends=-math.inf)
    assert (SLOWER, unknown) == tuple(again.measured(name, 0.9, pytest.fail) for name in ("jax", "torch"))
    assert ["jax"] == again.once("loaded", pytest.fail)
    for known, name, limit in ((again, "numpy", 0.9), (again, "jax", 0.8),
                               (journal(tmp_path, "old and newer", -math.inf), "jax", 0.9),
                               (journal(tmp_path, ends=-math.inf, is_fresh=True), "jax", 0.9)):
        with pytest.raises(TimeOver):
            known.measured(name, limit, lambda: SLOWER)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 3, "of": "old and new", "measured": 3}'])
def test_a_journal_that_cannot_be_read_is_begun_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / "blame.json").write_text(text)
    assert SLOWER == journal(tmp_path).measured("a", 1.0, lambda: SLOWER)


def test_more_rounds_measure_again_what_fewer_did_not_tell(tmp_path: Path) -> None:
    fewer, unclear = journal(tmp_path), Measured(0.9, 0.8, 1.01)
    fewer.measured("new", 1.0, lambda: SLOWER)
    for _ in range(2):
        assert unclear == fewer.measured("jax", 0.95, lambda: unclear)

    more = journal(tmp_path, rounds=40)

    assert SLOWER == more.measured("new", 1.0, pytest.fail)
    assert SLOWER == more.measured("jax", 0.95, lambda: SLOWER)
    assert SLOWER == journal(tmp_path).measured("jax", 0.95, pytest.fail)


def test_where_no_package_is_proved_nothing_is_clear_and_why_a_mix_could_not_be_made_is_not_kept(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    begin_model("torch", tmp_path / "m.py")
    sides = [str(own_environment.made(tmp_path / version, torch="2.13.0", helper=version)) for version in "12"]
    request = Request(str(tmp_path / "m.py"), models=(str(tmp_path / "m.py"),), results=tmp_path / "results",
                      launcher="venv", going=Going(minutes=1e-9))
    assert INCOMPLETE == blamed(request, (sides[0], sides[1]), "", is_kept=False)[1]
    (kept,) = (tmp_path / "results").glob("*/blame.json")
    known = {"new 1.0000": [0.7, 0.69, 0.71, "", "", 20], "loaded": []}
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "measured": known}))

    answer, code = blamed(request._replace(going=Going()), (sides[0], sides[1]), "", is_kept=False)

    assert (UNCLEAR, False) == (code, answer.finding.reasons[0].is_proved)
    assert answer.finding.reasons[0].alone.reason and known == json.loads(kept.read_text())["measured"]
