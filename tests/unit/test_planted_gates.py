"""The campaign of planted delays: what it plants, and what its table says."""

from types import SimpleNamespace
from typing import Any

from tests import planted_gates
from tests.clock import FakeClock


def planted(share: float, clock: FakeClock) -> Any:
    """The module that lies in a side's environment, with this clock; it is not put before imports."""
    source = planted_gates.PLANTED.format(share=share).replace("sys.meta_path.insert(0, Finder())", "")
    names: dict[str, Any] = {}
    exec(source, names)
    names["time"] = SimpleNamespace(perf_counter=clock)
    return SimpleNamespace(**names)


def stepping(share: float) -> float:
    """Seconds between the first and the third of three steps of a second each."""
    clock = FakeClock(step=0.001)
    seen = []

    class Watch:
        def stepped(self, handle: Any, phases: Any = None) -> None:
            seen.append(clock.now)

    planted(share, clock).plant(SimpleNamespace(Watch=Watch))
    watch = Watch()
    for _ in range(3):
        clock.advance(1.0)
        watch.stepped(None)
    return seen[-1] - seen[0]


def test_every_step_takes_longer_by_the_planted_share() -> None:
    # two steps of 1 s each with 10 % more; each reading of the clock takes a millisecond
    assert 2.2 <= stepping(0.1) <= 2.21
    assert 2.0 <= stepping(0.0) <= 2.01


def answers(share: float, *codes: int) -> list[dict[str, Any]]:
    return [{"share": share, "number": number, "exit_code": code, "ratio": 1 - share,
             "interval": {"low": 0.97, "high": 1.01} if code != 3 else None}
            for number, code in enumerate(codes)]


def test_the_table_counts_the_exit_codes_of_each_delay() -> None:
    lines = planted_gates.table([*answers(0.05, 1, 1, 3), *answers(0.0, 0, 0)], "3%").splitlines()

    assert ["| 0% | 2 | 2 | 0 | 0 | 1.000 | 0 of 2 |", "| 5% | 3 | 0 | 2 | 1 | 0.950 | 2 of 2 |"] == lines[2:]


def test_one_false_alarm_in_twenty_is_allowed_and_two_are_not() -> None:
    assert planted_gates.is_good(answers(0.0, 1, *[0] * 19))
    assert not planted_gates.is_good(answers(0.0, 1, 1, *[0] * 18))
    assert planted_gates.is_good(answers(0.1, *[1] * 20))
