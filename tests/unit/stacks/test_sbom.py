"""Bills of materials: what is said of each package, and that the file is what its format's own validator takes."""

import json
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from runner.cli.preparing import held
from runner.errors import BenchError, InputError
from runner.stacks import sbom
from runner.stacks.sbom import Environment, Package
from tests.fakes import FakeLauncher
from tests.stack_folder import DIGEST, small_stack
from workloads.process import inventory

HEADERS = {
    "torch": "Name: torch\nVersion: 9.0\nLicense: BSD-3-Clause",
    "future": "Name: Future_Things\nVersion: 1.0\nLicense-Expression: MIT OR Apache-2.0\nLicense: other",
    "old": "Name: old\nVersion: 2\nLicense: UNKNOWN\nClassifier: License :: OSI Approved :: BSD License\n"
           "Classifier: License :: OSI Approved\nClassifier: Topic :: Software",
    "long": "Name: long\nVersion: 3\nLicense: " + "a whole text of many words " * 9,
    "silent": "Name: silent\nVersion: 4",
}


def answer(**values: object) -> bytes:
    usual = {"python": "3.11.2", "packages": list(HEADERS.values()), "system": [["libc6", "2.36-9+deb12u4"]]}
    return json.dumps({**usual, **values}).encode()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return sbom.read(answer(), small_stack(tmp_path), "docker", is_image=True)


def test_each_package_has_its_version_its_licence_and_the_hash_of_the_lock_s_version(environment: Environment,
                                                                                     tmp_path: Path) -> None:
    assert environment.packages == (
        Package("torch", "9.0", ("BSD-3-Clause",), (DIGEST,)),
        Package("future-things", "1.0", ("MIT OR Apache-2.0",), ()),
        Package("old", "2", ("BSD License",), ()), Package("long", "3", (), ()), Package("silent", "4", (), ()))
    other = sbom.read(answer(packages=["Name: torch\nVersion: 9.1"]), small_stack(tmp_path), "docker")
    assert () == other.packages[0].sha256 and "no" == other.packages[0].row()["locked"]


def test_the_file_is_valid_and_says_whose_it_is(environment: Environment) -> None:
    text = sbom.cyclonedx(environment)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    document = json.loads(text)
    component = document["metadata"]["component"]
    assert ("torch-9", "container") == (component["name"], component["type"])
    parts = {part["name"]: part for part in document["components"]}
    assert [{"alg": "SHA-256", "content": DIGEST}] == parts["torch"]["hashes"]
    assert [{"license": {"id": "BSD-3-Clause"}}] == parts["torch"]["licenses"]
    assert [{"expression": "MIT OR Apache-2.0"}] == parts["future-things"]["licenses"]
    assert "pkg:deb/" + "debian/libc6@2.36-9%2Bdeb12u4" == parts["libc6"]["purl"]     # apart: no mirror's address


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"python": 1, "packages": [1], "system": []}', b"[" * 9999])
def test_an_environment_that_tells_something_else_is_refused(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(BenchError, match="torch-9: its environment did not tell"):
        sbom.read(text, small_stack(tmp_path), "docker")


def test_a_launcher_that_has_no_environment_at_hand_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sbom: found launcher fake, expected docker or venv"):
        held(small_stack(tmp_path), FakeLauncher(None), print)


def test_the_environment_tells_the_header_of_each_package_once(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, name, text in ((first, "a-1.dist-info/METADATA", "Name: a\nVersion: 1\n\nIts description: long\n"),
                               (first, "b.egg-info", "Name: b\nVersion: 2\n"), (first, "c.py", ""),
                               (second, "a-9.dist-info/METADATA", "Name: a\nVersion: 9\n"),
                               (second, "d.egg-info/PKG-INFO", "Name: d\nVersion: 4\n")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    headers = inventory.headers([str(first), str(tmp_path / "no such"), str(second)])
    assert ["Name: a\nVersion: 1", "Name: b\nVersion: 2\n", "Name: d\nVersion: 4\n"] == headers


def test_the_system_tells_what_is_installed_and_not_what_was(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Package: libc6\nStatus: install ok installed\nVersion: 2.36\nDescription: C\n more: of it\n\n"
                      "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n")
    assert [["libc6", "2.36"]] == inventory.system(str(status))
    assert [] == inventory.system(str(tmp_path / "none"))
