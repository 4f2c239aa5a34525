"""Environments mixed of two: which packages differ, which are bound, and that files are linked as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

from runner.errors import InputError
from runner.stacks import mixing, package_sources
from runner.stacks.mixing import Environment, Package
from tests import own_environment
from tests.made_files import files, program
from tests.made_wheel import MINOR, lock_of_wheel


def package(name: str, version: str, *needs: tuple[str, str], content: str = "") -> Package:
    return Package(name, version, Path("/site"), (f"{name}/__init__.py",), frozenset([content or version]), needs)


def environment(*packages: Package) -> Environment:
    return Environment(Path("/envs/bin/python"), "3.11.7", {each.name: each for each in packages})


@pytest.mark.parametrize(("version", "specifiers", "is_one"), [
    ("2.3.5", ">=2.0,<3", True), ("2.3.5", ">=2.4", False), ("0.8.1", "<=0.8.1,>=0.8.1", True), ("1.10", ">1.9", True),
    ("1.4.2", "~=1.4", True), ("2.0", "~=1.4", False), ("1.4.2", "~=1.4.0", True), ("1.5", "~=1.4.0", False),
    ("2.13.0+cpu", "==2.13.0", True), ("1.0", "==1.0.0", True), ("1.2.3", "==1.2.*", True), ("1.3", "!=1.3.*", False),
    ("2.0rc1", "<2.0", False), ("2.0.post1", ">2.0", False),
    ("2.0.post1", ">=2.0", True), ("of today", ">=2.0", True), ("1.0", "", True), ("1.0", "===1.0", True)])
def test_a_version_is_held_against_a_requirement_s_specifiers(version: str, specifiers: str, is_one: bool) -> None:
    assert is_one is mixing.satisfies(version, specifiers)


@pytest.mark.parametrize(("old", "new", "between"), [
    ("1.0", "2.0+cpu", ["1.4", "1.5", "2.0rc1"]), ("2.0", "1.0", ["2.0rc1", "1.5", "1.4"]), ("1.5", "2.0rc1", [])])
def test_releases_lie_between_two_versions_and_what_is_none_is_left_out(
        old: str, new: str, between: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = ("2.0", "2.0rc1", "1.5", "1.4", "of today", "1.0")
    monkeypatch.setattr(package_sources, "releases", lambda *words: (found, ""))

    assert between == mixing.releases("a", old, new, "3.11")
    with pytest.raises(InputError, match=r"a: found 1\.0 and of today, expected versions in the order of PEP 440"):
        mixing.releases("a", "1.0", "of today", "3.11")


def test_a_package_differs_by_its_version_its_files_or_being_there() -> None:
    old = environment(package("a", "1.0"), package("b", "1.0", content="x"), package("c", "1.0"), package("d", "1.0"))
    new = environment(package("a", "2.0"), package("b", "1.0", content="y"), package("c", "1.0"), package("e", "1.0"))

    assert ["a", "b", "d", "e"] == mixing.differing(old, new)


def test_packages_are_bound_where_one_does_not_go_with_the_other_s_other_version() -> None:
    old = environment(package("jax", "0.8", ("jaxlib", "<=0.8"), ("numpy", ">=1.26")), package("jaxlib", "0.8"),
                      package("numpy", "2.3"))
    new = environment(package("jax", "0.10", ("jaxlib", "<=0.10,>=0.10"), ("numpy", ">=2.0")),
                      package("jaxlib", "0.10"), package("numpy", "2.4"), package("plugin", "1", ("jax", ">=0.10")))

    assert mixing.is_bound("jax", "jaxlib", old, new) and mixing.is_bound("plugin", "jax", old, new)
    assert not mixing.is_bound("jax", "numpy", old, new) and not mixing.is_bound("numpy", "jax", old, new)


def test_a_mix_has_each_package_as_one_of_the_two_has_it_by_links(tmp_path: Path) -> None:
    homes = [own_environment.made(tmp_path / name, mine=version, same="1.0")
             for name, version in (("old", "1.0"), ("new", "2.0"))]
    old, new = (mixing.read(home / "bin" / "python") for home in homes)

    mixed = mixing.made(tmp_path / "mix", old.python, [old.packages["same"], new.packages["mine"]])

    assert ["mine"] == mixing.differing(old, new) and {"mine"} == mixing.top_level(new.packages["mine"])
    code = "import mine, same; print(mine.__version__, same.__version__)"
    assert "2.0 1.0" == subprocess.check_output([mixed, "-c", code], text=True).strip()
    there = mixing.read(mixed).packages
    assert {"mine": "2.0", "same": "1.0"} == {name: each.version for name, each in there.items()}
    linked = there["mine"].site / "mine" / "__init__.py"
    assert linked.samefile(new.packages["mine"].site / "mine" / "__init__.py")


def test_a_program_that_says_nothing_of_packages_is_refused(tmp_path: Path) -> None:
    for said in ("", "echo 1", "echo '{}'", "echo hello"):
        with pytest.raises(InputError, match="python: it did not say where its packages are: because"):
            mixing.read(program(tmp_path / "python", f"{said}\necho because >&2"))


def test_what_a_package_requires_is_read_without_its_extras(tmp_path: Path) -> None:
    files(tmp_path, {"my_own-1.0.dist-info/METADATA": (
        "Name: my_own\nVersion: 1.0\nRequires-Dist: numpy<3,>=2.0\nRequires-Dist: Six\n"
        "Requires-Dist: pytest>=8; extra == 'dev'\nRequires-Dist: a[b] (>=1) ; python_version < '4'\n\n"
        "Requires-Dist: no\n")})

    (found,) = mixing.held(tmp_path)

    assert ("my-own", (), (("numpy", "<3,>=2.0"), ("six", ""), ("a", ">=1"))) == (found.name, found.files, found.needs)


def test_a_package_without_a_list_of_its_files_is_refused_by_name(tmp_path: Path) -> None:
    python = own_environment.made(tmp_path / "old") / "bin" / "python"

    with pytest.raises(InputError, match=r"mine in /site has no RECORD of its files, expected a package that pip or"):
        mixing.made(tmp_path / "mix", python, [package("mine", "1.0")._replace(files=())])


def test_a_release_that_was_cut_short_is_brought_again_and_a_whole_one_is_kept(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock_of_wheel(tmp_path, "mine")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    files(tmp_path / "made", {"mine-1.0.dist-info/METADATA": "Name: mine\nVersion: 1.0\n"})

    for _ in range(2):
        (found,) = mixing.brought("mine", "1.0", (), tmp_path / "made", MINOR)
        assert "mine.py" in found.files and (tmp_path / "made" / "mine.py").is_file()
        monkeypatch.setenv("PIP_FIND_LINKS", "")


def test_a_lock_that_only_uv_reads_says_so_where_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"uv\.lock: found no uv, which reads it: `pip install uv`"):
        mixing.installed(tmp_path / "uv.lock", tmp_path / "made", sys.executable, print)
