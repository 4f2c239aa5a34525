"""MXNet's servers and its scheduler: processes beside a worker that import no more than they need.

What they import takes CPU time that the worker of their place waits for: docs/measurements.md.
"""
import os
import sys
import traceback


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

    os.environ["DMLC_ROLE"] = own
    sys.excepthook, sys.unraisablehook = _die, lambda failure: _die(*failure[:3])     # before Python 3.8 and since
    KVStoreServer(mxnet.kv.create("dist")).run()
    sys.excepthook, sys.unraisablehook = sys.__excepthook__, getattr(sys, "__unraisablehook__", None)


def _die(kind, error, trace):
    traceback.print_exception(kind, error, trace)
    os._exit(1)
