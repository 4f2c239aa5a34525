"""What people see while runs are made and while files come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from runner import formatting
from runner.measuring.bench import Progress
from runner.screen.page import people


class LineProgress:
    """A line a run, with its cell's key, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total, self._done = 0, 0
        self._key = ""
        self._is_left_said = False

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

    def run_started(self, label: str, index: int, key: str) -> None:
        """A run begins."""
        self._key, self._done = key, index

    def now(self, doing: str) -> None:
        """Nothing: a line a run is enough for a log."""

    def run_ended(self, label: str, ending: str, rate: float | None, seconds: float, message: str) -> None:
        """A run is over."""
        self._done += 1
        measured = f", {formatting.number(rate)} samples/s" if rate else ""
        why = f": {message}" if message else ""
        end = f"{ending}{measured}, {formatting.seconds(seconds)}{why}"
        self.line(f"[{self._done}/{self._total}] {self._key} {label}: {end}")

    def close(self) -> None:
        """No more runs."""

    def line(self, text: str) -> None:
        """Print it whole: a broken line cannot be grepped."""
        cleaned = formatting.clean(text)
        is_ascii = not self._console.encoding.lower().startswith("utf")
        self._console.print(formatting.in_ascii(cleaned) if is_ascii else cleaned, soft_wrap=True)


class LiveProgress(LineProgress):
    """The same lines above a bar with the time that is left and the run's own rate so far.

    Drawn when something happened, about once a second, and by no thread: a busy screen would be measured too.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bar = RichProgress(
            MofNCompleteColumn(), BarColumn(bar_width=16), TextColumn("{task.fields[left]}", markup=False),
            TextColumn("{task.fields[now]}", markup=False), TextColumn("{task.description}", markup=False),
            console=console, auto_refresh=False, transient=True)
        self._estimate: float | None = None
        self._spent: list[float] = []
        self._label = ""

    def begin(self, total: int, seconds_estimate: float | None) -> None:
        """Say how many runs will be made, and about how long they take."""
        super().begin(total, seconds_estimate)
        self._estimate = seconds_estimate / total if seconds_estimate and total else None
        self._task = self._bar.add_task("", total=total, left="", now="")
        self._bar.start()

    def left(self, seconds: float) -> None:
        """Show how long the remaining runs will take."""
        self._is_left_said, self._estimate = True, seconds / max(1, self._total - self._done)
        self._draw("")

    def run_started(self, label: str, index: int, key: str) -> None:
        """A run begins."""
        super().run_started(label, index, key)
        self._label = formatting.clean(label)
        self._draw("starting")

    def now(self, doing: str) -> None:
        """Show what is being done."""
        self._draw(doing)

    def run_ended(self, label: str, ending: str, rate: float | None, seconds: float, message: str) -> None:
        """A run is over."""
        super().run_ended(label, ending, rate, seconds, message)
        self._spent.append(seconds)
        self._draw("")

    def close(self) -> None:
        """No more runs; safe to repeat."""
        self._bar.stop()

    def _draw(self, now: str) -> None:
        is_guess = self._spent and not self._is_left_said       # as long as not every cell has been measured
        each = sum(self._spent) / len(self._spent) if is_guess else self._estimate
        left = f"{formatting.seconds(each * (self._total - self._done))} left" if each else ""
        self._bar.update(self._task, description=self._label, completed=self._done, left=left, now=now, refresh=True)


@contextmanager
def progress(console: Console | None = None) -> Iterator[Progress]:
    """A Progress that shows a session's runs: a bar on a terminal, else a line a run."""
    console = console or people()
    is_live = console.is_terminal and not console.is_dumb_terminal
    shown = LiveProgress(console) if is_live else LineProgress(console)
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
