"""MXNet's servers and its scheduler: processes beside a worker that import no more than they need.

What they import takes CPU time that the worker of their place waits for: docs/measurements.md.
"""
import json
import os
import sys
import traceback

from workloads.frameworks.surroundings import mxnet as surroundings
from workloads.spec.cell import Cell


def serve(role: str, cell: Cell, cluster) -> None:
    """Serve as DMLC_ROLE says until the workers have ended.

    MXNet does so inside its import where the variable is set by then. That is enough for a scheduler; a server would
    have half a package, in which most optimizers fail. What fails in an update ends the server: MXNet would go on with
    the old weights.
    """
    if role == "scheduler":
        import mxnet  # serves, and ends this process
    own = os.environ.pop("DMLC_ROLE")
    import mxnet
    from mxnet.kvstore.kvstore_server import KVStoreServer

    class Server(KVStoreServer):
        """MXNet's own, which also hears of profiles."""

        def _controller(self):
            own, profile = super()._controller(), _Profile(mxnet.profiler, mxnet.nd.waitall)
            commands = (surroundings.START_PROFILE, surroundings.STOP_PROFILE)
            return lambda head, body, _: profile.hear(body.decode()) if body.decode("latin-1") in commands else own(
                head, body, _)

    os.environ["DMLC_ROLE"] = own
    sys.excepthook, sys.unraisablehook = _die, lambda failure: _die(*failure[:3])  # type: ignore  # from 3.8 on
    Server(mxnet.kv.create("dist")).run()
    sys.excepthook, sys.unraisablehook = sys.__excepthook__, getattr(sys, "__unraisablehook__", None)


class _Profile:
    """What this server's operators did from one command to the next."""

    def __init__(self, profiler, wait):
        self._profiler, self._wait = profiler, wait
        self._path = surroundings.profile_path(os.getppid())

    def hear(self, command) -> None:
        """Start, or stop and write it down for the worker of this place: {name: (calls, seconds)}."""
        if command == surroundings.START_PROFILE:
            # MXNet writes its own file when the process ends, over whatever is there: in no folder it writes none
            self._profiler.set_config(profile_symbolic=True, profile_imperative=True, aggregate_stats=True,
                                      filename=os.path.join(self._path, "trace.json"))
            self._profiler.set_state("run")
            return
        self._wait()
        self._profiler.set_state("stop")
        times = json.loads(self._profiler.dumps(reset=True, format="json"))["Time"]["operator"]
        with open(self._path, "w") as file:
            json.dump({name: (used["Count"], used["Total"] / 1e3) for name, used in times.items()}, file)


def _die(kind, error, trace) -> None:
    traceback.print_exception(kind, error, trace)
    os._exit(1)
