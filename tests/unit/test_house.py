"""What no file may say, and the house's rules that `lint-imports` and ruff, in pyproject.toml, have no words for."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from runner.launchers import table
from workloads.spec.frameworks import FRAMEWORKS as FRAMEWORK_TABLE

ROOT = Path(__file__).parents[2]
STANDARD = sys.stdlib_module_names
FRAMEWORKS = {"frameworks/pytorch": {"torch"},
              "frameworks/tensorflow": {"tensorflow", "horovod"}, "frameworks/mxnet": {"mxnet"},
              "frameworks/jax": {"jax", "jaxlib"},
              "frameworks/onnx_graphs": {"onnx"}, "frameworks/onnxruntime": {"onnxruntime"},
              "frameworks/openvino": {"openvino"},
              "frameworks/servers": {"mxnet", "horovod"},
              "frameworks/numpy": set(), "frameworks/library": set(), "frameworks/surroundings": set()}
RUNTIMES = ("frameworks/onnxruntime", "frameworks/openvino")        # they share the graphs that they run
# of workloads/, what every adapter may import
SHARED = ("workloads.spec", "workloads.profiles", "workloads.frameworks.contract", "workloads.frameworks.forward_pass",
          "workloads.frameworks.peers", "workloads.frameworks.surroundings", "workloads.process.errors",
          "workloads.process.processor",
          "workloads.inputs.images", "workloads.inputs.loading", "workloads.inputs.lstm_vector",
          "workloads.inputs.passes", "workloads.inputs.records")
# of workloads/: where frameworks' names are data, and the formats of their profilers
TABLES = {"spec/frameworks.py", "spec/cluster.py", "spec/models/lstm_kernels.py", "spec/models/own_model.py",
          "spec/refusals.py", "spec/switches.py", "profiles/traces.py"}
# where a launcher's name stands for something else: the word of a record for how a run was isolated, a folder
NAMING = {"study/quantities.py": {"venv", "apptainer"}, "analysis/flags.py": {"venv"},
          "report/answer.py": {"venv", "docker"}, "paths.py": {"docker"}}
# what commands in messages name that needs no quotes: stacks' and studies' names, versions, modules of ours, numbers
PLAIN = {"stack.name", "name", "made.study.id", "self.base.image", "python", "INVENTORY", "DEVICES", "manifest.NAME",
         "kind", "one"}
QUOTED = {"install", "command", "command(name)"}                        # made by shlex.join


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported(path: Path) -> Iterator[str]:
    """The names that a file imports, with dots; `from a import b` counts as a.b."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("adapter", FRAMEWORKS)
def test_an_adapter_imports_its_framework_numpy_and_what_all_share(adapter: str) -> None:
    ours = (f"workloads.{adapter.replace('/', '.')}.", *(f"{name}." for name in SHARED),
            *(("workloads.frameworks.onnx_graphs.",) if adapter in RUNTIMES else ()),
            *(("workloads.places.addresses.",) if adapter == "frameworks/surroundings" else ()))
    for path in sources(f"workloads/{adapter}"):
        for name in imported(path):
            allowed = name.split(".")[0] in STANDARD | FRAMEWORKS[adapter] | {"numpy"} or f"{name}.".startswith(ours)
            assert allowed, f"{path} imports {name}"


def test_outside_of_adapters_only_tables_name_frameworks() -> None:
    words = {word for framework in FRAMEWORK_TABLE for word in (framework.name, framework.package)}
    names = re.compile("|".join(words))
    naming = {str(path.relative_to(ROOT / "workloads")) for path in sources("workloads")
              if any(names.search(text) for text in code_texts(path))}

    assert {name for name in naming if not name.startswith("frameworks/")} == TABLES


