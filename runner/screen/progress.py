"""What people see while runs are made and while files come."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from runner import formatting
from runner.analysis.summary import summary_of
from runner.cells import comparisons
from runner.planning.plan import Plan
from runner.report.answer import answer
from runner.report.document import Answer
from runner.results.rows import Measurements
from runner.results.store import Record
from runner.screen.page import harmless, is_detailed, people
from runner.screen.summary import so_far_view

_AGAIN_SECONDS = 60.0         # after which a log is told again that the machine is busy
_BAR = 16                      # letters
_NARROW_BAR = 8
_NARROW = 60                   # columns


class RunProgress:
    """Listens to a session: the table so far and what is done on a terminal, a line a round elsewhere.

    How a cell's runs ended has a line where it is not ok, and each run one with -v. Drawn when something happened,
    about once a second, and by no thread: a busy screen would be measured too.
    """

    def __init__(self, plan: Plan, console: Console, clock: Callable[[], float] = time.monotonic,
                 is_detailed: bool = False) -> None:
        self._console, self._clock, self._is_detailed, self._rounds = console, clock, is_detailed, plan.rounds
        self._cells = {planned.key: planned.cell for planned in plan.cells}
        labels = comparisons([*self._cells.values(), *(skip.cell for skip in plan.skipped)])
        self._labels = {each.key: labels[each.cell].label for each in plan.cells}
        is_live = console.is_terminal and not console.is_dumb_terminal
        self._live = Live(console=console, auto_refresh=False, transient=True) if is_live else None
        self._begun: set[str] = set()          # runs
        self._total, self._done, self._began = 0, 0, clock()
        self._until: float | None = None       # by the clock, when all is thought to be done
        self._is_left_told = False             # by what a round took
        self._label = self._doing = ""
        self._wait_said = -_AGAIN_SECONDS
        self._told: set[tuple[str, str]] = set()         # cells and their endings that have a line
        self._so_far: Answer | None = None

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
                self._round_is_over(seconds, event["missing"], event.get("so_far"))
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

    def _round_is_over(self, seconds: float, missing: int, so_far: Measurements | None) -> None:
        self._is_left_told, self._until = True, self._clock() + seconds
        if self._live is None:
            left = f", about {formatting.seconds(seconds)} left" if seconds > 0 else ""
            self._line(f"{self._rounds - missing} of {self._rounds} rounds measured{left}" if missing
                       else "enough rounds measured")
        elif so_far is not None:
            # without claims, which take long, and without words, which are said at the end
            self._so_far = answer(summary_of(replace(so_far, claims=(), published=())))
        self._draw(self._doing)

    def _of_run(self, run: str, key: str, event: Record) -> None:
        if run not in self._begun:
            self._begun.add(run)
            self._label = self._labels[key]
            self._draw("starting")
        match event:
            case {"line": {"event": "start"}}:
                self._draw("warming up")
            case {"line": {"event": "steps"} as line} if "turn" not in line:
                self._draw("timed steps")
            case {"ending": ending, "message": message, "seconds": seconds}:
                self._done += 1
                if self._is_detailed or (ending != "ok" and (key, ending) not in self._told):
                    self._told.add((key, ending))
                    why = f": {message}" if message else ""
                    self._line(f"[{self._done}/{self._total}] {key} {self._cells[key].stack}: {self._labels[key]}: "
                               f"{ending}, {formatting.seconds(seconds)}{why}")
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
        self._console.print(harmless(text, self._console.options.ascii_only), soft_wrap=True)

    def _draw(self, doing: str) -> None:
        """Draw the table and the line below it, where there is a terminal; doing: what is done now."""
        if self._live is None:
            return
        self._doing = doing
        width = _BAR if self._console.width >= _NARROW else _NARROW_BAR
        full = round(width * self._done / self._total) if self._total else width
        seconds = (self._until or 0.0) - self._clock()         # of a session that takes longer nothing is known
        left = [f"{formatting.seconds(seconds)} left"] if seconds > 0 else []
        parts = [f"{self._done}/{self._total}", "━" * full + "." * (width - full), *left, doing, self._label]
        line = Text(harmless("  ".join(filter(None, parts)), self._console.options.ascii_only), no_wrap=True,
                    overflow="ellipsis")
        table = [so_far_view(self._so_far, self._console.height - 2)] if self._so_far else []
        self._live.update(Group(*table, line), refresh=True)


def progress(plan: Plan) -> closing[RunProgress]:
    """Who shows a session's runs."""
    return closing(RunProgress(plan, people(), is_detailed=is_detailed()))
