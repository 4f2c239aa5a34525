"""The launchers: the one place that knows them by name. None is imported until it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from runner.launchers.protocol import Launcher


class Entry(NamedTuple):
    """A launcher's module in this package and its class there; what the help of --launcher says of it."""

    module: str
    kind: str
    summary: str

    def load(self) -> "type[Launcher]":
        """The class."""
        return cast("type[Launcher]", getattr(import_module(f"runner.launchers.{self.module}"), self.kind))


LAUNCHERS = {
    "docker": Entry("docker", "DockerLauncher", "in containers of this machine's engine"),
    "venv": Entry("venv", "VenvLauncher", "in virtual environments"),
    "apptainer": Entry("apptainer", "ApptainerLauncher", "in Apptainer's images"),
    "compose": Entry("compose", "ComposeLauncher", "in compose.yaml's runner"),
    "swarm": Entry("swarm.launcher", "SwarmLauncher", "on a Docker Swarm's nodes, such as "
                   "swarm:encrypted,registry=HOST/NAME,engine:NODE=URL"),
    "slurm": Entry("slurm.launcher", "SlurmLauncher", "as jobs of a Slurm cluster, such as "
                   "slurm:partition=cpu,account=x; also qos=, reservation=, constraint=, nodelist=, time=, shared, "
                   "apptainer"),
}
AUTO, WITH_ENGINE, WITHOUT_ENGINE = "auto", "docker", "venv"       # auto: the first where an engine answers
HELP = "; ".join((f"{AUTO}: {WITH_ENGINE} where an engine answers, else {WITHOUT_ENGINE}",
                  *(f"{name}: {entry.summary}" for name, entry in LAUNCHERS.items())))
