"""The sequence models as evenbench measures them in PyTorch. PyTorch 1.4 and later, Python 3.6."""
import importlib
import itertools
from collections import OrderedDict

import torch
from torch import nn

from workloads.frameworks.forward_pass import Mode, rotations
from workloads.frameworks.pytorch import settings
from workloads.frameworks.pytorch.generating import Generation
from workloads.frameworks.pytorch.models import recurrent
from workloads.frameworks.pytorch.steps import array
from workloads.inputs import loading
from workloads.process.errors import Unsupported
from workloads.spec import sequence_tasks, tasks
from workloads.spec.measures import FORWARD
from workloads.spec.models import lstm_kernels

_RECURRENT = ".recurrent.weight"


class Workload(Generation):
    """A sequence model with its loss and optimizer, as a cell says. Raises errors.Unsupported.

    pytorch/models/<task>.py has what contract.Model says.
    Arrays that an operation reads on the host are named name.host by arrange: to copy them back from a GPU would wait
    for it within a step.
    """

    def __init__(self, cell):
        settings.apply(cell)
        if cell.init == "framework":
            raise Unsupported("the sequence models have evenbench's own weights in every framework")
        reason = lstm_kernels.missing("pytorch", cell.device, cell.lstm)
        if reason:
            raise Unsupported(reason)
        self.cell = cell
        self._device = settings.device(cell)
        self.loop, self.layout = settings.loop(cell), "native"
        self.precision = cell.precision if _is_half(cell) else settings.precision(cell)
        self._numbers = "float64" if cell.precision == "float64" else "float32"
        torch.manual_seed(cell.seed)
        self._model = importlib.import_module("workloads.frameworks.pytorch.models." + cell.task)
        self._sizes = sequence_tasks.sizes(cell)
        constants = {"turns": rotations(self._sizes)} if cell.task == "llama" else {}
        self._net = _Weights(sequence_tasks.parameters(cell), constants, getattr(torch, self._numbers)).to(self._device)
        if self._device.type == "cuda":
            self._net.pack_lstms()
        if cell.measure not in FORWARD:              # to make one takes PyTorch 2 a second
            self._optimize(settings.optimizer(cell, [p for p in self._net.parameters() if p.requires_grad]))
        self.attention = settings.attention(cell)
        self._training = Mode(cell.lstm, is_training=True, attention=self.attention)
        self._evaluating = Mode(cell.lstm, is_training=False, attention=self.attention)
        self._forward, self._losing = self._prepared(self._model.forward), self._prepared(self._logits_and_loss)
        if cell.precision == "amp":
            self._try_layer()

    def _try_layer(self):
        """Raise Unsupported where an LSTM layer cannot run in the cell's precision: a CPU may have no kernel for it."""
        try:
            self.kernels()
        except RuntimeError as error:
            raise Unsupported("PyTorch %s has no LSTM in precision amp for this processor: %s" % (
                torch.__version__, str(error).split(". Run workload")[0])) from None

    def _prepared(self, function):
        """The function as the cell's switches want it run."""
        if settings.is_compiled(self.cell):
            function = settings.compiled(function, self.cell)
        return self._in_precision(function)

    def _logits_and_loss(self, weights, batch, sizes, mode):
        """(logits, loss) of a batch; inference is forward alone."""
        said = self._model.forward(weights, batch, sizes, mode)
        return sequence_tasks.logits(said), self._model.loss(said, batch, sizes)

    def _in_precision(self, function):
        """The function by PyTorch's own casts, to float16 or bfloat16, where the cell's precision is amp."""
        if self.cell.precision != "amp":
            return function
        if _is_half(self.cell):
            return torch.cuda.amp.autocast()(function)
        return torch.autocast(self._device.type, dtype=torch.bfloat16)(function)

    def kernels(self):
        """{"lstm": the operations that an LSTM layer of the model really runs, by PyTorch's profiler}, as facts."""
        names = [name[:-len(_RECURRENT)] for name in self._net.named if name.endswith(_RECURRENT)]
        if not names:
            return {}
        mode = Mode(self.cell.lstm, is_training=self.cell.measure != "infer")
        x = torch.zeros(2, 2, self._net.named[names[0] + ".input.weight"].shape[1], device=self._device,
                        dtype=getattr(torch, self._numbers))
        run = self._in_precision(recurrent.lstm)
        with torch.set_grad_enabled(mode.is_training), torch.autograd.profiler.profile() as profile:
            run(self._net.weights, names[0], x, mode)
        is_cast = self.precision == "amp"
        return dict({"lstm": recurrent.kernel_of({event.key for event in profile.key_averages()})},
                    **recurrent.memory_of(self._net.weights, names[0], is_cast))

    def load(self, weights):
        """Copy the arrays of every parameter and running statistic, by canonical name."""
        with torch.no_grad():
            for name, tensor in self._net.named.items():
                tensor.copy_(torch.from_numpy(weights[name]))

    def weights(self):
        """Copies of the arrays by canonical name."""
        return {name: array(tensor) for name, tensor in self._net.named.items()}

    def batches(self, batches):
        """The batches on the device, in the order given, over and over."""
        arranged = itertools.cycle([self._arranged(batch) for batch in batches])
        if self._device.type == "cuda":
            arranged = loading.ahead({name: torch.tensor(values).pin_memory() for name, values in batch.items()}
                                     for batch in arranged)
        return ((self._placed(batch),) for batch in arranged)

    def synthetic(self, batches):
        """The first batch, which lies on the device, over and over."""
        return itertools.repeat((self._placed(self._arranged(batches[0])),))

    def _arranged(self, batch):
        return self._model.arrange(batch)

    def _placed(self, batch):
        """The batch on the device, but for the arrays that the model wants on the host."""
        return {name: self._placed_array(name, array) for name, array in batch.items()}

    def _placed_array(self, name, array):
        if name.endswith(".host"):
            return torch.as_tensor(array)
        if isinstance(array, torch.Tensor):
            return array.to(self._device, non_blocking=True)
        return torch.tensor(array, device=self._device)

    def _loss(self, batch):
        return self._losing(self._net.weights, batch, self._sizes, self._training)[1]

    def _answer(self, batch):
        return sequence_tasks.logits(self._forward(self._net.weights, batch, self._sizes, self._evaluating))

    def check(self, batch):
        """One update in training mode without dropout: what the model keeps, logits, loss, gradients, new weights.

        A compiled function keeps nothing: there activations are left out.
        """
        is_compiled = settings.is_compiled(self.cell)
        kept = OrderedDict()
        mode = Mode(self.cell.lstm, is_training=True, has_dropout=False, kept=None if is_compiled else kept,
                    attention=self.attention)
        step = self._losing if is_compiled else self._logits_and_loss
        logits, loss = step(self._net.weights, self._placed(self._arranged(batch)), self._sizes, mode)
        self._optimizer.zero_grad(**self._clearing)
        loss.backward()
        gradients = {name: array(tensor.grad) for name, tensor in self._net.named.items() if tensor.requires_grad}
        self._optimizer.step()
        return {"activation": {name: array(tensor) for name, tensor in kept.items()},
                "logits": array(logits), "loss": float(loss), "gradient": gradients, "weight": self.weights()}


