"""JAX on many nodes or GPUs: one program over a mesh of all their devices, over Gloo between CPUs, NCCL between GPUs.

A process a node; with several GPUs (on a CPU, for tests, as many of XLA's own devices) it drives them all. JAX 0.10 and
later.
"""
import os

import jax
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from workloads.frameworks import jax as alone
from workloads.frameworks.jax import model, settings
from workloads.frameworks.jax.steps import State, array, cross_entropy
from workloads.inputs import loading
from workloads.process.errors import Unsupported
from workloads.spec.cluster import PATIENCE_SECONDS

_SECONDS = 60                    # without a word from another worker
_WORKERS = "workers"             # the mesh's one axis

# how values lie on the mesh: the same on every device; each device's own, under a first axis of workers; a State
_SAME, _OWN = PartitionSpec(), PartitionSpec(_WORKERS)
_STATE = State(_SAME, _OWN, _SAME, _SAME, _SAME)
# of a step's functions: of what they take before the batch, and of what they give. A batch is cut along its first axis.
_PLACED = {
    "_step": ((_STATE,), (_STATE, _OWN)),
    "_forward_phase": ((_STATE,), _OWN),
    "_backward_phase": ((_OWN, _OWN), _OWN),
    "_exchanged": ((_OWN,), _SAME),
    "_update": ((_STATE, _SAME, _OWN), _STATE),
    "_checked": ((_STATE,), (_STATE, _SAME, _SAME)),
}


def serve(role, cell, cluster):
    """Raises Unsupported: all-reduce has workers alone."""
    raise Unsupported("JAX has no role %s" % role)


class Workload(alone.Workload):
    """A table's model on a process's devices, each of them a worker.

    A worker has its own part of the batch, its own running statistics and its own dropout; the mean of all gradients,
    the sum over the workers divided by their number, is what every one of them steps along. communication is "full":
    one all-reduce of all gradients after the backward pass. Raises Unsupported.
    """

    communication = "full"

    def __init__(self, table, cell, cluster):
        if not cluster:
            raise Unsupported("JAX trains on many GPUs with parallel = sync")
        if settings.loop(cell) == "eager":
            raise Unsupported("workers in JAX run one program together: that is loop xla")
        settings.apply(cell)
        _join(cell, cluster)
        self._mesh = Mesh(np.array(_devices(cell)), (_WORKERS,))
        self.mode = "shard_map over %s" % ("NCCL" if cell.device == "gpu" else
                                           "Gloo" if len(cluster.places) > 1 else "a process's CPU devices")
        super().__init__(table, cell)

    def _settled(self, state):
        """The State on all devices; numbers that every process has alike need no exchange."""
        numbers = state._replace(running={
            name: np.repeat(values[None], self._mesh.size, 0) for name, values in state.running.items()})
        return jax.jit(lambda plain: plain, out_shardings=jax.tree.map(self._over, _STATE))(numbers)

    def _over(self, spec):
        return NamedSharding(self._mesh, spec)

    def _arrays(self):
        """Those of this process's first worker."""
        state = self._state
        return dict({name: values.addressable_data(0) for name, values in state.weights.items()},
                    **{name: values.addressable_data(0)[0] for name, values in state.running.items()})

    def _made(self, function, donated):
        """The function as one program of all workers, each with its part."""
        specs_in, specs_out = _PLACED[function.__name__]

        def work(*arguments):
            own = [_without(spec, value) for spec, value in zip(specs_in, arguments)]
            return _with(specs_out, function(*own, *arguments[len(specs_in):]))

        def program(*arguments):
            batch = (PartitionSpec(_WORKERS),) * (len(arguments) - len(specs_in))
            # weights that are the same everywhere come out the same, which JAX cannot see
            return jax.shard_map(work, mesh=self._mesh, in_specs=specs_in + batch, out_specs=specs_out,
                                 check_vma=False)(*arguments)

        return jax.jit(program, donate_argnums=donated)

    def _fed(self, batches):
        """The batches on the devices; while GPUs compute, the next one is gathered."""
        batches = loading.ahead(batches) if self.cell.device == "gpu" else batches
        return (self._placed(*batch) for batch in batches)

    def _placed(self, images, labels):
        return self._cut(images), self._cut(labels.astype(np.int32))

    def _cut(self, numbers):
        """This process's part of a global array, cut for its devices."""
        devices = self._mesh.local_devices
        parts = [jax.device_put(part, device) for part, device in zip(np.split(numbers, len(devices)), devices)]
        shape = (len(parts[0]) * self._mesh.size,) + numbers.shape[1:]
        return jax.make_array_from_single_device_arrays(shape, self._over(_OWN), parts)

    def _drawing(self, state):
        return jax.random.fold_in(super()._drawing(state), lax.axis_index(_WORKERS))

    @jax.named_scope("exchange")
    def _exchanged(self, gradients):
        """Their means over all workers, by one all-reduce: Gloo's time is mostly its number of messages."""
        flat, parted = ravel_pytree(gradients)
        return parted(lax.pmean(flat, _WORKERS))

    def _exchange_phase(self, gradients, stamps):
        return stamps.after("communication", self._program(self._exchanged)(gradients))

    def check(self, images, labels):
        """One update, each worker with its own part of the global batch: mean loss, mean gradients, new weights.

        No activations and no logits: each worker has those of its own part.
        """
        batch = self._placed(self._normalised(images), labels)
        self._state, loss, gradients = self._program(self._checked)(self._state, *batch)
        own = {name: values.addressable_data(0) for name, values in gradients.items()}
        return {"activation": {}, "logits": np.zeros(0), "loss": float(loss.addressable_data(0)),
                "gradient": {parameter.name: array(model.canonical(own[parameter.name], self.layout))
                             for parameter in self._parameters if parameter.is_trainable},
                "weight": self.weights()}

    def _checked(self, state, images, labels):
        def loss_of(weights):
            mode = model.Mode(self._form, True)
            logits = model.forward(self._table, dict(weights, **state.running), images, mode)
            return cross_entropy(logits, labels), mode.statistics

        (loss, running), gradients = jax.value_and_grad(loss_of, has_aux=True)(state.weights)
        gradients = self._exchanged(gradients)
        return self._update(state, gradients, running), lax.pmean(loss, _WORKERS), gradients

    def value(self, handle):
        """The mean loss of this process's workers."""
        return float(np.mean([np.asarray(part.data) for part in handle.addressable_shards]))


