"""Errors that the user can mend. Each is one line: what is wrong and, where there is one, the next command."""

import difflib
import shlex
import sys
from collections.abc import Iterable

_LONGEST = 1500          # characters: a name of somebody else's file may be a whole file long


class BenchError(Exception):
    """Anything that ends a command with a message of one line instead of a traceback."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        line = message.replace("\n", "\\n")
        super().__init__(line if len(line) <= _LONGEST else f"{line[:_LONGEST // 3 * 2]} … {line[-_LONGEST // 3:]}")


class Stopped(Exception):
    """Ctrl-C or SIGTERM: the session has ended between two lines, its results usable."""


class InputError(BenchError):
    """A file, key or argument is wrong (exit code 2)."""


def unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is none of the known ones; it says which of them begin so, else which is nearest."""
    names = list(known)
    longer = [each for each in names if name and each.startswith(name)]
    near = longer if 1 <= len(longer) <= 3 else difflib.get_close_matches(name, names, 1)
    hint = "; did you mean " + " or ".join(f'"{each}"' for each in near) + "?" if near else ""
    return InputError(f'{what} "{name}" is unknown; known: {", ".join(names)}{hint}')


# packages that few commands need, as pyproject.toml's extras say them: evenbench itself is on no index
EXTRAS = ("pillow>=10.3,<15", "soundfile>=0.12,<1")


def lacking(what: str, package: str, more: str = "") -> InputError:
    """The error for a package of EXTRAS that is not there, with the command that installs it."""
    requirement = next(each for each in EXTRAS if each.startswith(package))
    install = shlex.join([sys.executable, "-m", "pip", "install", requirement])
    return InputError(f"{what} needs the package {package}: run `{install}`{more}")


class Busy(BenchError):
    """Another session measures on this machine (exit code 4)."""

    exit_code = 4


class EngineUnreachable(BenchError):
    """No Docker engine answers, or it does not let us in."""


class ImageMissing(BenchError):
    """A stack has no image on this engine."""


class InterpreterMissing(BenchError):
    """No Python of a stack's version is on this machine."""


class DiskFull(BenchError):
    """Too little space for what was about to be built."""


class BuildFailed(BenchError):
    """An image, a base, a virtual environment or a lock could not be made."""