def _is_half(cell):
    """Whether amp is float16, as in mahorker: a GPU's inference by an LSTM, which needs no scaling of a loss."""
    return (cell.precision == "amp" and cell.device == "gpu" and cell.measure == "infer"
            and not tasks.is_transformer(cell) and hasattr(torch.cuda, "amp"))


class _Weights(nn.Module):
    """The arrays of a model by canonical name, which PyTorch's own modules could not have: theirs have no dots.

    weights is what a model's forward function takes: the same arrays, and what pack_lstms adds.
    """

    def __init__(self, parameters, constants, dtype):
        super().__init__()
        for name, values in constants.items():
            self.register_buffer(name, torch.tensor(values, dtype=dtype))
        self.named = OrderedDict()
        for parameter in parameters:
            name, zeros = _own_name(parameter.name), torch.zeros(parameter.shape, dtype=dtype)
            if parameter.is_trainable:
                self.register_parameter(name, nn.Parameter(zeros))
            else:
                self.register_buffer(name, zeros)
        self._names, self._constants = [parameter.name for parameter in parameters], list(constants)
        self._zeros = {}
        self._collect()

    def pack_lstms(self):
        """Have each LSTM layer's arrays lie in one buffer, as cuDNN wants them; call it where they stay.

        nn.LSTM allocates it. Else torch.lstm would copy all weights into such a buffer in every forward pass.
        """
        for name in [name[:-len(_RECURRENT)] for name in self._names if name.endswith(_RECURRENT)]:
            packed = recurrent.packed(self.named[name + ".input.weight"], self.named[name + _RECURRENT])
            for kind, parameter in zip(recurrent.TRAINED, packed):
                self.register_parameter(_own_name(name + kind), parameter)
            self._zeros[name + recurrent.ZERO] = packed[-1]
        self._collect()

    def _apply(self, change):
        """As a module's, which may put other tensors in the old ones' place."""
        super()._apply(change)
        self._collect()
        return self

    def _collect(self):
        own = dict(itertools.chain(self.named_parameters(), self.named_buffers()))
        self.named = OrderedDict((name, own[_own_name(name)]) for name in self._names)
        self.weights = dict(self.named, **self._zeros)
        self.weights.update((name, own[name]) for name in self._constants)


def _own_name(name):
    return name.replace(".", "/")
