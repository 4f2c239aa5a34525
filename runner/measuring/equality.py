"""Whether stacks compute the same: one update from the same weights and batch, compared array by array.

runner/analysis/agreement.py compares; here runs are made and verdicts kept.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from runner import formatting, paths
from runner.analysis.agreement import ALIKE, BATCH, NATIVE, Sent, Verdict, check_cell, compare, sent, verdict_of
from runner.cells import built, model_name
from runner.errors import BenchError, InputError
from runner.grouping import grouped
from runner.launchers import watchdog
from runner.launchers.protocol import Launcher
from runner.launchers.watchdog import Ending, Limits, followed
from runner.machine import host
from runner.measuring import at_once
from runner.results import store
from runner.results.rows import Measurements
from runner.stacks.definition import Stack
from workloads.spec.cell import Cell, switched

VERDICTS = "checks.jsonl"
NODES = 3
_VERDICT = TypeAdapter(Verdict)
_MEMORY_OF_ONE = 8 * 2**30          # of a machine that runs two checks at once: VGG16's, in float64, is the largest


class Check(NamedTuple):
    """How tasks are checked."""

    launcher: Launcher
    data: Path
    resources: tuple[int, int]       # CPUs and bytes of memory
    say: Callable[[str], None]
    precision: str = "float64"
    loop: str = NATIVE
    is_parallel: bool = False        # three workers' update against one worker's on the whole batch
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def by(cls, launcher: Launcher, data: Path, say: Callable[[str], None], **how: Any) -> "Check":
        """With cells as large as where the launcher places runs, which may be smaller than this machine."""
        here = launcher.machine(host.observe())
        return cls(launcher, data, (here.cpus, here.limit_bytes), say, **how)

    def kept(self, names: list[str], stacks: list[Stack], results: Path) -> list[Verdict]:
        """The verdicts, kept in the results. Raises InputError."""
        verdicts = (run_parallel if self.is_parallel else run)(names, stacks, self)
        keep(verdicts, {each.name: self.launcher.fingerprint(each) for each in stacks}, results)
        return verdicts

    def cell(self, task: str, stack: Stack, loop: str = NATIVE) -> Cell:
        """The cell that checks a task in a stack."""
        return check_cell(task, stack.name, self.precision, *self.resources, loop)

    def _ran(self, cell: Cell, stack: Stack) -> tuple[list[dict[str, Any]], Ending]:
        """The events of the cell's run, and its ending. Raises BenchError."""
        running = self.launcher.start(cell, stack, self.data, f"check-{cell.task}-{stack.name}.0.1")
        stall = Limits().stall * self.launcher.checks_at_once        # while it shares the CPUs with others
        return followed(running, watchdog.limits(cell, stall), self.clock)

    def sent(self, cell: Cell, stack: Stack) -> dict[str, Sent] | Ending:
        """What each place of the cell's run sent, or its ending where that is not ok."""
        try:
            events, ending = self._ran(cell, stack)
        except BenchError as error:
            return Ending("not_started", str(error))
        return sent(events) if ending.word == "ok" else ending

    def loaded(self, cell: Cell, stack: Stack) -> set[str]:
        """The top names of what a check of a user's own file imports. Raises BenchError where it did not end well."""
        events, ending = self._ran(cell, stack)
        if ending.word != "ok":
            raise BenchError(f"{stack.name}: {ending.word}: {ending.message}")
        return {str(name) for event in events if event["event"] == "loaded" for name in event["modules"]}

    def of_one(self, cell: Cell, stack: Stack) -> Sent | Ending:
        """What the one place of a cell sent."""
        by_place = self.sent(cell, stack)
        return by_place if isinstance(by_place, Ending) else by_place.get("", {})


