"""Errors that the user can mend. Each is one line: what is wrong and, where there is one, the next command."""

_LONGEST = 1500          # characters: a name of somebody else's file may be a whole file long


class BenchError(Exception):
    """Anything that ends a command with a message of one line instead of a traceback."""

    def __init__(self, message: str) -> None:
        line = message.replace("\n", "\\n")
        super().__init__(line if len(line) <= _LONGEST else f"{line[:_LONGEST // 3 * 2]} … {line[-_LONGEST // 3:]}")


class Stopped(Exception):
    """Ctrl-C or SIGTERM: the session has ended between two lines, its results usable."""


class InputError(BenchError):
    """A file, key or argument is wrong (exit code 2)."""


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


class DownloadFailed(BenchError):
    """A data set could not be downloaded, is not the published one, or could not be unpacked."""
