"""What people see while runs are made and while files come."""

import time
from collections.abc import Callable
from contextlib import closing

from rich.console import Console
from rich.live import Live
from rich.text import Text

from runner import formatting
from runner.cells import comparisons
from runner.planning.plan import Plan
from runner.results.runs import RateSoFar
from runner.results.store import Record
from runner.screen.page import people

_AGAIN_SECONDS = 60.0         # after which a log is told again that the machine is busy
_BAR = 16                      # letters
_NARROW_BAR = 8
_NARROW = 60                   # columns


class RunProgress:
    """Listens to a session: a line a run, with its cell's key; on a terminal above count, bar, time left and doings.

    Drawn when something happened, about once a second, and by no thread: a busy screen would be measured too.
    """

    def __init__(self, plan: Plan, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._cells = {planned.key: planned.cell for planned in plan.cells}
        labels = comparisons([*self._cells.values(), *(skip.cell for skip in plan.skipped)])
        self._names = {each.key: f"{each.experiment}: {each.cell.stack}: {labels[each.cell].label}"
                       for each in plan.cells}
        is_live = console.is_terminal and not console.is_dumb_terminal
        self._live = Live(console=console, auto_refresh=False, transient=True) if is_live else None
        self._rates: dict[str, RateSoFar] = {}           # of runs that have begun
        self._total, self._done, self._began = 0, 0, clock()
        self._until: float | None = None       # by the clock, when all is thought to be done
        self._is_left_told = False             # by what a round took
        self._label = self._doing = ""
        self._wait_said = -_AGAIN_SECONDS

    def heard(self, event: Record) -> None:
        """Show what an event of the session tells."""
        match event:
            case {"event": "now", "ahead": total, "seconds": seconds}:
                self._total, self._done, self._is_left_told, self._began = total, 0, False, self._clock()
                self._until = self._began + seconds if seconds else None
                if total:                      # of a session that goes on with nothing but runs to make again
                    about = f", about {formatting.seconds(seconds)}" if seconds else ""
                    self._line(formatting.count(total, "run") + about)
                if self._live:
                    self._live.start()
            case {"event": "now", "left": seconds}:
                if not (self._live or self._is_left_told):
                    self._line(f"about {formatting.seconds(seconds)} left, by what the first round took")
                self._is_left_told, self._until = True, self._clock() + seconds
                self._draw(self._doing)
            case {"event": "now", "doing": doing}:
                self._draw(doing)
            case {"event": "now", "waits": why}:
                self._waits(why)
            case {"event": "now", "said": line}:
                self._line(line)
            case {"event": "now", "starts": run} | {"event": "line" | "ending", "run": run}:
                self._of_run(run, run.partition(".")[0], event)
            case {"event": "closed"}:
                self.close()

    def _of_run(self, run: str, key: str, event: Record) -> None:
        cell = self._cells[key]
        if run not in self._rates:
            self._rates[run], self._label = RateSoFar(cell.batch), f"{cell.task} {cell.measure}, batch {cell.batch}"
            self._draw("starting")
        # in generation a step gives each sample a token, or in one program all of its tokens
        unit = "tokens/s" if cell.measure == "decode" and cell.decode == "token" else "samples/s"
        match event:
            case {"line": {"event": "start"}}:
                self._draw("warming up")
            case {"line": {"event": "steps"} as line} if (rate := self._rates[run].hear(line)) and "turn" not in line:
                self._draw(f"{formatting.number(rate)} {unit}")
            case {"again": True, "message": message}:
                self._waits(f"{message}: {self._names[key]} is measured again")
            case {"ending": ending, "message": message, "seconds": seconds}:
                self._done += 1
                rate = self._rates.pop(run).rate
                measured = f", {formatting.number(rate)} {unit}" if rate else ""
                why = f": {message}" if message else ""
                self._line(f"[{self._done}/{self._total}] {key} {self._names[key]}: {ending}{measured}, "
                           f"{formatting.seconds(seconds)}{why}")
                if not self._is_left_told:     # the others are thought to take as long
                    each = (self._clock() - self._began) / self._done
                    self._until = self._clock() + each * (self._total - self._done)
                self._draw("")

    def _waits(self, why: str) -> None:
        """Say what the session waits for, in a log now and then."""
        if not self._live and self._clock() - self._wait_said >= _AGAIN_SECONDS:
            self._wait_said = self._clock()
            self._line(why)
        self._draw(why)

    def close(self) -> None:
        """No more runs; safe to repeat."""
        if self._live:
            self._live.stop()

    def _line(self, text: str) -> None:
        """Print it whole: a broken line cannot be grepped."""
        self._console.print(self._harmless(text), soft_wrap=True)

    def _harmless(self, text: str) -> str:
        cleaned = formatting.clean(text)
        return cleaned if self._console.encoding.lower().startswith("utf") else formatting.in_ascii(cleaned)

    def _draw(self, doing: str) -> None:
        """Draw the line below the others, where there is a terminal; doing: what is done now."""
        if self._live is None:
            return
        self._doing = doing
        width = _BAR if self._console.width >= _NARROW else _NARROW_BAR
        full = round(width * self._done / self._total) if self._total else width
        left = [f"{formatting.seconds(max(0.0, self._until - self._clock()))} left"] if self._until is not None else []
        parts = [f"{self._done}/{self._total}", "━" * full + "." * (width - full), *left, doing, self._label]
        self._live.update(Text(self._harmless("  ".join(filter(None, parts))), no_wrap=True, overflow="ellipsis"),
                          refresh=True)


def progress(plan: Plan, console: Console | None = None, clock: Callable[[], float] = time.monotonic
             ) -> closing[RunProgress]:
    """Who shows a session's runs."""
    return closing(RunProgress(plan, console or people(), clock))
