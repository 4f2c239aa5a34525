"""Which of a cluster's processes this one is: as its engine says by variables, or the command line. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from runner.errors import InputError
from workloads.places import wire

# (rank, number of processes) of: Open MPI; MPICH and Intel MPI; SkyPilot; Slurm's steps; HTCondor's parallel universe;
# Kubernetes' Indexed Jobs, which do not say how many they are; torchrun's convention. mpirun within a job comes first.
_RANKS = (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
          ("SKYPILOT_NODE_RANK", "SKYPILOT_NUM_NODES"), ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
          ("_CONDOR_PROCNO", "_CONDOR_NPROCS"), ("JOB_COMPLETION_INDEX", ""), ("RANK", "WORLD_SIZE"))
# where rank 0 is, or the hosts of a job, whose first one has it. Not PBS_NODEFILE and PE_HOSTFILE: these files lie on
# the disk of the first node
_HEADS = ("MASTER_ADDR", "SKYPILOT_NODE_IPS", "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "LSB_HOSTS")
_CALLER = "SSH_CONNECTION"       # of an agent that rank 0 started by ssh; of others it may be who sits at a terminal
NAME = "inside"          # of the launcher
STACKS = "stacks"        # in place of a local launcher: the nodes are containers of stacks
_LOCAL = ("auto", "docker", "venv", "apptainer", STACKS)
_HOST = r"(?!-)[\w.@-]+"
_FORMS: dict[str, tuple[str, Callable[[str], Any]]] = {       # of what stands behind NAME=, and what it becomes
    "rank": ("[0-9]+", int), "nodes": ("[0-9]+", int), "head": (r"[\w.-]*(:\d{1,5})?", str),
    "hosts": (rf"{_HOST}(\+{_HOST})*", lambda value: tuple(value.split("+")))}
_FIND = "--rank, --nodes and --head say it"


class Asked(NamedTuple):
    """What the words behind `--launcher inside:` say."""

    local: str = "auto"              # the launcher of each node
    rank: int | None = None
    nodes: int | None = None
    head: str = ""                   # HOST, HOST:PORT or :PORT of rank 0
    hosts: tuple[str, ...] = ()      # on which rank 0 starts the others by ssh

    def words(self) -> list[str]:
        """Those that say it."""
        said = {"rank": self.rank, "nodes": self.nodes, "head": self.head, "hosts": "+".join(self.hosts)}
        return [*([] if self.local == "auto" else [self.local]),
                *(f"{name}={value}" for name, value in said.items() if value not in (None, ""))]


class Rank(NamedTuple):
    """A process of the cluster."""

    rank: int
    nodes: int                       # processes, rank 0 among them
    host: str                        # of rank 0; "" where nobody needs it
    port: int


def asked(options: Sequence[str]) -> Asked:
    """Raises InputError for a word that is none of these."""
    said = Asked()
    for word in options:
        name, _, value = word.partition("=")
        form, kind = _FORMS.get(name, ("", str))
        if word in _LOCAL:
            said = said._replace(local=word)
        elif form and re.fullmatch(form, value):
            said = said._replace(**{name: kind(value)})
        else:
            raise InputError(f'--launcher inside: found "{word}", expected one of {", ".join(_LOCAL)}, or a number '
                             "with --rank and --nodes, HOST:PORT with --head, names with --hosts")
    return said


def read(said: Asked, environment: Mapping[str, str]) -> Rank:
    """This process among the others. Raises InputError where nobody says it."""
    host, _, port = said.head.partition(":")
    if said.hosts:
        if said.rank is not None or said.nodes is not None:
            raise InputError("--hosts: found --rank or --nodes beside it, expected none: this process is rank 0")
        return Rank(0, 1 + len(said.hosts), host, int(port or 0))
    if said.local == STACKS:
        return Rank(0, said.nodes or 1, host, int(port or wire.PORT))
    found = next((names for names in _RANKS if environment.get(names[0], "").isdigit()), None)
    if said.rank is None and found is None:
        raise InputError("--launcher inside: found no rank, expected one process a node, started by srun, mpirun or "
                         f"the like, or --hosts; {_FIND}")
    rank = said.rank if said.rank is not None else int(environment[found[0]]) if found else 0
    count = environment.get(found[1], "") if found else ""
    nodes = said.nodes if said.nodes is not None else int(count) if count.isdigit() else 0
    if rank >= nodes:
        raise InputError(f"--launcher inside: found rank {rank} of {nodes or 'an unknown number of'} nodes; {_FIND}")
    names = (*_HEADS, _CALLER) if said.head else _HEADS
    host = host or _first(next(filter(None, map(environment.get, names)), ""))
    if not host and nodes > 1:
        raise InputError("--launcher inside: found no variable that says where rank 0 is: set MASTER_ADDR to its host "
                         "on every node (mpirun -x MASTER_ADDR=$(hostname), typed on that host), or --head HOST")
    return Rank(rank, nodes, host, int(port or wire.PORT))


def _first(hosts: str) -> str:
    """The first of "a b", of Slurm's "node[03-07,9],x"."""
    match = re.match(r"\s*([^\s,\[]*)(?:\[(\w+))?([^\s,]*)", hosts)
    return (match[1] + (match[2] or "")) if match else ""
