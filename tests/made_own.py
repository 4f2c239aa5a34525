"""Files of the user's own and environments that hold packages, as the host sees them, and what a check sends."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from runner import paths
from runner.measuring import equality, own_models
from runner.planning.plan import Plan, Wishes, plan
from runner.stacks import definition, own
from runner.stacks.definition import Stack
from tests.clock import FakeClock
from tests.fakes import MACHINE, FakeLauncher
from workloads.measuring.count_sketch import encoded
from workloads.spec.cell import Cell

PINNED = definition.read_all(paths.STACKS)


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def held(name: str, package: str = "", **packages: str) -> own.OwnStack:
    """An environment with these packages; package: what it is taken for, "python" for code without a framework."""
    installed = {"numpy": "2.4.6", **{each.replace("_", "-"): version for each, version in packages.items()}}
    inventory = own.Inventory(python="3.11.7", build="3.11.7", installed=installed,
                              frameworks={} if package else {"torch": "2.13.0"}, numpy=True)
    return own.stack(own.Asked(name, f"/envs/{name}", package=package), paths.ROOT, inventory,
                     f"/envs/{name}/bin/python", None)


def planned(*names: str, stacks: Mapping[str, Stack] = MappingProxyType({}),
            settings: Mapping[str, Any] = MappingProxyType({}), **asked: Any) -> Plan:
    """The plan of the files' lanes, in those stacks or in their own; settings: of their cells."""
    study, lanes = own_models.study(names, stacks=[*stacks.values()], **asked)
    known = {**PINNED, **stacks}
    shown = {column: own_models.shown(known[each.where], each) for column, each in lanes.items()}
    return plan(study, shown, MACHINE, Wishes(settings=settings), lambda stack: None)


def lines(kind: str = "weight", **arrays: list[float]) -> list[bytes]:
    """What a worker's check sends of one kind of arrays, and of a loss unless it only infers."""
    kinds = {**({} if kind == "inferred" else {"loss": {"loss": [1.0]}}), kind: arrays}
    tensors = [{"event": "tensor", "kind": kind, "name": name, "shape": [len(values)], "norm": 1.0,
                "sketch": encoded(np.array(values))} for kind, named in kinds.items() for name, values in named.items()]
    return [json.dumps(line).encode() for line in (*tensors, {"event": "end", "status": "ok", "message": ""})]


def proof(made: Plan, folder: Path, sent: Mapping[str, list[bytes]] | Callable[[Cell], list[bytes]]
          ) -> tuple[Plan, list[str], dict[str, str]]:
    """(the plan that is left of lanes that send these, what is said of them, the fingerprints of their stacks)."""
    told, stacks = list[str](), dict.fromkeys((each.cell.stack for each in made.cells), PINNED["torch-2.13-cpu"])
    launcher = FakeLauncher(FakeClock(), lambda cell, run: sent(cell) if callable(sent) else sent[cell.stack])
    check = equality.Check(launcher, folder, (2, 0), told.append, clock=FakeClock())
    left = own_models.prove(made, stacks, check, folder)
    return left, told, {name: launcher.fingerprint(each) for name, each in stacks.items()}
