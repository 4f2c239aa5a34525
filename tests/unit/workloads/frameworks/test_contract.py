"""Every adapter has what workloads/frameworks/contract.py says, read from its files without importing its framework."""

import ast
import importlib
import inspect
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from runner.stacks import definition
from tests import adapters
from workloads.frameworks import contract, surroundings
from workloads.spec import library
from workloads.spec.frameworks import FRAMEWORKS
from workloads.spec.sequence_tasks import SEQUENCES

ADAPTERS = (*(framework.name for framework in FRAMEWORKS), "library")
SHARED = "workloads.frameworks.contract"
# models that an adapter has no file for: the framework has no operators for them
LACKING: dict[str, tuple[str, ...]] = {}
KINDS = {"": "Images", "sequences": "Sequences"}


class Asked(NamedTuple):
    """A method that a class of the contract has."""

    name: str
    parameters: tuple[str, ...]
    has_default: bool


def methods(kind: str) -> list[Asked]:
    """What a workload of that class of the contract has."""
    members = inspect.getmembers(getattr(contract, kind), inspect.isfunction)
    return [Asked(name, tuple(inspect.signature(method).parameters)[1:],
                  "NotImplementedError" not in inspect.getsource(method)) for name, method in members]


every_adapter = pytest.mark.parametrize("adapter", ADAPTERS)
every_kind = pytest.mark.parametrize("module", KINDS)


@every_adapter
@pytest.mark.parametrize("module", contract.MODULES, ids=lambda module: module.name or "__init__")
def test_an_adapter_s_modules_have_the_functions_of_the_contract(adapter: str, module: contract.Module) -> None:
    read = adapters.Module.of(f"workloads.frameworks.{adapter}", module.name)

    assert [] == [name for name in module.constants if read.lookup(name) is None]
    for function in module.functions:
        assert adapters.takes(read.parameters(function.name), function.parameters), (
            f"{read.name}.{function.name}: found {read.parameters(function.name)}, expected {function.parameters}")


@every_adapter
@every_kind
def test_an_adapter_s_workloads_have_the_methods_of_the_contract(adapter: str, module: str) -> None:
    for workload in adapters.Module.of(f"workloads.frameworks.{adapter}", module).classes("Workload"):
        if workload.is_refusal():
            continue
        for asked in methods(KINDS[module]):
            own = workload.method(asked.name, without=SHARED)
            assert own is not None or asked.has_default, f"{workload.name} has no {asked.name}"


@every_adapter
@every_kind
def test_an_adapter_s_workloads_are_of_the_contract_s_class(adapter: str, module: str) -> None:
    for workload in adapters.Module.of(f"workloads.frameworks.{adapter}", module).classes("Workload"):
        assert f"{SHARED}.{KINDS[module]}" in [each.name for each in workload.order()]


@every_adapter
@every_kind
def test_a_workload_says_what_the_cell_s_switches_became(adapter: str, module: str) -> None:
    for workload in adapters.Module.of(f"workloads.frameworks.{adapter}", module).classes("Workload"):
        assert workload.is_refusal() or set(contract.ATTRIBUTES) <= workload.attributes()


@every_adapter
def test_wherever_a_method_of_the_contract_stands_it_takes_the_same(adapter: str) -> None:
    asked = {method.name: method.parameters for kind in KINDS.values() for method in methods(kind)}
    both = {"batches": (("images", "labels"), ("batches",)), "synthetic": (("images", "labels"), ("batches",)),
            "check": (("images", "labels"), ("batch",))}
    for workload in adapters.workloads(f"workloads.frameworks.{adapter}", SHARED):
        for name, parameters in workload.own_methods().items():
            expected = both.get(name, (asked.get(name),))
            if expected != (None,):
                assert any(adapters.takes(parameters, each or ()) for each in expected), (
                    f"{workload.name}.{name}: found {parameters}, expected {expected}")


