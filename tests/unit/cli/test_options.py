"""How the values of options are read."""

import pytest

from runner.cli.options import duration, share
from runner.errors import InputError


@pytest.mark.parametrize(("text", "value"), [("3%", 0.03), ("0%", 0.0), ("2.5 %", 0.025)])
def test_a_share_is_read(text: str, value: float) -> None:
    assert value == pytest.approx(share("--allow", text))


@pytest.mark.parametrize("text", ["3", "-1%", "100%", "", "three%"])
def test_what_is_no_share_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"--allow: found .*, expected a share below 100 %"):
        share("--allow", text)


@pytest.mark.parametrize(("text", "value"), [("90m", 5400), ("12h", 43200), ("1.5 h", 5400), ("2d", 172800)])
def test_a_duration_is_read(text: str, value: float) -> None:
    assert value == duration("--budget", text)


@pytest.mark.parametrize("text", ["12", "0h", "-1h", "", "12 hours", "30s"])
def test_what_is_no_duration_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"--budget: found .*, expected minutes, hours or days, such as 90m"):
        duration("--budget", text)
