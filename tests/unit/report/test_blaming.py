"""What a blame says where nothing can be blamed."""

import pytest

from runner.analysis.blame import Finding, Measured
from runner.report import blaming


@pytest.mark.parametrize(("new", "said"), [
    (Measured(), "Nothing was measured yet."),
    (Measured(1.0, 0.98, 1.02), "No difference is shown: new is 1.00x (0.98–1.02) of old, so no package is blamed."),
    (Measured(doubt="0.70x (0.66–0.74), but new: not steady (12 of 20 runs)"),
     "It cannot be told whether new is slower: 0.70x (0.66–0.74), but new: not steady (12 of 20 runs).")])
def test_what_was_measured_without_a_reason_is_told_apart(new: Measured, said: str) -> None:
    answer = blaming.Answer(new, Finding((), {}, Measured()), {}, {}, (), 9, 0, 230.0, True)

    assert said == blaming.conclusion(answer) and said in blaming.parts(answer)
