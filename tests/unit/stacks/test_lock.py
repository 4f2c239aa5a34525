"""Locks: each file by its content, and pins that are behind the index."""

import hashlib
from contextlib import nullcontext
from pathlib import Path

import pytest

from runner.errors import InputError
from runner.stacks import outdated, package_sources
from runner.stacks.locking import lock_text, project
from tests import fakes
from tests.stack_folder import small_stack


@pytest.mark.parametrize(("file_name", "expected"), [
    ("google_pasta-0.2.0-py3-none-any.whl", ("google-pasta", "0.2.0")),
    ("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", ("torch", "2.13.0+cpu")),
    ("Jinja2-3.1.6-py3-none-any.whl", ("jinja2", "3.1.6")), ("gast-0.2.2.tar.gz", ("gast", "0.2.2")),
    ("keras-preprocessing-1.1.2.zip", ("keras-preprocessing", "1.1.2")),
    ("zope.interface-5.0.tar.bz2", ("zope-interface", "5.0")),
    ("gast-0.2.2.tar.gz.asc", None), ("gast.tar.gz", None), ("README", None)])
def test_a_files_name_gives_project_and_version_and_what_is_no_package_is_refused(file_name, expected):
    with nullcontext() if expected else pytest.raises(InputError, match="neither a wheel nor a source archive"):
        assert project(file_name) == expected


def test_a_lock_pins_each_file_in_order_of_names_by_its_content(tmp_path):
    stack = small_stack(tmp_path)
    contents = {"torch-9.0-cp311-cp311-linux_x86_64.whl": b"wheel", "Future_Things-1.0.tar.gz": b"source"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)

    text = lock_text(stack, [tmp_path / name for name in contents])

    first, *lines = text.splitlines()
    assert first.startswith("# Made by `evenbench lock torch-9`")
    assert lines == ["future-things==1.0 \\",
                     "    --hash=sha256:" + hashlib.sha256(b"source").hexdigest(),
                     "torch==9.0 \\",
                     "    --hash=sha256:" + hashlib.sha256(b"wheel").hexdigest()]


RELEASES = {"jax": ("0.12.0", "0.11.1", "0.11.0", "0.10.2"), "numpy": ("2.5.0", "2.4.7", "2.4.6"), "torch": ("2.13.0",)}


@pytest.mark.parametrize(("lines", "found"), [
    ("# the newest\njax[cuda13]==0.10.2     # for 3.11\nnumpy==2.4.6\n", [("s", "jax", "0.10.2", "0.12.0", 3)]),
    ("torch==2.13.0+cpu\nnobody==1\nprotobuf\n", []),
])
def test_pins_more_than_two_releases_behind_are_told_with_the_newest(tmp_path: Path, lines: str,
                                                                     found: list[tuple[object, ...]]) -> None:
    (tmp_path / "requirements.in").write_text(lines)
    told = outdated.outdated([fakes.stack("s", folder=tmp_path)], lambda package: RELEASES.get(package, ()))

    assert found == [tuple(pin.values()) for pin in told]


def test_versions_are_read_from_what_pip_prints() -> None:
    said = "jax (0.12.0)\nAvailable versions: 0.12.0, 0.11.1, 0.10.2+cpu\n  INSTALLED: 0.10.2\n"

    assert ("0.12.0", "0.11.1", "0.10.2") == package_sources.versions(said)
    assert () == package_sources.versions("ERROR: No matching distribution found for nobody\n")
