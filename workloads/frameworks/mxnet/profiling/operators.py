"""What MXNet's profiler says of its operators. MXNet 1.7 and 1.9."""
import contextlib
import json
import os
import tempfile

import mxnet as mx
from mxnet import gluon

ALONE = {"forward_bulk_size": 0, "backward_bulk_size": 0}    # else operators run and are named in bulks of up to 15
_ENGINE = ("WaitForVar", "DeleteVariable")                   # bookkeeping; the one is the time of who waits


@contextlib.contextmanager
def profiled():
    """A dict that holds (calls, seconds) by operator's name once the block is over."""
    by_operator = {}
    with tempfile.TemporaryDirectory() as folder:
        mx.profiler.set_config(profile_symbolic=True, profile_imperative=True, aggregate_stats=True,
                               filename=os.path.join(folder, "profile.json"))      # else in the working folder
        mx.nd.waitall()
        mx.profiler.set_state("run")
        yield by_operator
        mx.nd.waitall()
        mx.profiler.set_state("stop")
        times = json.loads(mx.profiler.dumps(reset=True, format="json"))["Time"]["operator"]
    by_operator.update((name, (used["Count"], used["Total"] / 1e3)) for name, used in times.items()
                       if name not in _ENGINE)


def with_kind(by_operator, net):
    """The same with "Activation/tanh" for Activation, and so for its gradient, where the net has but one kind of it."""
    kinds = set()
    net.apply(lambda block: kinds.add(block._act_type) if isinstance(block, gluon.nn.Activation) else None)
    renamed = ("Activation", "_backward_Activation") if len(kinds) == 1 else ()
    return {"/".join([name] + sorted(kinds)) if name in renamed else name: used for name, used in by_operator.items()}
