"""Several sessions of a study as one: of what is compared the newest session that measured most of it. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from runner.cells import comparisons, lanes_key
from runner.grouping import grouped
from runner.results.lines import Facts
from runner.results.records import Experiment
from runner.results.rows import Measurements


def alike(sessions: Sequence[Measurements]) -> tuple[list[Measurements], list[str]]:
    """Those that can stand on one page with the newest, the first of them; and why each other one cannot."""
    newest, *others = sessions
    fit, unlike = [newest], []
    for each in others:
        differing = [name for name, value in _setting(each).items() if value != _setting(newest)[name]]
        if differing:
            unlike.append(f"{each.session.get('id', '')}: another {' and '.join(differing)} than the newest session's")
        else:
            fit.append(each)
    return fit, unlike


def _setting(measured: Measurements) -> dict[str, Any]:
    machine = measured.session.get("machine", {})
    return {"scale": measured.session.get("scale"), "launcher": measured.session.get("launcher"),
            "machine": [machine.get(name) for name in ("hostname", "cpu", "cpus")], "choice of stacks": measured.stacks,
            "setting": dict(measured.settings)}


def joined(sessions: Sequence[Measurements]) -> Measurements:
    """The sessions as one, the newest first, at least one; the session's own facts are the newest's.

    Ratios are of one session's pairs: each comparison is from the session where most of its stacks ended ok, of these
    the newest.
    """
    newest = sessions[0]
    chosen = _chosen(sessions)
    rows = [(row, index) for index, each in enumerate(sessions) for row in each.rows
            if chosen[lanes_key(row.cell)] == index]
    shown = [sessions[index] for index in {index for _, index in rows}] or sessions
    skips = {(skip.experiment, skip.cell): skip for each in reversed(sessions) for skip in each.skipped
             if lanes_key(skip.cell) not in chosen or skip in sessions[chosen[lanes_key(skip.cell)]].skipped}
    compared = comparisons([*(row.cell for row, _ in rows), *(skip.cell for skip in skips.values())])
    return replace(
        newest, rounds=max(each.rounds for each in shown),
        rows=tuple(replace(row, comparison=compared[row.cell]) for row, _ in rows),
        skipped=tuple(replace(skip, comparison=compared[skip.cell]) for skip in skips.values()),
        published=_by_id(record for each in sessions for record in each.published),
        claims=_by_id(record for each in sessions for record in each.claims),
        index=next((each.index for each in sessions if each.index), ()),       # which a rerun of one cell has not
        is_done=all(each.is_done for each in shown),
        interrupted=frozenset(row.key for row, index in rows if row.key in sessions[index].interrupted),
        experiments=_experiments(sessions, {row.key for row, _ in rows}),
        products=tuple(product for each in sessions for product in each.products),
        sessions={row.key: sessions[index].session_of(row.key) for row, index in rows})


def _chosen(sessions: Sequence[Measurements]) -> dict[str, int]:
    """The session, by its index, that each comparison is taken from."""
    ended: dict[str, Counter[int]] = {}
    for index, row in ((index, row) for index, each in enumerate(sessions) for row in each.rows):
        ended.setdefault(lanes_key(row.cell), Counter())[index] += bool(row.ok_runs)
    return {name: max(counts, key=lambda index: (counts[index], -index)) for name, counts in ended.items()}


def _by_id(records: Iterable[Facts]) -> tuple[Facts, ...]:
    """Each record once, as the newest session has it."""
    return tuple(alike[0] for alike in grouped(records, lambda record: record.get("id")).values())


def _experiments(sessions: Sequence[Measurements], keys: set[str]) -> tuple[Experiment, ...]:
    """All experiments, in the order of the session that has most of them, with the cells that are shown."""
    fullest_first = sorted(sessions, key=lambda each: -len(each.experiments))
    found = grouped((one for each in fullest_first for one in each.experiments), lambda one: one.id)
    of_each = {name: list(dict.fromkeys(key for each in sessions for one in each.experiments if one.id == name
                                         for key in one.cells if key in keys)) for name in found}
    return tuple(alike[0].model_copy(update={"cells": of_each[name]}) for name, alike in found.items())
