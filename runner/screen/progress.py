"""What people see while runs are made and while files come."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.text import Text

from runner import formatting
from runner.measuring.bench import Progress
from runner.screen.page import people

_AGAIN_SECONDS = 60.0         # after which a log is told again that the machine is busy
_BAR = 16                      # letters
_NARROW_BAR = 8
_NARROW = 60                   # columns


class LineProgress:
    """A line a run, with its cell's key, for logs and pipes."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._total, self._done = 0, 0
        self._is_left_said = False
        self._delay_said = -_AGAIN_SECONDS

    def begin(self, total: int, seconds_estimate: float | None) -> None:
        """Say how many runs will be made, and about how long they take."""
        self._total = total
        about = f", about {formatting.seconds(seconds_estimate)}" if seconds_estimate else ""
        if total:                          # of a session that goes on with nothing but runs to make again
            self.line(formatting.count(total, "run") + about)

    def left(self, seconds: float) -> None:
        """Say how long the remaining runs will take. Said once, after the first round."""
        if not self._is_left_said:
            self._is_left_said = True
            self.line(f"about {formatting.seconds(seconds)} left, by what the first round took")

    def run_started(self, label: str) -> None:
        """Nothing, too."""

    def now(self, doing: str) -> None:
        """Nothing: a line a run is enough for a log."""

    def delayed(self, why: str) -> None:
        """Say what the session waits for, now and then."""
        if self._clock() - self._delay_said >= _AGAIN_SECONDS:
            self._delay_said = self._clock()
            self.line(why)

    def run_ended(self, key: str, label: str, ending: str, rate: str, seconds: float, message: str) -> None:
        """A run is over."""
        self._done += 1
        measured = f", {rate}" if rate else ""
        why = f": {message}" if message else ""
        end = f"{ending}{measured}, {formatting.seconds(seconds)}{why}"
        self.line(f"[{self._done}/{self._total}] {key} {label}: {end}")

    def close(self) -> None:
        """No more runs."""

    def line(self, text: str) -> None:
        """Print it whole: a broken line cannot be grepped."""
        self._console.print(self._harmless(text), soft_wrap=True)

    def _harmless(self, text: str) -> str:
        cleaned = formatting.clean(text)
        return cleaned if self._console.encoding.lower().startswith("utf") else formatting.in_ascii(cleaned)


class LiveProgress(LineProgress):
    """The same lines above a line with count, bar and time left, which stay whole, and what is done now.

    Drawn when something happened, about once a second, and by no thread: a busy screen would be measured too.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console, clock)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._began = clock()
        self._until: float | None = None       # by the clock, when all is thought to be done
        self._label = self._doing = ""

    def begin(self, total: int, seconds_estimate: float | None) -> None:
        """Say how many runs will be made, and about how long they take."""
        super().begin(total, seconds_estimate)
        self._began = self._clock()
        self._until = self._began + seconds_estimate if seconds_estimate else None
        self._live.start()

    def left(self, seconds: float) -> None:
        """Show how long the remaining runs will take."""
        self._is_left_said, self._until = True, self._clock() + seconds
        self._draw()

    def run_started(self, label: str) -> None:
        """A run begins."""
        self._label = label
        self.now("starting")

    def now(self, doing: str) -> None:
        """Show what is being done."""
        self._doing = doing
        self._draw()

    def delayed(self, why: str) -> None:
        """Show what the session waits for."""
        self.now(why)

    def run_ended(self, key: str, label: str, ending: str, rate: str, seconds: float, message: str) -> None:
        """A run is over. As long as not every cell has been measured, the others are thought to take as long."""
        super().run_ended(key, label, ending, rate, seconds, message)
        if not self._is_left_said:
            each = (self._clock() - self._began) / self._done
            self._until = self._clock() + each * (self._total - self._done)
        self.now("")

    def close(self) -> None:
        """No more runs; safe to repeat."""
        self._live.stop()

    def _draw(self) -> None:
        width = _BAR if self._console.width >= _NARROW else _NARROW_BAR
        full = round(width * self._done / self._total) if self._total else width
        left = [f"{formatting.seconds(max(0.0, self._until - self._clock()))} left"] if self._until is not None else []
        parts = [f"{self._done}/{self._total}", "━" * full + "." * (width - full), *left, self._doing, self._label]
        self._live.update(Text(self._harmless("  ".join(filter(None, parts))), no_wrap=True, overflow="ellipsis"),
                          refresh=True)


@contextmanager
def progress(console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> Iterator[Progress]:
    """A Progress that shows a session's runs: a bar on a terminal, else a line a run."""
    console = console or people()
    is_live = console.is_terminal and not console.is_dumb_terminal
    shown = LiveProgress(console, clock) if is_live else LineProgress(console, clock)
    try:
        yield shown
    finally:
        shown.close()


@contextmanager
def transfer(console: Console | None = None) -> Iterator[Callable[[str, int, int], None]]:
    """A function of (file, bytes here, bytes in all) that shows downloads: a bar on a terminal, else a line a tenth."""
    console = console or people()
    if not console.is_terminal or console.is_dumb_terminal:
        yield _tenths(console)
        return
    with RichProgress(TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(),
                      TimeRemainingColumn(), console=console) as bar:
        tasks: dict[str, Any] = {}

        def told(file: str, done: int, total: int) -> None:
            if file not in tasks:
                tasks[file] = bar.add_task(formatting.clean(file), total=total)
            bar.update(tasks[file], completed=done)
        yield told


def _tenths(console: Console) -> Callable[[str, int, int], None]:
    said: dict[str, int] = {}

    def told(file: str, done: int, total: int) -> None:
        tenth = done * 10 // total
        if tenth != said.get(file):
            said[file] = tenth
            console.print(f"{formatting.clean(file)}: {tenth * 10} % of {formatting.size(total)}", soft_wrap=True)
    return told
