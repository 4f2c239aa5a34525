"""How the values of options are read."""

from collections.abc import Callable

import pytest

from runner.cli.options import duration, share
from runner.errors import InputError


@pytest.mark.parametrize(("read", "text", "value"), [
    (share, "3%", 0.03), (share, "0%", 0.0), (share, "2.5 %", 0.025),
    (duration, "90m", 5400), (duration, "12h", 43200), (duration, "1.5 h", 5400), (duration, "2d", 172800),
    *((share, text, "a share below 100 %") for text in ("3", "-1%", "100%", "", "three%")),
    *((duration, text, "minutes, hours or days, such as 90m")
      for text in ("12", "0h", "-1h", "", "12 hours", "30s"))])
def test_a_share_or_a_duration_is_read_or_refused_in_one_line(read: Callable[[str, str], float], text: str,
                                                               value: float | str) -> None:
    if isinstance(value, str):
        with pytest.raises(InputError, match=f"--option: found .*, expected {value}"):
            read("--option", text)
    else:
        assert value == pytest.approx(read("--option", text))