def code_texts(path: Path) -> Iterator[str]:
    """The names and texts of a file's code, without docstrings and comments."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {id(node.body[0].value) for node in nodes(path) if isinstance(node, documented) and node.body
                  and isinstance(node.body[0], ast.Expr)}
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
        elif isinstance(node, ast.Name | ast.Attribute | ast.FunctionDef | ast.alias):
            yield getattr(node, "id", "") or getattr(node, "attr", "") or getattr(node, "name", "")


def test_every_room_of_the_host_side_has_one_of_at_most_ten_floors() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    floors = next(each["layers"] for each in contracts if each["type"] == "layers")
    rooms = {f"runner.{path.stem}" for path in (ROOT / "runner").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert len(floors) <= 10
    assert {*re.findall(r"[\w.]+", " ".join(floors))} == {*rooms} - {
        "runner.__init__", "runner.__main__", "runner.__pycache__"}


def test_no_folder_has_more_than_fifteen_modules() -> None:
    found = Counter(path.parent for package in ("runner", "workloads") for path in sources(package)
                    if path.name != "__init__.py")
    assert 15 >= max(found.values()), found.most_common(1)


def test_a_launcher_s_method_without_words_has_those_of_the_protocol() -> None:
    methods = [(path.name, method) for path in sources("runner/launchers")
               for node in nodes(path) if isinstance(node, ast.ClassDef) for method in node.body
               if isinstance(method, ast.FunctionDef) and not method.name.startswith("_")]
    bare = {method.name for _, method in methods if not ast.get_docstring(method)}
    assert bare and bare <= {method.name for name, method in methods
                             if name == "protocol.py" and ast.get_docstring(method)}


def test_no_module_outside_of_their_room_knows_a_launcher_by_its_module_or_its_name() -> None:
    doors = {"choose", "rank", "protocol", "table", "watchdog"}
    for path in sources("runner"):
        place = path.relative_to(ROOT / "runner").as_posix()
        if not place.startswith("launchers/"):
            rooms = {name.split(".")[2] for name in imported(path) if name.startswith("runner.launchers.")}
            assert rooms <= doors, f"{place} imports {rooms - doors}"
        if place != "launchers/table.py":
            allowed = NAMING.get(place, set())
            names = set(table.LAUNCHERS) - allowed - {"inside"}       # a word
            known = names.intersection(code_texts(path))
            assert not known or place.startswith("launchers/") or place.split("/")[0] == "stacks", f"{place}: {known}"


def test_no_registry_s_host_and_no_machine_s_path_stands_in_the_repository() -> None:
    words = ["py" + "pi.org", "python" + "hosted", "deb." + "debian", "registry." + "npm", "/wo" + "rk/",
             "/root/" + ".py"]
    found = subprocess.run(["git", "grep", "-nI", *(f"-e{word}" for word in words)], cwd=ROOT, capture_output=True,
                           text=True, check=False)
    assert "" == found.stdout


def test_what_a_command_in_a_message_names_is_quoted_for_a_shell() -> None:
    for path in sources("runner"):
        for node in nodes(path):
            ticks = 0
            for part in node.values if isinstance(node, ast.JoinedStr) else ():
                if isinstance(part, ast.Constant):
                    ticks += str(part.value).count("`")
                elif isinstance(part, ast.FormattedValue) and ticks % 2:
                    text = ast.unparse(part.value)
                    assert text in PLAIN | QUOTED or text.startswith("shlex.quote("), f"{path}: {text} in a command"


def test_no_test_takes_a_helper_from_another_file_of_tests() -> None:
    found = {str(path.relative_to(ROOT)) for path in sources("tests/unit") for name in imported(path)
             if name.startswith("tests.unit.")}
    assert set() == found


def test_unit_tests_lie_as_the_packages_do_but_those_of_the_whole_repository() -> None:
    inside = (f"workloads/{path.name}" for path in (ROOT / "workloads").iterdir() if path.is_dir())
    rooms = {"", "tools", *inside,
             *(path.parent.relative_to(ROOT / "runner").as_posix() for path in sources("runner"))}
    tests = ROOT / "tests/unit"
    found = {path.parent.relative_to(tests).as_posix().removeprefix(".") for path in tests.rglob("test_*.py")}
    assert found <= rooms
