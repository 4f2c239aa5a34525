"""Which pins of stacks are behind the package index, in releases. pip asks the index, once a package."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from runner.stacks import package_sources
from runner.stacks.definition import PinnedStack

OF_TODAY = {"quick", "gpu", "models", "upgrade"}     # studies whose stacks follow the newest; others' stay as published
ALLOWED = 2                          # releases that a pin may be behind
_NEWEST_PYTHON = "3.13"              # for which wheels are looked for, whatever a stack's own Python is
_PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*])?==([^\s#;]+)")


def outdated(stacks: Iterable[PinnedStack], released: Callable[[str], Sequence[str]]) -> list[dict[str, Any]]:
    """Rows of the pins behind by more than ALLOWED that an index tells of; released: of a package, newest first."""
    found = []
    for stack in stacks:
        lines = (stack.folder / "requirements.in").read_text().splitlines()
        for package, pinned in (match.groups() for line in lines if (match := _PIN.match(line))):
            releases = list(released(package))
            version = pinned.partition("+")[0]                     # 2.13.0+cpu is a build of 2.13.0
            if version in releases and releases.index(version) > ALLOWED:
                found.append({"stack": stack.name, "package": package, "pinned": pinned, "newest": releases[0],
                              "behind": releases.index(version)})
    return found


def released(package: str) -> tuple[str, ...]:
    """The package's releases that pip finds wheels of, the newest first; () where no index has it."""
    return package_sources.releases(package, "--only-binary=:all:", f"--python-version={_NEWEST_PYTHON}")[0]