def run(names: list[str], stacks: list[Stack], check: Check) -> list[Verdict]:
    """Check every task in every stack against the first one that can run it.

    Another loop than the native one is checked against the first stack's native one; where none runs, none passes.
    """
    native = {} if check.loop == NATIVE else {task: _native(task, stacks, check) for task in names}

    def checked(of: tuple[str, Stack]) -> Sent | Ending:
        task, stack = of
        if isinstance(native.get(task), str):
            return {}
        check.say(f"check: {task} in {stack.name}" + ("" if check.loop == NATIVE else f", loop {check.loop}"))
        return check.of_one(check.cell(task, stack, check.loop), stack)

    at_a_time = max(1, min(check.launcher.checks_at_once, check.resources[1] // _MEMORY_OF_ONE))
    sent_by = iter(at_once.each(at_a_time, checked, itertools.product(names, stacks)))
    verdicts = []
    for task in names:
        reference = native.get(task)
        for stack in stacks:
            cell, arrays = check.cell(task, stack, check.loop), next(sent_by)
            if isinstance(reference, str):
                verdicts.append(verdict_of(cell, stack, stack, {}, problem=reference))
            elif reference is not None:
                verdicts.append(compare(cell, arrays, reference[1], stack, reference[0]))
            elif isinstance(arrays, dict):
                reference = (stack, arrays)
            else:
                verdicts.append(compare(cell, arrays, arrays, stack, stack))
    return verdicts


def _native(task: str, stacks: list[Stack], check: Check) -> tuple[Stack, Sent] | str:
    """The first stack that can run the task in its native loop, with what it sent; why there is none."""
    reasons = []
    for stack in stacks:
        if isinstance(arrays := check.of_one(check.cell(task, stack), stack), dict):
            return stack, arrays
        reasons.append(f"{stack.name}: {arrays.word}: {arrays.message}")
    return f"no stack ran the native loop to compare with: {'; '.join(reasons)}"


def run_parallel(names: list[str], stacks: list[Stack], check: Check) -> list[Verdict]:
    """Check every task in every stack's synchronous mode: each of three workers against one on the whole batch.

    Tasks without batch normalisation alone can agree, as each worker normalises its own part of the batch.
    """
    verdicts = []
    for task in names:
        for stack in stacks:
            check.say(f"check: {task} in {stack.name}, {NODES} workers")
            one = check.cell(task, stack)._replace(optimizer="sgd", weight_decay=0.0)
            whole = check.of_one(one._replace(batch=NODES * BATCH), stack)
            many = one._replace(nodes=NODES, parallel=stack.mode("sync"), cpus=1)
            verdicts.append(_compare_parallel(many, check.sent(many, stack), whole, stack))
    return verdicts


def _compare_parallel(cell: Cell, parts: dict[str, Sent] | Ending, whole: Sent | Ending, stack: Stack) -> Verdict:
    """The verdict on the worst of the workers, by what all must have alike: the rest is of their own samples."""
    if isinstance(parts, Ending) or isinstance(whole, Ending):
        ending = parts if isinstance(parts, Ending) else whole
        verdict = compare(cell, ending, ending, stack, stack)
    else:
        alike = [{kind: arrays for kind, arrays in part.items() if kind in ALIKE} for part in (whole, *parts.values())]
        verdict = max((compare(cell, part, alike[0], stack, stack) for part in alike[1:]),
                      key=lambda each: (not each.passed, *each.worst.values()))
        if len(parts) != NODES:
            sent = formatting.count(len(parts), "worker")
            verdict = verdict._replace(problem=f"{sent} sent arrays, expected {NODES}")
    return verdict._replace(parallel=cell.parallel)


def keep(verdicts: list[Verdict], fingerprints: dict[str, str], results: Path) -> None:
    """Append the verdicts to results/checks.jsonl, each with what both stacks were made of."""
    results.mkdir(parents=True, exist_ok=True)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    path = results / VERDICTS
    if path.is_symlink():
        raise InputError(f"{path}: it is a link, and nothing is written through links: remove it")
    with paths.writing(path), open(path, "a", opener=paths.not_through_links) as file:
        for verdict in verdicts:
            record = {"schema": store.SCHEMA, "when": when, **verdict._asdict(), "passed": verdict.passed,
                      "fingerprint": fingerprints[verdict.stack],
                      "reference_fingerprint": fingerprints[verdict.reference]}
            file.write(json.dumps(record) + "\n")


def of_switches(pairs: Sequence[tuple[Cell, Cell, Stack]], check: Check, results: Path,
                is_late: Callable[[], bool] = lambda: False) -> dict[str, Verdict]:
    """By stack the verdict in float32 on each row with a switch, against the same without; kept, and made once.

    pairs: the row with the switch, as a stack of another name, the row without, and what both run in; until it is late.
    """
    known = {(each.task, each.stack, each.reference, *made_of): each for each, made_of in _kept(results)}
    plain: dict[Cell, Sent | Ending] = {}
    found = {}
    for cell, row, stack in pairs:
        both = [stack.model_copy(update={"name": each.stack}) for each in (cell, row)]
        prints = {each.name: check.launcher.fingerprint(stack) for each in both}
        ours, theirs = (_check_of_row(each) for each in (cell, row))
        pair = (model_name(ours), cell.stack, row.stack, prints[cell.stack], prints[row.stack])
        if pair not in known:
            if is_late():
                break
            check.say(f"check: {row.task} in {cell.stack}")
            if theirs not in plain:
                plain[theirs] = check.of_one(theirs, stack)
            loop = switched(cell).loop                     # whose activations may be none
            known[pair] = compare(theirs._replace(loop=loop), check.of_one(ours, stack), plain[theirs], *both)
            keep([known[pair]], prints, results)
        found[cell.stack] = known[pair]
    return found


def of_code(results: Path, task: str, fingerprints: dict[str, str]) -> list[Verdict]:
    """The last verdict on each pair of stacks, as they are made now, that ran a user's code (cells.model_name)."""
    return list({(each.stack, each.reference): each for each, made_of in _kept(results) if each.task == task
                 and each.is_own and made_of == _made_of(each, fingerprints)}.values())


def _made_of(verdict: Verdict, fingerprints: dict[str, str]) -> tuple[str | None, ...]:
    return fingerprints.get(verdict.stack), fingerprints.get(verdict.reference)


def _check_of_row(cell: Cell) -> Cell:
    """The cell that checks what a row computes."""
    if cell.source:
        return cell._replace(measure="check", warmup=0, warm="fixed", seconds=0.0, precision="float32")
    return check_cell(cell.task, cell.stack, "float32", cell.cpus, cell.memory_bytes, cell.loop)._replace(
        device=cell.device, gpus=cell.gpus, switches=cell.switches)


def _kept(results: Path) -> Iterator[tuple[Verdict, tuple[str, str]]]:
    """The kept verdicts, each with the fingerprints of its stack and its reference; other lines prove nothing."""
    path = results / VERDICTS
    for line in path.read_text(errors="replace").splitlines() if path.is_file() else ():
        with suppress(ValueError, LookupError, TypeError, RecursionError):
            record = json.loads(line)
            told = {name: record[name] for name in Verdict._fields if name in record}
            made_of = str(record["fingerprint"]), str(record["reference_fingerprint"])
            yield _VERDICT.validate_python(told, strict=True), made_of


def proved(results: Path, fingerprints: dict[str, str]) -> dict[tuple[str, str], bool]:
    """Whether (task, stack), as built() names it, is shown to be the same model as the others; False: a check failed.

    Of what the stacks are made of now the last verdict of a pair counts, in each precision. Stacks that passed pairs
    link are the same; of several such groups that is the largest. A stack that only infers passes in float32, and
    another loop than the native one by itself: both are in their reference's group and link no two.
    """
    last: dict[tuple[str, frozenset[str], str, str], Verdict] = {}
    for each, made_of in _kept(results):
        if each.proves and not each.parallel and made_of == _made_of(each, fingerprints):
            last[each.task, frozenset(_names(each)), each.loop, each.precision] = each
    found: dict[tuple[str, str], bool] = {}
    for task, of_task in grouped(last.values(), lambda each: each.task).items():
        failed = {frozenset(_names(each)) for each in of_task if not each.passed}
        passed = [each for each in of_task if frozenset(_names(each)) not in failed]
        linked = {name: {name} for name in fingerprints}
        for each in passed:
            if not each.loop and (each.precision == "float64" or each.is_own):
                both = linked[each.stack] | linked[each.reference]
                linked.update(dict.fromkeys(both, both))
        groups = ([each for each in passed if each.reference in names] for names in linked.values())
        equal = max(({name for each in group for name in _names(each)} for group in groups
                     if any(each.stack != each.reference for each in group)), key=len, default=set())
        found |= {(task, name): name in equal for name in {*equal}.union(*failed)}
    return found


def proved_in(measured: Measurements, results: Path) -> dict[tuple[str, str], bool]:
    """What proved() says of rows of several sessions: of (task, stack) as it was made in every one that ran it."""
    told: dict[tuple[str, str], list[bool | None]] = {}
    for rows in grouped(measured.rows, lambda row: measured.session_of(row.key)).values():
        known = proved(results, {**measured.made_of(), **replace(measured, rows=tuple(rows)).made_of()})
        for name in {(model_name(row.cell), built(row.cell.stack, row.cell.loop)) for row in rows if row.runs}:
            told.setdefault(name, []).append(known.get(name))
    return {name: all(each) for name, each in told.items() if None not in each or False in each}


def _names(verdict: Verdict) -> tuple[str, str]:
    """What a verdict holds against each other, as built() names it."""
    return built(verdict.stack, verdict.loop), verdict.reference
