"""MXNet in many places: workers that push gradients to servers and pull weights. MXNet 1.7 and 1.9.

The servers run the optimizer that the workers send them, on the sum of all workers' gradients (dist_sync) or on each
one's as it comes (dist_async). MXNet has no time limit for those that it waits for.
"""
import contextlib
import json
import os

import mxnet as mx
import numpy as np
from mxnet.base import _LIB, check_call

from workloads.frameworks import mxnet
from workloads.frameworks.mxnet.parallel import devices
from workloads.frameworks.surroundings import mxnet as surroundings
from workloads.process.errors import Unsupported

_STORES = {"ps-sync": "dist_sync", "ps-async": "dist_async"}
_PROBE = 10 ** 6                      # a key beyond those of gluon's Trainer, 0 and on


def serve(role, cell, cluster):
    """Raises Unsupported: servers and the scheduler need not the whole adapter (surroundings/mxnet.py)."""
    raise Unsupported("MXNet has no role %s here" % role)


def Workload(table, cell, cluster):
    """The workload of the cell's mode; without a cluster, of many GPUs. Raises errors.Unsupported."""
    if not cluster:
        return devices.Workload(table, cell)
    return (OfDevices if cell.gpus > 1 else Distributed)(table, cell, cluster)


def Sequences(cell, cluster):
    """Raises Unsupported."""
    raise Unsupported("sequence tasks of MXNet run in one place, on one GPU")


class Distributed(mxnet.Workload):
    """The single workload with its updates on the servers. Raises errors.Unsupported."""

    communication = "full"            # backward() is issued whole before the first gradient is pushed
    _update = "communication"         # a step of the trainer is push, update on the servers and pull

    def __init__(self, table, cell, cluster):
        self._store = mx.kv.create(_STORES[cluster.parallel])
        self._is_synchronous, self._workers = cluster.mode.is_synchronous, cluster.workers
        self.mode = cluster.mode.title
        super().__init__(table, cell, self._store)
        if cell.precision == "float64" and not self._keeps_float64():
            raise Unsupported("the servers of this MXNet keep float64 arrays as float32")

    def _keeps_float64(self):
        """Whether 1/3 comes back as it was: it does in MXNet 1.7, and 1e-8 off in 1.9."""
        third = mx.nd.array([1 / 3], dtype="float64")
        back = mx.nd.zeros_like(third)
        self._store.init(_PROBE, third)
        self._store.pull(_PROBE, out=back)
        return back.asscalar() == 1 / 3

    def _share(self, count):
        """Each sample's share of the mean loss over all workers, whose gradients dist_sync adds."""
        return super()._share(count * self._workers if self._is_synchronous else count)[:count]

    def train(self, batches, count, watch):
        """As the single one; returns when all workers are done."""
        with self._together():
            super().train(batches, count, watch)

    def train_phases(self, batches, count, watch):
        """As the single one; returns when all workers are done."""
        with self._together():
            super().train_phases(batches, count, watch)

    @contextlib.contextmanager
    def _profiled(self):
        """As the single one, with what the server of this place did, named "server/..."."""
        self._tell_servers(surroundings.START_PROFILE)
        with super()._profiled() as used:
            yield used
        self._tell_servers(surroundings.STOP_PROFILE)
        path = surroundings.profile_path(os.getpid())
        with open(path) as file:
            used.update(("server/" + name, each) for name, each in json.load(file).items())
        os.remove(path)

    def _tell_servers(self, command):
        """The first worker tells all of them, while no worker trains."""
        self._store._barrier()
        if self._store.rank == 0:
            self._store._send_command_to_servers(0, command)
        self._store._barrier()

    @contextlib.contextmanager
    def _together(self):
        """Leave when all workers do, with the servers' last weights, which asynchronous ones may not have seen.

        Who fails in between ends at once: MXNet would wait for the others when its process ends.
        """
        self._wait_at_exit(False)
        yield
        mx.nd.waitall()
        self._store._barrier()
        for key, own in enumerate(self._updated):                                         # gluon.Trainer's keys
            if own.grad_req != "null":
                self._store.pull(key, out=own.list_data())
        mx.nd.waitall()
        self._wait_at_exit(True)

    def _wait_at_exit(self, is_wanted):
        check_call(_LIB.MXKVStoreSetBarrierBeforeExit(self._store.handle, int(is_wanted)))

    def check(self, images, labels):
        """As the single one, of all workers' samples together, once in a run; no activations and no logits."""
        if not self._is_synchronous:
            raise Unsupported("asynchronous workers take no step together, so there is no one update to check")
        with self._together():
            checked = super().check(images, labels)
        return dict(checked, activation={}, logits=np.empty(0))

    def _seen(self, losses, gradient):
        """Loss and gradient over all workers: before the first update the servers only add what is pushed."""
        names = list(gradient)
        arrays = [losses.mean().reshape(1) / self._workers] + [gradient[name] for name in names]
        loss, *sums = [self._sum(len(self._own) + index, array) for index, array in enumerate(arrays)]
        return {"loss": float(loss[0]), "gradient": dict(zip(names, sums))}

    def _sum(self, key, array):
        """The sum of all workers' arrays."""
        total = mx.nd.zeros_like(array)
        self._store.init(key, total)
        self._store.pushpull(key, array.copy(), out=total)       # the store receives into what it sent, too
        return total.asnumpy()


class OfDevices(Distributed, devices.Workload):
    """The same with many GPUs a worker, which adds their gradients up before it pushes them."""
