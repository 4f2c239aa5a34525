"""The house's rules: who may import whom, and what no file may say."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.launchers import table
from tests import house
from tests.house import imported, nodes
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
# where the time of day is read: moments for people, TensorFlow's own stamps inside a graph, which know no other, and
# the probe that tells how far the clocks of a Swarm's nodes lie apart
WALL_CLOCK = {"runner/measuring/equality.py": 1, "runner/measuring/job.py": 2,
              "runner/measuring/session/live_run.py": 1,
              "workloads/frameworks/tensorflow/steps_v1.py": 1, "workloads/places/swarm_probe.py": 3}
LONGEST_CHAIN = 16           # from cli.measuring to results.lines by way of session and plan; a shorter one lowers it
SEEDED = "random.Random"      # the one of that module whose numbers are not drawn anew each time
OF_THE_WALL = {"time.time", "time.localtime", "time.gmtime", "datetime.now", "datetime.utcnow", "datetime.today"}
# where a launcher's name stands for something else: the word of a record for how a run was isolated, a folder
NAMING = {"study/quantities.py": {"venv", "apptainer"}, "analysis/flags.py": {"venv"},
          "report/answer.py": {"venv", "docker"}, "paths.py": {"docker"}, "cli/compose.py": {"compose"}}
# each is imported in one place only, a file or a folder
ALONE = {"docker": "runner/stacks/engine.py", "rich": "runner/screen/", "typer": "runner/cli/",
         "pynvml": "runner/machine/nvml.py", "jinja2": "runner/report/writers/page.py"}


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py"))


HOST = [path for package in house.HOST for path in sources(package)]


def top(name: str) -> str:
    return name.split(".")[0]


@pytest.mark.parametrize("path", sources("workloads/spec") + sources("workloads/profiles"), ids=lambda path: path.name)
def test_the_spec_imports_the_standard_library_alone(path: Path) -> None:
    assert all(top(name) in STANDARD or name.startswith(("workloads.spec", "workloads.profiles"))
               for name in imported(path))


@pytest.mark.parametrize("adapter", FRAMEWORKS)
def test_an_adapter_imports_its_framework_numpy_and_what_all_share(adapter: str) -> None:
    ours = (f"workloads.{adapter.replace('/', '.')}.", *(f"{name}." for name in SHARED),
            *(("workloads.frameworks.onnx_graphs.",) if adapter in RUNTIMES else ()),
            *(("workloads.places.addresses.",) if adapter == "frameworks/surroundings" else ()))
    for path in sources(f"workloads/{adapter}"):
        for name in imported(path):
            allowed = top(name) in STANDARD | FRAMEWORKS[adapter] | {"numpy"} or f"{name}.".startswith(ours)
            assert allowed, f"{path} imports {name}"


def test_what_measures_imports_no_framework() -> None:
    shared = [path for path in sources("workloads") if path.relative_to(ROOT / "workloads").parts[0] != "frameworks"]
    for path in shared:
        foreign = {top(name) for name in imported(path)} - STANDARD - {"numpy", "workloads"}
        assert not foreign, f"{path} imports {foreign}"


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


def test_the_runner_takes_of_the_workloads_only_the_spec_and_the_reader_of_control_groups() -> None:
    for path in sources("runner"):
        names = [name for name in imported(path) if top(name) == "workloads"]
        shared = ("workloads.spec", "workloads.process.control_groups")
        assert all(name.startswith(shared) for name in names), f"{path} imports {names}"


def test_the_runner_s_rooms_import_only_lower_floors_in_no_circle_and_no_folder_is_too_full() -> None:
    imports = house.read()
    assert ([], [], []) == (house.breaks(imports), house.circle(imports), house.full(house.modules()))
    assert len(house.longest_chain(imports)) <= LONGEST_CHAIN, house.longest_chain(imports)


@pytest.mark.parametrize(("module", "target", "way"), [
    ("runner.results.runs", "runner.analysis.stats", ["upward"]),
    ("runner.analysis.summary", "runner.planning.plan", ["sideways"]),
    ("runner.paths", "runner.results.store", ["upward"]),
    ("runner.analysis.summary", "runner.results.runs", []),
    ("runner.analysis.summary", "runner.analysis.stats", []),
    ("runner.processes", "runner.errors", []),
    ("runner.__main__", "runner.cli.measuring", []),
])
def test_an_import_up_or_sideways_breaks_the_order(module: str, target: str, way: list[str]) -> None:
    assert [f"{module} -> {target}: {each}" for each in way] == house.breaks(
        {module: frozenset({target}), target: frozenset()})


def test_circles_the_longest_chain_and_full_folders_are_found() -> None:
    one_way = {"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()}
    modules = [f"runner.report.m{number}" for number in range(house.MOST_MODULES)]

    assert ([], ["a", "b", "c"]) == (house.circle(one_way), house.longest_chain(one_way))
    found = house.circle({"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("a")})
    assert "".join(found) in ("abca", "bcab", "cabc")
    assert [] == house.full(["runner.report", *modules])
    assert ["runner.report: 16 modules, at most 15"] == house.full([*modules, "runner.report.more"])


def test_imports_are_seen_in_functions_and_under_other_names(tmp_path: Path) -> None:
    (tmp_path / "runner" / "study").mkdir(parents=True)
    texts = {"errors": "", "study/__init__": "", "study/file": "import os\nfrom runner.errors import BenchError",
             "cells": "def f():\n    from runner.study import file as read\n    import runner.errors"}
    for name, text in texts.items():
        (tmp_path / "runner" / f"{name}.py").write_text(text)

    assert {"runner.errors": set(), "runner.study": set(), "runner.study.file": {"runner.errors"},
            "runner.cells": {"runner.study.file", "runner.errors"}} == house.read(tmp_path)


@pytest.mark.parametrize("package", ALONE)
def test_a_package_that_has_one_place_is_imported_there_alone(package: str) -> None:
    found = [str(path.relative_to(ROOT)) for path in HOST if package in map(top, imported(path))]
    assert found and all(path.startswith(ALONE[package]) for path in found)


def test_a_launcher_s_method_without_words_has_those_of_the_protocol() -> None:
    methods = [(path.name, method) for path in [*sources("runner/launchers"), *sources("clusters")]
               for node in nodes(path) if isinstance(node, ast.ClassDef) for method in node.body
               if isinstance(method, ast.FunctionDef) and not method.name.startswith("_")]
    bare = {method.name for _, method in methods if not ast.get_docstring(method)}
    assert bare and bare <= {method.name for name, method in methods
                             if name == "protocol.py" and ast.get_docstring(method)}


def test_no_module_of_runner_imports_clusters() -> None:
    assert [] == [path for path in sources("runner") if "clusters" in map(top, imported(path))]


def test_no_module_outside_of_their_room_knows_a_launcher_by_its_module_or_its_name() -> None:
    doors = {"choose", "protocol", "table", "watchdog"}
    for path in sources("runner"):
        place = path.relative_to(ROOT / "runner").as_posix()
        if not place.startswith("launchers/"):
            rooms = {name.split(".")[2] for name in imported(path) if name.startswith("runner.launchers.")}
            assert rooms <= doors, f"{place} imports {rooms - doors}"
        if place != "launchers/table.py":
            allowed = NAMING.get(place, set())
            known = {text for text in code_texts(path) if text in set(table.LAUNCHERS) - allowed}
            assert not known or place.startswith("launchers/") or place.split("/")[0] == "stacks", f"{place}: {known}"


def test_plans_rows_and_statistics_touch_no_world() -> None:
    pure = ("cells", "study/claims", "planning/plan", "study/published", "results/rows", "results/worker_lines",
            "results/runs", "results/lines", "results/records", "analysis/stats", "analysis/numbers",
            "analysis/flags", "analysis/summary", "analysis/claims/measured_here", "student_t", "analysis/doubts",
            "analysis/claims/judging", "analysis/between/comparing", "analysis/between/history",
            "analysis/between/regression", "study/operators", "machine/cpu_sets", "machine/gpus",
            "../clusters/swarm/manager")
    for path in (ROOT / "runner" / f"{name}.py" for name in pure):
        assert not {"os", "time", "subprocess", "socket", "secrets"} & set(map(top, imported(path))), path
        words = {*imported(path), *attributes(path)} - {SEEDED}
        assert not {word for word in words if word.startswith("random.")}, path


def test_no_deadline_and_no_sample_is_by_a_clock_that_somebody_may_set() -> None:
    found = {str(path.relative_to(ROOT)): len(seen) for path in [*HOST, *sources("workloads")]
             if (seen := [word for word in attributes(path) if word in OF_THE_WALL or word.endswith(".create_time")])}
    assert WALL_CLOCK == found


def attributes(path: Path) -> Iterator[str]:
    """What a file takes of names, as in "time.time", and of calls, as in "Process.create_time"."""
    for node in nodes(path):
        if isinstance(node, ast.Attribute):
            of = node.value.func if isinstance(node.value, ast.Call) else node.value
            yield f"{getattr(of, 'id', getattr(of, 'attr', ''))}.{node.attr}"


def test_no_registry_s_host_and_no_machine_s_path_stands_in_the_repository() -> None:
    words = ["py" + "pi.org", "python" + "hosted", "deb." + "debian", "registry." + "npm", "/wo" + "rk/",
             "/root/" + ".py"]
    found = subprocess.run(["git", "grep", "-nI", *(f"-e{word}" for word in words)], cwd=ROOT, capture_output=True,
                           text=True, check=False)
    assert "" == found.stdout


def test_no_test_takes_a_helper_from_another_file_of_tests() -> None:
    found = {str(path.relative_to(ROOT)) for path in sources("tests/unit") for name in imported(path)
             if name.startswith("tests.unit.")}
    assert set() == found


def test_unit_tests_lie_as_the_packages_do_but_those_of_the_whole_repository() -> None:
    inside = (f"workloads/{path.name}" for path in (ROOT / "workloads").iterdir() if path.is_dir())
    rooms = {"", "tools", "clusters", *inside,
             *(path.parent.relative_to(ROOT / "runner").as_posix() for path in sources("runner"))}
    tests = ROOT / "tests/unit"
    found = {path.parent.relative_to(tests).as_posix().removeprefix(".") for path in tests.rglob("test_*.py")}
    assert found <= rooms
