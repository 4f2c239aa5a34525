"""A session: for every round, for every cell in the round's order, one run; everything it hears goes to the store."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from runner import machine, telemetry
from runner.cell import label
from runner.errors import BenchError, DiskFull
from runner.launch import Ending, Exit, Launcher, Limits, Running, follow, limits
from runner.plan import Plan, Planned
from runner.stack import Stack
from runner.store import Kept, Store


class Progress(Protocol):
    """Who shows how far a session is."""

    def begin(self, total: int, seconds_estimate: float | None) -> None:
        """So many runs are ahead."""

    def run_started(self, label: str, index: int, key: str) -> None:
        """A run begins."""

    def rate(self, samples_per_second: float) -> None:
        """What the run does now."""

    def run_ended(self, label: str, ending: str, rate: float | None, seconds: float, message: str) -> None:
        """A run is over."""

    def close(self) -> None:
        """No more runs."""


class Stopped(Exception):
    """Ctrl-C or SIGTERM: the session has ended between two lines, its results usable."""


class Bench(NamedTuple):
    """All that runs are made with."""

    plan: Plan
    stacks: dict[str, Stack]
    launcher: Launcher
    data: Path
    store: Store
    progress: Progress
    stall: float | None = None                    # seconds without a step that end a run; launch.limits has a default
    seconds_estimate: float | None = None         # of the whole plan
    is_stopping: Callable[[], bool] = lambda: False     # whether the user asked for the end
    clock: Callable[[], float] = time.monotonic
    readings: Callable[[], machine.Reading] = machine.reading
    watches: Callable[[Planned], telemetry.Watch | None] = lambda planned: None       # of the GPUs that a cell gets


def run(bench: Bench, kept: Kept | None = None) -> bool:
    """Run what is not finished yet; whether every ending was ok. Raises Stopped, DiskFull."""
    waiting = [(index, planned) for index in range(bench.plan.rounds) for planned in bench.plan.order(index)
               if not kept or (planned.key, index) not in kept.finished]
    attempts = dict(kept.attempts) if kept else {}
    share = len(waiting) / max(1, bench.plan.rounds * len(bench.plan.cells))
    bench.progress.begin(len(waiting), bench.seconds_estimate and bench.seconds_estimate * share)
    words = set()
    try:
        for number, (index, planned) in enumerate(waiting):
            attempt = attempts.get((planned.key, index), 0) + 1
            word, is_throttled = _run(bench, planned, index, attempt, number)
            if is_throttled and not bench.is_stopping():       # once more: the GPU may have cooled down
                word, _ = _run(bench, planned, index, attempt + 1, number)
            words.add(word)
            if bench.is_stopping():
                raise Stopped
        bench.store.append({"event": "closed", "reason": "done"})
    except (Stopped, KeyboardInterrupt) as stop:
        bench.store.append({"event": "closed", "reason": "interrupted"})
        raise Stopped from stop
    finally:
        bench.progress.close()
    return words <= {"ok"}


def _run(bench: Bench, planned: Planned, index: int, attempt: int, number: int) -> tuple[str, bool]:
    """One run from start to ending, stored as it goes; the ending's word, and whether the GPU was throttled."""
    name = f"{planned.key}.{index}.{attempt}"
    shown = f"{planned.experiment}: {planned.cell.stack}: {label(planned.cell)}"
    bench.progress.run_started(shown, number, planned.key)
    watch, seen = bench.watches(planned), None
    if watch:
        watch.wait_idle()
        watch.start()
    before, began = bench.readings(), bench.clock()
    running: Running | None = None
    rates: list[float] = []
    share: float | None = None
    head = {"event": "begin", "run": name, "key": planned.key, "round": index, "attempt": attempt,
            "began": datetime.now(UTC).isoformat(timespec="seconds"), "host": before.record()}
    ending = Ending("killed", "the session was interrupted")
    try:
        try:
            running = bench.launcher.start(planned.cell, bench.stacks[planned.cell.stack], bench.data, name)
        except BenchError as error:
            bench.store.append({**head, "place": None})
            ending = Ending("not_started", str(error))
        else:
            bench.store.append({**head, "place": running.place})
            ending, share = _listened(bench, planned, name, running, rates, watch)
    except DiskFull:
        ending = Ending("killed", "the disk was full")
        raise
    finally:
        seen = watch.ended() if watch else None
        found, used = _went(running, Limits().leave if ending.word == "ok" else 0.0)
        if running:
            running.stop()
        seconds = bench.clock() - began
        bench.progress.run_ended(shown, ending.word, rates[-1] if rates else None, seconds, ending.message)
        bench.store.append(_with_gpus(
            _ending_record(bench, name, _judged(ending, found), seconds, used, share), seen))
    return _judged(ending, found).word, bool(seen and seen.is_throttled)


