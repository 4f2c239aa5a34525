"""`evenbench check`: its cells are sized for the machines that the launcher places them on."""

from pathlib import Path

from runner.machine.host import Machine
from runner.measuring import equality
from tests.clock import FakeClock
from tests.fakes import FakeLauncher, stack

NODE = Machine("a CPU", 1, 2**30, "6.1", "Debian", "host")


class Cluster(FakeLauncher):
    """Its nodes have one CPU and a GiB, whatever the machine has from which runs are sent."""

    def machine(self, here: Machine) -> Machine:
        return NODE


def test_cells_of_a_check_are_as_large_as_the_machine_that_the_launcher_places_them_on(tmp_path: Path) -> None:
    launcher = Cluster(FakeClock(step=0.001))
    check = equality.Check(launcher, tmp_path, equality.resources(launcher), lambda line: None)
    check.kept(["lenet5"], [stack("a"), stack("b")], tmp_path)

    assert {(1, 2**30)} == {(cell.cpus, cell.memory_bytes) for cell, _ in launcher.started}