def _join(cell, cluster):
    """Meet the other processes, before JAX makes its first array."""
    if cell.device == "cpu":
        jax.config.update("jax_num_cpu_devices", cell.gpus)
    if len(cluster.places) == 1:
        return
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    address = os.environ["JAX_COORDINATOR_ADDRESS"]
    jax.distributed.initialize(
        address, len(cluster.places), cluster.rank, cluster_detection_method="deactivate",
        coordinator_bind_address="0.0.0.0:" + address.rpartition(":")[2], initialization_timeout=PATIENCE_SECONDS,
        heartbeat_timeout_seconds=_SECONDS, shutdown_timeout_seconds=_SECONDS)


def _devices(cell):
    """So many devices of each process as the cell has, process by process. Raises Unsupported."""
    settings.device(cell)
    by_process = [[device for device in jax.devices(settings.platform(cell)) if device.process_index == process]
             for process in range(jax.process_count())]
    if min(map(len, by_process)) < cell.gpus:
        raise Unsupported("JAX sees %d GPUs here, expected %d" % (min(map(len, by_process)), cell.gpus))
    return [device for devices in by_process for device in devices[:cell.gpus]]


def _without(spec, value):
    """A worker's own part of a value, without the axis of workers."""
    if isinstance(spec, State):
        return value._replace(running=_without(_OWN, value.running))
    return jax.tree.map(lambda part: part[0], value) if spec == _OWN else value


def _with(spec, value):
    """The opposite; spec may be of each of several values."""
    if isinstance(spec, State):
        return value._replace(running=_with(_OWN, value.running))
    if isinstance(spec, PartitionSpec):
        return jax.tree.map(lambda part: part[None], value) if spec == _OWN else value
    return tuple(_with(each, part) for each, part in zip(spec, value))


def Sequences(cell, cluster):
    """Raises Unsupported: workers run one program, whose batches have one shape."""
    raise Unsupported("JAX's workers run one program of one shape: sequence tasks run in one place")