@pytest.mark.parametrize("adapter", [framework.name for framework in FRAMEWORKS if not framework.only_infers])
@pytest.mark.parametrize("task", SEQUENCES)
def test_an_adapter_has_every_model_with_the_functions_of_the_contract(adapter: str, task: str) -> None:
    if task in LACKING.get(adapter, ()):
        return
    model = adapters.Module.of(f"workloads.frameworks.{adapter}.{adapters.MODELS}", task)
    for function in contract.MODEL:
        parameters = model.parameters(function.name)
        # what forward gave has another name in each model
        names = tuple(parameters[:1] if name == "said" else (name,) for name in function.parameters)
        assert parameters == tuple(name for each in names for name in each), f"{model.name}.{function.name}"


@pytest.mark.parametrize("framework", [framework.name for framework in FRAMEWORKS])
def test_the_surroundings_of_a_framework_have_the_functions_of_the_contract(framework: str) -> None:
    module = surroundings.of(framework)

    assert {} == {function.name: inspect.signature(getattr(module, function.name))
                  for function in contract.SURROUNDINGS.functions[:-1]
                  if tuple(inspect.signature(getattr(module, function.name)).parameters) != function.parameters}
    assert 1 == len(inspect.signature(module.gpu_code).parameters)          # the framework, by its own name
    assert all(hasattr(module, name) for name in contract.SURROUNDINGS.constants)


@pytest.mark.parametrize("framework", [framework.name for framework in FRAMEWORKS])
def test_what_serves_a_role_is_there(framework: str) -> None:
    for module in set(surroundings.of(framework).SERVERS.values()):
        read = adapters.Module.of(*module.rsplit(".", 1))
        assert ("role", "cell", "cluster") == read.parameters("serve")


def test_nobody_asks_an_adapter_what_it_can_do() -> None:
    """hasattr and getattr with a default may ask a framework for its version's abilities, not an adapter for ours."""
    root = Path(importlib.import_module("workloads").__file__ or "").parent
    asking = [f"{path.relative_to(root)}:{node.lineno}" for path in sorted(root.rglob("*.py"))
              for node in ast.walk(ast.parse(path.read_text())) if adapters.asks_an_adapter(node)]

    assert [] == asking


def test_a_class_is_read_with_its_bases_in_python_s_order(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("class A:\n    def f(self, x): pass\n\nclass B(A):\n    g = 1\n")
    (tmp_path / "two.py").write_text(
        "from one import B\nimport other\n\nclass M:\n    def g(self): pass\n\nclass C(M, B, other.D):\n"
        "    def __init__(self):\n        self.h = 1\n\nE = C if B else M\n")
    read = adapters.Module(tmp_path / "two.py", "two", tmp_path)
    first, second = read.classes("E")

    assert ["two.C", "two.M", "one.B", "one.A", "other.D"] == [each.name for each in first.order()]
    assert ("x",) == first.method("f") and first.method("f", without="one") is None
    assert {"g", "h"} == first.attributes() and ["two.M"] == [each.name for each in second.order()]


@pytest.mark.parametrize(("parameters", "is_right"), [
    (("cell",), True), (("cell", "store="), True), (("*batch",), True), (("cells",), False), ((), False),
    (("cell", "store"), False), (None, False)])
def test_further_parameters_need_defaults(parameters: tuple[str, ...] | None, is_right: bool) -> None:
    assert is_right == adapters.takes(parameters, ("cell",))


def test_a_stack_s_framework_is_of_the_table_or_a_bare_library() -> None:
    known = {framework.name for framework in FRAMEWORKS} | {*library.NAMES}

    assert known == {*get_args(definition.Framework)}


def test_the_reference_has_what_the_adapters_are_compared_with() -> None:
    workload, = adapters.Module.of("workloads.frameworks.numpy", "").classes("Workload")

    assert [] == [function.name for function in contract.REFERENCE
                  if not _is_callable_with(workload.method(function.name), function.parameters)]


def _is_callable_with(parameters: tuple[str, ...] | None, expected: tuple[str, ...]) -> bool:
    return parameters is not None and expected == tuple(name.removesuffix("=") for name in parameters)
