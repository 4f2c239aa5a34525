"""The launchers: the one place that knows them by name. None is imported until it is asked for.

Ours stand here, so that a checkout has them whatever was installed; other packages' are entry points.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, NamedTuple, cast

from runner.errors import InputError

if TYPE_CHECKING:
    from runner.launchers.protocol import Launcher

GROUP = "evenbench.launchers"


class Entry(NamedTuple):
    """Where a launcher's class is, "package.module:Class"; what the help of --launcher says of it."""

    where: str
    summary: str

    def load(self) -> "type[Launcher]":
        """The class. Raises InputError where it is not there."""
        try:
            return cast("type[Launcher]", EntryPoint("", self.where, GROUP).load())
        except (ImportError, AttributeError) as error:
            raise InputError(f"launcher {self.where} cannot be loaded ({error}): update or uninstall its package"
                             ) from error


_OURS = {
    "docker": Entry("runner.launchers.docker:DockerLauncher", "in containers of this machine's engine"),
    "venv": Entry("runner.launchers.venv:VenvLauncher", "in virtual environments"),
    "apptainer": Entry("runner.launchers.apptainer:ApptainerLauncher", "in Apptainer's images"),
    "inside": Entry("runner.launchers.inside:InsideLauncher", "on a cluster's nodes, whose engine starts this command "
                    "once on each; inside:venv: by this launcher there"),
}


def installed() -> dict[str, Entry]:
    """Those of other packages, by name; none has the name of one of ours."""
    return {point.name: Entry(point.value, f"of the package {point.dist.name}" if point.dist else "")
            for point in entry_points(group=GROUP) if point.name not in _OURS}


LAUNCHERS = _OURS | installed()
AUTO, WITH_ENGINE, WITHOUT_ENGINE = "auto", "docker", "venv"       # auto: the first where an engine answers
HELP = "; ".join((f"{AUTO}: {WITH_ENGINE} where an engine answers, else {WITHOUT_ENGINE}",
                  *(f"{name}: {entry.summary}" for name, entry in LAUNCHERS.items())))
