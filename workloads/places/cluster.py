"""A worker's own place among the others, from EVENBENCH_NODES and EVENBENCH_RANK, in each framework's own variables."""
import json
import os
import socket
import subprocess
import sys
import time
from typing import NamedTuple

from workloads.process.lifetime import end_with_parent
from workloads.spec.cell import CellError
from workloads.spec.cluster import MODES, own_mode, places

PORT = 22220                     # of a place that has its address to itself; others name theirs: 127.0.0.1:23000
_OFFSETS = {"server": 0, "worker": 1, "scheduler": 2, "coordinator": 3, "rendezvous": 4, "agreement": 5}
_RESOLVE_SECONDS = 30.0          # containers start one after the other
_MEETING_SECONDS = 60            # Horovod's workers wait for each other


class Cluster(NamedTuple):
    """The places of this run, their addresses and which one this is."""

    framework: str
    parallel: str
    places: tuple                # of spec.cluster.Place
    addresses: tuple             # (host, first port) of each place
    rank: int
    processes: int = 1           # of each worker's place: some modes have one a GPU
    process: int = 0             # which of them this is

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

    def address(self, role, rank):
        """"host:port" of a role in the place of that rank."""
        host, port = self.addresses[rank]
        return "%s:%d" % (host, port + _OFFSETS[role])


def read(cell, framework, environment=os.environ):
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


def _address(name):
    host, _, port = name.partition(":")
    return host, int(port or PORT)


def variables(cluster, role):
    """What the framework must find in the environment of a process with that role, before its import."""
    return _VARIABLES[cluster.framework](cluster, role)


def _pytorch(cluster, role):
    """PyTorch 1.4 and 1.7 give up at once on a name that is not known yet."""
    host, port = cluster.address("worker", 0).split(":")
    found = {"MASTER_ADDR": resolved(host), "MASTER_PORT": port, "RANK": str(cluster.worker),
             "WORLD_SIZE": str(cluster.workers)}
    if len(cluster.places) == 1:                 # a container without a network has nothing else to offer
        found.update(GLOO_SOCKET_IFNAME="lo", NCCL_SOCKET_IFNAME="lo")
    return found


def _tensorflow(cluster, role):
    """TF_CONFIG; its names for server and coordinator are ps and chief."""
    if cluster.parallel == "horovod":
        return _horovod(cluster)
    own = {"server": "ps", "coordinator": "chief"}
    roles = {"worker": "worker"} if cluster.mode.is_synchronous else dict(own, worker="worker")
    addresses = {name: [cluster.address(each, rank) for rank, place in enumerate(cluster.places)
                        if each == place.main or each in place.helpers] for each, name in roles.items()}
    index = 0 if role == "coordinator" else cluster.rank
    return {"TF_CONFIG": json.dumps({"cluster": addresses, "task": {"type": roles[role], "index": index}})}


def _horovod(cluster):
    """What Horovod's own launcher sets where there is no MPI; workers meet at a store of keys on the first node."""
    host, port = cluster.address("rendezvous", 0).split(":")
    found = {"HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo",
             "HOROVOD_RANK": cluster.worker, "HOROVOD_SIZE": cluster.workers,
             "HOROVOD_LOCAL_RANK": cluster.process, "HOROVOD_LOCAL_SIZE": cluster.processes,
             "HOROVOD_CROSS_RANK": cluster.rank, "HOROVOD_CROSS_SIZE": len(cluster.places),
             "HOROVOD_HOSTNAME": cluster.place.name, "HOROVOD_GLOO_TIMEOUT_SECONDS": _MEETING_SECONDS,
             "HOROVOD_GLOO_RENDEZVOUS_ADDR": resolved(host), "HOROVOD_GLOO_RENDEZVOUS_PORT": port}
    if resolved(cluster.addresses[cluster.rank][0]).startswith("127."):      # a container without a network
        found.update(HOROVOD_GLOO_IFACE="lo", NCCL_SOCKET_IFNAME="lo")
    return {name: str(value) for name, value in found.items()}


def _mxnet(cluster, role):
    """ps-lite binds to an address, not to a name."""
    host, port = cluster.address("scheduler", 0).split(":")
    return {"DMLC_ROLE": role, "DMLC_PS_ROOT_URI": resolved(host), "DMLC_PS_ROOT_PORT": port,
            "DMLC_NUM_WORKER": str(cluster.workers), "DMLC_NUM_SERVER": str(cluster.workers),
            "DMLC_NODE_HOST": resolved(cluster.addresses[cluster.rank][0])}


def _jax(cluster, role):
    """Where the first place's service of keys and barriers is; alone, a process needs none."""
    if len(cluster.places) == 1:
        return {}
    host, port = cluster.address("worker", 0).split(":")
    return {"JAX_COORDINATOR_ADDRESS": "%s:%s" % (resolved(host), port)}


_VARIABLES = {"pytorch": _pytorch, "tensorflow": _tensorflow, "jax": _jax, "mxnet": _mxnet}


def resolved(host, clock=time.monotonic, wait=time.sleep):
    """The IPv4 address of a host that may not be up yet. Raises OSError."""
    deadline = clock() + _RESOLVE_SECONDS
    while True:
        try:
            return socket.gethostbyname(host)
        except OSError:
            if clock() > deadline:
                raise
            wait(0.1)


def start_helpers(cluster, text, folder):
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
