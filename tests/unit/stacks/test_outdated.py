"""Pins that are behind the index."""

from pathlib import Path

import pytest

from runner.stacks import outdated, package_sources
from tests import fakes

RELEASES = {"jax": ("0.12.0", "0.11.1", "0.11.0", "0.10.2"), "numpy": ("2.5.0", "2.4.7", "2.4.6"), "torch": ("2.13.0",)}


@pytest.mark.parametrize(("lines", "found"), [
    ("# the newest\njax[cuda13]==0.10.2     # for 3.11\nnumpy==2.4.6\n", [("s", "jax", "0.10.2", "0.12.0", 3)]),
    ("torch==2.13.0+cpu\nnobody==1\nprotobuf\n", []),
])
def test_pins_more_than_two_releases_behind_are_told_with_the_newest(tmp_path: Path, lines: str,
                                                                     found: list[tuple[object, ...]]) -> None:
    (tmp_path / "requirements.in").write_text(lines)
    told = outdated.outdated([fakes.stack("s", folder=tmp_path)], lambda package: RELEASES.get(package, ()))

    assert found == [tuple(pin) for pin in told]


def test_versions_are_read_from_what_pip_prints() -> None:
    said = "jax (0.12.0)\nAvailable versions: 0.12.0, 0.11.1, 0.10.2+cpu\n  INSTALLED: 0.10.2\n"

    assert ("0.12.0", "0.11.1", "0.10.2") == package_sources.versions(said)
    assert () == package_sources.versions("ERROR: No matching distribution found for nobody\n")
