"""Studies and stacks that the user keeps in folders of their own."""

import shutil
from pathlib import Path

import pytest

from runner import paths
from runner.errors import InputError
from runner.stacks import definition, images
from runner.study import file
from tests.made_files import files
from tests.stack_folder import STACK_TOML, repository, study_toml

STUDY = study_toml("torch-9")


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """The folder docker/ of a repository with one stack, torch-9."""
    return repository(tmp_path / "ours").parent


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A user's folder with a stack."""
    return files(tmp_path / "theirs", {"torch-mine/requirements.txt": "torch==9.1\n",
                                       "torch-mine/stack.toml": STACK_TOML.replace('"torch-9"', '"torch-mine"')})


def test_a_user_s_stack_stands_beside_ours_and_shares_what_ours_share(ours: Path, theirs: Path) -> None:
    found = definition.read_all((ours, theirs))
    mine = found["torch-mine"]

    assert ["torch-9", "torch-mine"] == list(found)
    assert (ours.parent, ours / "Dockerfile", ours / "pip" / "3.11.txt") == (mine.root, mine.dockerfile, mine.pip_lock)
    assert theirs / "torch-mine" / "requirements.txt" == mine.lock


def test_a_user_s_stack_is_made_of_the_same_where_it_lies_among_ours_and_built_so(ours: Path, theirs: Path,
                                                                                  tmp_path: Path) -> None:
    outside = definition.read_all((ours, theirs))["torch-mine"]
    shutil.copytree(theirs / "torch-mine", ours / "torch-mine")
    inside = definition.read(ours / "torch-mine")

    assert outside.made_of() == inside.made_of()
    assert definition.wheels_fingerprint(outside) == definition.wheels_fingerprint(inside)
    images.context(outside, tmp_path / "seen", [])
    assert "torch==9.1\n" == (tmp_path / "seen/docker/torch-mine/requirements.txt").read_text()
    assert (tmp_path / "seen/docker/Dockerfile").is_file()


def test_a_name_that_is_taken_and_a_folder_that_is_not_there_are_refused(ours: Path, theirs: Path) -> None:
    (theirs / "torch-mine").rename(theirs / "torch-9")
    with pytest.raises(InputError, match=r"there is a stack torch-9 already, in .*: give yours another name"):
        definition.read_all((ours, theirs))
    with pytest.raises(InputError, match="--stacks or EVENBENCH_STACKS: found /nowhere, expected a folder"):
        paths.Places().with_own((), (Path("/nowhere"),))


def test_studies_of_the_user_s_are_found_by_their_id_and_one_that_is_taken_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(STUDY)
    folders = paths.Places().with_own((tmp_path,), ()).studies

    assert {"mine", "quick"} <= set(file.available(folders))
    assert "Mine" == file.read("mine", folders).title
    assert ("paper",) == file.scales("mine", folders)
    (tmp_path / "quick.toml").write_text(STUDY)
    with pytest.raises(InputError, match="there is a study quick already"):
        file.read("quick", folders)
