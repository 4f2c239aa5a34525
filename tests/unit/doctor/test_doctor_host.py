"""What doctor says of a machine's pace."""

import re

import pytest

from runner.doctor.host import left_told, pace_told
from runner.machine.pace import Pace

EVEN = Pace(1, 0.0005, 0.0006)


@pytest.mark.parametrize(("seen", "stolen_share", "grade", "told"), [
    (EVEN, 0.005, "good", r"0\.5 to 0\.6 ms .*\(CPU 1\)$"), (EVEN, 0.08, "note", r"\(CPU 1\);.* other guests .*8\.0 %"),
    (Pace(0, 0.0005, 0.0009), 0.0, "note", r"0\.5 to 0\.9 ms .*\(CPU 0\)$")])
def test_a_pace_is_good_where_work_takes_alike_and_no_other_guest_takes_time(
        seen: Pace, stolen_share: float, grade: str, told: str) -> None:
    finding = pace_told(seen, stolen_share)

    assert grade == finding.grade and re.search(told, finding.found)
    assert ("more --rounds" in finding.mend) is (grade == "note")


def test_what_runners_that_are_gone_have_left_is_told() -> None:
    assert [] == left_told(0, 0)
    assert ["1 container and 2 temporary folders of runners that are gone"] == [each.found for each in left_told(1, 2)]


def test_a_quota_of_its_own_is_not_called_other_programs() -> None:
    finding = pace_told(Pace(0, 0.0005, 0.0500), 0.0, is_throttled=True)

    assert ("note", True) == (finding.grade, "the quota of its own control group held it up" in finding.found)
    assert "other programs" not in finding.found + finding.mend