def _with_gpus(record: dict[str, Any], seen: telemetry.Seen | None) -> dict[str, Any]:
    """An ending's record with what the GPUs did."""
    if seen is None:
        return record
    return {**record, "host": {**record["host"], **seen.readings}, "gpu": seen.record()}


class _Mark(NamedTuple):
    """The host, the clock and a worker's own CPU seconds at its "start", when the engine has done its part."""

    reading: machine.Reading
    seconds: float
    own_seconds: float | None


def _listened(bench: Bench, planned: Planned, name: str, running: Running, rates: list[float],
              watch: telemetry.Watch | None) -> tuple[Ending, float | None]:
    """Store every event until the ending; with it the share of the CPUs that others took since the worker's start."""
    began = bench.clock()
    mark: _Mark | None = None
    for heard in follow(running, limits(planned.cell, bench.stall), bench.clock, bench.is_stopping):
        if isinstance(heard, Ending):
            is_here = not running.place.get("remote")        # else others' CPUs are not the run's
            return heard, _foreign_share(bench, planned, mark, heard) if is_here else None
        if watch:
            watch.heard(heard["event"])
        if heard["event"] == "start":
            mark = _Mark(bench.readings(), bench.clock(), heard.get("cpu_seconds"))
        bench.store.append({"event": "line", "run": name, "at": round(bench.clock() - began, 3), "line": heard})
        if rate := _rate(heard, planned):
            rates.append(rate)
            bench.progress.rate(rate)
    raise AssertionError("follow always yields an Ending last")


def _foreign_share(bench: Bench, planned: Planned, mark: _Mark | None, ending: Ending) -> float | None:
    """None where nobody says what the run itself used: on many nodes servers use CPUs too."""
    own = ending.said.get("cpu_seconds")
    if mark is None or mark.own_seconds is None or own is None:
        return None
    return machine.foreign_share(mark.reading, bench.readings(), own - mark.own_seconds, bench.clock() - mark.seconds,
                                 planned.cell.cpus)


def _rate(event: dict[str, Any], planned: Planned) -> float | None:
    """Samples a second of a block, for the eye only; what is claimed is computed from the stored samples."""
    seconds = event.get("seconds") if event["event"] == "steps" else None
    if not isinstance(seconds, list) or not all(isinstance(s, int | float) for s in seconds) or sum(seconds) <= 0:
        return None
    return planned.cell.batch * int(event.get("count", len(seconds))) / sum(seconds)


def _went(running: Running | None, seconds: float) -> tuple[Exit, dict[str, Any]]:
    """How the worst of the places went, and what those that still stand have used."""
    if running is None:
        return Exit(None), {}
    used = running.used()
    exits = [running.exit(place, seconds) for place in running.reporters]
    return next((found for found in exits if found.code not in (0, None)), exits[0]), used


def _judged(ending: Ending, found: Exit) -> Ending:
    """An ok run whose process then hung or failed is told so, and still counts: the samples were whole."""
    if ending.word == "ok" and found.code not in (0, None):
        return ending._replace(message=f"exit code {found.code} after its end")
    return ending


def _ending_record(bench: Bench, name: str, ending: Ending, seconds: float, used: dict[str, Any],
                   share: float | None) -> dict[str, Any]:
    after, said = bench.readings(), ending.said
    places = {**used, **{place: _usage(end) for place, end in said.get("places", {}).items()}}
    usage = _usage(said)
    host = {**after.record(), **usage, "throttled_seconds": None, "foreign_cpu_share": share}
    return {"event": "ending", "run": name, "ending": ending.word, "message": ending.message,
            "seconds": seconds, "host": host, **({"places": places} if places else {})}


def _usage(said: dict[str, Any]) -> dict[str, Any]:
    """What a worker said it used: its own peak, its control group's with all helpers', throttled CPU periods."""
    throttling = said.get("throttling") or {}
    return {"peak_bytes": said.get("peak_bytes"), "group_peak_bytes": said.get("group_peak_bytes"),
            "periods": throttling.get("periods"), "throttled_periods": throttling.get("throttled_periods")}
