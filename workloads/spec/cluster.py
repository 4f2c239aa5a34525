"""Who does what in a parallel run: the places of a mode and their roles. Python 3.6 and later, standard library only.

A place is one container, or one process group where there are none. Each has a main role and may have helpers: roles
that run beside it in processes of their own and end with it.
"""
from typing import NamedTuple

# sync and async leave the choice to the framework, which has one of each at most
PARALLEL = ("none", "sync", "async", "allreduce", "central", "ps-sync", "ps-async", "horovod")

# what workloads.places.apptainer_place leaves with where its worker ran out of memory: no signal's code, and none of an
# interpreter's
OUT_OF_MEMORY = 82
# for which places wait for each other: a busy machine starts some of them late, and the runner ends a run that hangs
PATIENCE_SECONDS = 300


class Mode(NamedTuple):
    """How a framework trains on many nodes."""

    title: str                   # in the framework's own words
    main: str                    # what every node's place is for
    helpers: tuple               # roles beside it on every node
    first: tuple                 # roles beside it on node 0 alone
    own: tuple                   # roles in a place of their own, after the nodes
    reports: tuple               # main roles that send events and end by themselves; the others serve until stopped
    is_synchronous: bool         # all workers take a step together and hold the same weights
    is_sharded: bool             # each worker reads its own part of the data
    splits_gpus: bool = False    # each GPU of a node has a process of its own
    is_of_one_node: bool = False # and compared with itself alone: its framework has another synchronous mode


MODES = {
    ("pytorch", "allreduce"): Mode("DistributedDataParallel over Gloo", "worker", (), (), (), ("worker",), True, True,
                                   True),
    ("tensorflow", "allreduce"): Mode("MultiWorkerMirroredStrategy, ring", "worker", (), (), (), ("worker",),
                                      True, True),
    ("tensorflow", "horovod"): Mode("Horovod", "worker", (), ("rendezvous",), (), ("worker",), True, True, True),
    ("tensorflow", "ps-async"): Mode("ParameterServerStrategy", "worker", ("server",), (), ("coordinator",),
                                     ("coordinator",), False, False),
    ("tensorflow", "central"): Mode("parameter server of one node", "worker", (), (), (), ("worker",), True, True,
                                    is_of_one_node=True),
    ("jax", "allreduce"): Mode("shard_map over Gloo", "worker", (), (), (), ("worker",), True, True),
    ("mxnet", "ps-sync"): Mode("KVStore dist_sync", "worker", ("server",), ("scheduler",), (), ("worker",),
                               True, True),
    ("mxnet", "ps-async"): Mode("KVStore dist_async", "worker", ("server",), ("scheduler",), (), ("worker",),
                                False, True),
}
_KINDS = {name: "sync" if mode.is_synchronous else "async" for (_, name), mode in MODES.items()
          if not mode.is_of_one_node}


class Place(NamedTuple):
    """One container of a run."""

    name: str
    main: str                    # the main role, "worker" where a cell has one place alone
    helpers: tuple
    reports: bool


def places(framework: str, parallel, nodes):
    """The places of a run in order of rank. Raises KeyError where the framework has no such mode."""
    if parallel == "none":
        return (Place("node0", "worker", (), True),)
    mode = MODES[framework, parallel]
    workers = tuple(Place("node%d" % rank, mode.main, (mode.first if rank == 0 else ()) + mode.helpers,
                          mode.main in mode.reports) for rank in range(nodes))
    return workers + tuple(Place(role, role, (), role in mode.reports) for role in mode.own)


def own_mode(framework: str, parallel):
    """The framework's own mode that "sync" or "async" becomes; another name as it is. Raises KeyError."""
    if parallel not in ("sync", "async"):
        return parallel
    for (owner, name), mode in MODES.items():
        if owner == framework and mode.is_synchronous == (parallel == "sync"):
            return name
    raise KeyError("%s has no mode %s" % (framework, parallel))


def kind(parallel):
    """"none", "sync" or "async", of a mode of one node its own name: what modes are compared by."""
    return _KINDS.get(parallel, parallel)


def impossible(framework: str, parallel, nodes):
    """Why the framework cannot run so, or None."""
    if parallel == "none":
        return None if nodes == 1 else "parallel none is one node: say how %d nodes train together" % nodes
    try:
        mode = MODES[framework, own_mode(framework, parallel)]
    except KeyError:
        known = [name for owner, name in MODES if owner == framework]
        return "%s has no parallel %s: it has %s" % (framework, parallel, ", ".join(known))
    return "parallel %s of %s is of one node" % (parallel, framework) if mode.is_of_one_node and nodes > 1 else None
