"""MXNet's servers and its scheduler: processes beside a worker that import no more than they need.

What they import takes CPU time that the worker of their place waits for: docs/measurements.md.
"""
import json
import os
import sys
import tempfile
import traceback

PROFILE = "evenbench profile "   # begins the commands to start and to stop one; others are MXNet's own


def serve(role, cell, cluster):
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
            own, profile = super()._controller(), _Profile()
            return lambda head, body, _: profile.hear(body) if body.startswith(PROFILE.encode()) else own(head, body, _)

    os.environ["DMLC_ROLE"] = own
    sys.excepthook, sys.unraisablehook = _die, lambda failure: _die(*failure[:3])     # before Python 3.8 and since
    Server(mxnet.kv.create("dist")).run()
    sys.excepthook, sys.unraisablehook = sys.__excepthook__, getattr(sys, "__unraisablehook__", None)


class _Profile:
    """What this server's operators did from one command to the next."""

    def hear(self, command):
        """Start, or stop and write it down for the worker of this place."""
        if command.decode() == PROFILE + "run":
            from workloads.frameworks.mxnet.profiling import operators  # the adapter: at no other measure

            self._block = operators.profiled()
            self._used = self._block.__enter__()
            return
        self._block.__exit__(None, None, None)
        with open(profile_path(os.getppid()), "w") as file:
            json.dump(self._used, file)


def profile_path(worker):
    """Where the server writes its profile for the worker of that process id, which started it."""
    return os.path.join(tempfile.gettempdir(), "evenbench-server-%d.json" % worker)


def _die(kind, error, trace):
    traceback.print_exception(kind, error, trace)
    os._exit(1)
