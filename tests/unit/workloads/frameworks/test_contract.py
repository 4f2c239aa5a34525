"""Every adapter has what workloads/frameworks/contract.py says: mypy reads its files, and no framework is imported."""

import importlib
import re
from pathlib import Path
from typing import get_args

import pytest
from mypy import api

from runner.stacks import definition
from workloads.frameworks import surroundings
from workloads.spec import library
from workloads.spec.frameworks import FRAMEWORKS, WITHOUT
from workloads.spec.sequence_tasks import SEQUENCES

ROOT = Path(importlib.import_module("workloads").__file__ or "").parent
ADAPTERS = (*(framework.name for framework in FRAMEWORKS), "library")
MODULES = {"": "Adapter", ".settings": "Settings", ".sequences": "SequencesModule", ".parallel": "Parallel",
           ".product": "Product", ".bare": "Bare"}


def declared(modules: dict[str, str]) -> str:
    """A file that says which Protocol of the contract each module has, and builds its workloads."""
    text = "from workloads.frameworks import contract\nfrom workloads.spec.cell import Cell\n"
    for index, (name, kind) in enumerate(modules.items()):
        module = f"workloads.frameworks.{name}"
        words = {"Adapter": "(), cell", "SequencesModule": "cell"}.get(kind)
        text += f"import {module}\n_{index}: contract.{kind} = {module}\n"
        text += f"def built_{index}(cell: Cell) -> None: {module}.Workload({words})\n" if words else ""
    return text


def objections(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What mypy has against a file, by the repository's own settings."""
    monkeypatch.chdir(ROOT.parent)
    file = tmp_path / "declared.py"
    file.write_text(text)
    return [line.partition(": ")[2] for line in api.run([str(file)])[0].splitlines()[:-1]]


def test_every_module_of_an_adapter_has_its_protocol_of_the_contract(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {f"{adapter}{name}": kind for adapter in ADAPTERS for name, kind in MODULES.items()}
    modules |= {f"{framework.name}.models.{task}": "Model" for framework in FRAMEWORKS if not framework.only_infers
                for task in SEQUENCES}
    modules |= {f"surroundings.{framework.name}": "Surroundings" for framework in FRAMEWORKS}
    modules |= {server.removeprefix("workloads.frameworks."): "Server" for framework in FRAMEWORKS
                for server in surroundings.of(framework.name).SERVERS.values()}

    assert [] == objections(declared(modules), tmp_path, monkeypatch)


def test_a_module_that_lacks_a_function_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, = objections(declared({"jax.bare": "Product"}), tmp_path, monkeypatch)

    assert 'expression has type Module, variable has type "Product"' in said


def test_nobody_asks_an_adapter_what_it_can_do() -> None:
    """hasattr and getattr with a default may ask a framework for its version's abilities, not an adapter for ours."""
    asking = re.compile(r"hasattr\((?:self\.)?(?:adapter|workload|_model|parallel)\b"
                        r"|getattr\((?:self\.)?(?:adapter|workload|_model|parallel)\b[^()]*,[^()]*,")

    assert [] == [str(path) for path in sorted(ROOT.rglob("*.py")) if asking.search(path.read_text())]


def test_a_stack_s_framework_is_of_the_table_or_a_bare_library_or_none() -> None:
    known = {framework.name for framework in FRAMEWORKS} | {*library.NAMES, WITHOUT}

    assert known == {*get_args(definition.Framework)}
