"""A worker's own place among the others, from EVENBENCH_NODES and EVENBENCH_RANK, in each framework's own variables."""
import os
import socket
import subprocess
import sys
from typing import NamedTuple

from workloads.frameworks import surroundings
from workloads.process.lifetime import end_with_parent
from workloads.spec.cell import Cell, CellError
from workloads.spec.cluster import MODES, own_mode, places

PORT = 22220                     # of a place that has its address to itself; others name theirs: 127.0.0.1:23000
_OFFSETS = {"server": 0, "worker": 1, "scheduler": 2, "coordinator": 3, "rendezvous": 4, "agreement": 5}


class Cluster(NamedTuple):
    """The places of this run, their addresses and which one this is."""

    framework: str
    parallel: str
    places: tuple                # of spec.cluster.Place
    addresses: tuple             # (host, first port) of each place
    rank: int
    processes: int = 1           # of each worker's place: some modes have one a GPU
    process: int = 0             # which of them this is
    helpers: tuple = ()          # numbers of the processes beside it in its place

    @property
    def place(self):
        """This process's own."""
        return self.places[self.rank]

    @property
    def mode(self):
        """The row of spec.cluster.MODES."""
        return MODES[self.framework, self.parallel]

    @property
    def workers(self):
        """How many workers there are: processes that train."""
        return sum(place.main == "worker" for place in self.places) * self.processes

    @property
    def worker(self):
        """Which of them this one is."""
        return self.rank * self.processes + self.process

    def address(self, role: str, rank: int):
        """"host:port" of a role in the place of that rank."""
        host, port = self.addresses[rank]
        return "%s:%d" % (host, port + _OFFSETS[role])


def read(cell: Cell, framework: str, environment=os.environ):
    """The Cluster that the environment tells of. Raises CellError where it does not fit the cell."""
    names = [name for name in environment.get("EVENBENCH_NODES", "").split(",") if name]
    try:
        mode = own_mode(framework, cell.parallel)
        expected = places(framework, mode, cell.nodes)
    except KeyError:
        raise CellError("%s has no parallel = %s" % (framework, cell.parallel)) from None
    rank = environment.get("EVENBENCH_RANK", "")
    if not names and len(expected) == 1:         # nobody else to be told of: many GPUs of one node
        names, rank = ["127.0.0.1:%d" % _free_port()], "0"
    if len(names) != len(expected) or not rank.isdigit() or int(rank) >= len(names):
        raise CellError('EVENBENCH_NODES="%s" and EVENBENCH_RANK="%s" do not name one of the %d places of parallel = %s'
                        % (",".join(names), rank, len(expected), cell.parallel))
    processes = cell.gpus if MODES[framework, mode].splits_gpus else 1
    return Cluster(framework, mode, expected, tuple(_address(name) for name in names), int(rank), processes,
                   int(environment.get("EVENBENCH_PROCESS", "0")))


def _free_port():
    """A first port of this host, free a moment ago."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1] - _OFFSETS["worker"]


def _address(name: str):
    host, _, port = name.partition(":")
    return host, int(port or PORT)


def variables(cluster, role: str):
    """What the framework must find in the environment of a process with that role, before its import."""
    return surroundings.of(cluster.framework).place_variables(cluster, role)


def start_helpers(cluster, text: str, folder: str):
    """The other processes of this place: its helper roles, and its further workers, which report nothing.

    They read the same cell and write to standard error alone.
    """
    roles = [(role, "0") for role in cluster.place.helpers]
    roles += [("worker", str(process)) for process in range(1, cluster.processes)]
    names = ",".join("%s:%d" % address for address in cluster.addresses)
    return [subprocess.Popen([sys.executable, "-m", "workloads.places.role", role, text, folder],
                             stdin=subprocess.DEVNULL, stdout=2, preexec_fn=end_with_parent,
                             env=dict(os.environ, EVENBENCH_NODES=names, EVENBENCH_RANK=str(cluster.rank),
                                      EVENBENCH_PROCESS=process))
            for role, process in roles]
