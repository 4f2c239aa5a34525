"""A user's own torch.nn.Module: eager and compiled. PyTorch 2."""
import contextlib
import copy
import functools
import itertools

import numpy as np
import torch
from torch import nn

from workloads.frameworks.own.user_file import (
    CHECKED,
    UserFile,
    demand_repeatable,
    demand_training_repeatable,
    flat,
    mapped,
)
from workloads.frameworks.pytorch import settings
from workloads.frameworks.pytorch.steps import Steps, array, no_gradients
from workloads.process.errors import DataError, place_of
from workloads.spec.measures import FORWARD

_RUNNING = ("running_mean", "running_var")
_DROPOUTS = tuple(kind + end for kind in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
                  for end in ("", "_"))
_UNUSED = (-100,)          # the target that PyTorch's cross-entropy passes over


class Workload(Steps):
    """The file's model() with its loss and optimizer. Raises Unsupported, DataError."""

    layout = "native"

    def __init__(self, cell, folder):
        settings.apply(cell)
        self.cell, self._device = cell, settings.device(cell)
        self.loop, self.precision = settings.loop(cell), settings.precision(cell)
        torch.manual_seed(cell.seed)
        self.file = UserFile(cell, folder, settings.of_numbers)
        self._net = self.file.made("model", nn.Module)
        self._net.to(self._device, torch.float64 if cell.precision == "float64" else torch.float32)
        if cell.measure not in FORWARD:
            parameters = [each for each in self._net.parameters() if each.requires_grad]
            self._optimize(self.file.made("optimizer", torch.optim.Optimizer, parameters)
                           if self.file.function("optimizer") else settings.optimizer(cell, parameters))
        self._lost = self.file.loss(_cross_entropy, nn.functional.mse_loss)
        self._forward = self._net
        if settings.is_compiled(cell):
            mode = self.file.lane.mode
            self._forward = torch.compile(self._net, mode=mode) if mode else settings.compiled(self._net, cell)
            self.loop = ", ".join(filter(None, [self.loop, mode]))
        if cell.precision == "amp":
            autocast = torch.autocast(self._device.type, dtype=torch.bfloat16)
            self._forward, self._lost = autocast(self._forward), autocast(self._lost)
        self.load(self.file.weights(self.weights()))

    def module(self):
        """The torch.nn.Module, with the weights that all lanes have."""
        return self._net

    def answered(self):
        """Copies of what it infers of the timed batch, by path."""
        with no_gradients():
            return _arrays(self._called(self._batch()[0]))

    def _tensors(self):
        """What is given to the net: parameters, and normalisation's running statistics, by name."""
        named = dict(self._net.named_parameters())
        named.update((name, tensor) for name, tensor in self._net.named_buffers()
                     if name.rpartition(".")[2] in _RUNNING)
        return named

    def load(self, weights):
        """Copy the arrays, by the file's own names, into the net."""
        with torch.no_grad():
            for name, tensor in self._tensors().items():
                tensor.copy_(torch.from_numpy(np.asarray(weights[name])))

    def weights(self):
        """Copies of the arrays by name."""
        return {name: array(tensor) for name, tensor in self._tensors().items()}

    def synthetic(self):
        """One batch, over and over."""
        return itertools.repeat(self._batch())

    def _batch(self, *number):
        return mapped(lambda each: torch.tensor(each, device=self._device), self.file.batch(*number))

    def _answer(self, inputs, targets):
        return self._called(inputs)

    def _called(self, inputs):
        return _call(self._forward, inputs)

    def _loss(self, inputs, targets):
        return self._lost(self._called(inputs), targets)

    def sync(self, handle):
        """Nothing on a CPU: operators return when they are done."""

    def check(self):
        """Arrays by kind: inference twice, then one update in training mode without dropout."""
        inputs, targets = self._batch(CHECKED)
        self._demand_width(inputs, targets)
        self._net.eval()
        with no_gradients():
            one, other = (_arrays(self._called(inputs)) for _ in range(2))
        demand_repeatable(self.file.name, one, other)
        if targets is None:                      # it only infers
            return {"inferred": one}
        self._net.train()
        _switch_dropout_off()
        (activations, biased), (again, _) = self._layers(inputs), self._layers(inputs)
        demand_training_repeatable(self.file.name, activations, again)
        seen, forward = [], self._forward
        self._forward = lambda *words, **named: seen.append(forward(*words, **named)) or seen[-1]  # type: ignore
        loss = self._step(inputs, targets)
        gradients = {name: np.zeros(tuple(tensor.shape)) if tensor.grad is None else array(tensor.grad)
                     for name, tensor in self._net.named_parameters()}
        new = self.weights()
        running = {name: new.pop(name) for name in list(new) if name.rpartition(".")[2] in _RUNNING}
        running.update((name, biased[name](running[name])) for name in biased)
        return {"inferred": one, "activation": {} if settings.is_compiled(self.cell) else activations,
                "logits": _arrays(seen[0]), "loss": {"loss": float(loss)}, "gradient": self.file.shared(gradients),
                "weight": self.file.shared(new), "statistic": self.file.shared(running)}

    def _demand_width(self, inputs, targets):
        """Raise DataError where a pass in float32 computes in fewer bits, or a layer does not take what it gets.

        In float32 whatever the cell's precision: autocast leaves float64 alone.
        """
        state, was_training, net = copy.deepcopy(self._net.state_dict()), self._net.training, self._net.float()
        single = mapped(lambda each: each.float() if each.is_floating_point() else each, (inputs, targets))
        for is_training in (False, True):
            net.train(is_training)
            with self.file.ran(), torch.no_grad(), self._layer_named(), settings.widths() as narrow:
                outputs = _call(net, single[0])
                if is_training and targets is not None:
                    self.file.demand_classes(_arrays(outputs), array(targets), _UNUSED)
                    self._lost(outputs, single[1])
            if narrow and self.precision != "amp":
                raise DataError("%s: it computes in %s (%s), and the row is of float32: take it out; --set "
                                "precision=bf16 is there" % (self.file.name, *next(iter(narrow.items()))))
        net.to(self._device, torch.float64 if self.cell.precision == "float64" else torch.float32)
        net.load_state_dict(state)
        net.train(was_training)

    @contextlib.contextmanager
    def _layer_named(self):
        """Let an error of the framework's within a layer name the layer. Raises DataError."""
        entered = []
        hooks = [module.register_forward_pre_hook(lambda module, inputs, name=name: entered.append((name, module)))
                 for name, module in self._net.named_modules()]
        hooks += [module.register_forward_hook(lambda *words: entered.pop() and None)
                  for module in self._net.modules()]
        try:
            yield
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            if not entered or not entered[-1][0]:
                raise
            raise DataError("%slayer %s, %s: %s" % (place_of(error) or self.file.name + ": ", *entered[-1],
                                                    str(error).splitlines()[0])) from error
        finally:
            for hook in hooks:
                hook.remove()

    def _layers(self, inputs):
        """Of an eager pass in training mode, which is undone: each layer's outputs by name, and how its running
        variance becomes that of the batch as it is: PyTorch keeps n / (n - 1) times it, Keras does not.
        """
        kept, biased, state = {}, {}, copy.deepcopy(self._net.state_dict())

        def keep(name, module, inputs, output):
            kept.update({place: array(each) for place, each in flat(output, name).items()
                         if isinstance(each, torch.Tensor)})
            if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_var is not None:
                share, count = 1 - (module.momentum or 1.0), inputs[0].numel() // inputs[0].shape[1]
                old = share * array(state[name + ".running_var"])
                biased[name + ".running_var"] = lambda new: old + (new - old) * (count - 1) / count

        hooks = [module.register_forward_hook(functools.partial(keep, name))
                 for name, module in self._net.named_modules() if not list(module.children())]
        with torch.no_grad():
            kept.update(_arrays(_call(self._net, inputs)))
        for hook in hooks:
            hook.remove()
        self._net.load_state_dict(state)
        return kept, biased


def _cross_entropy(outputs, targets):
    return nn.functional.cross_entropy(outputs.reshape(-1, outputs.shape[-1]), targets.reshape(-1))


def _call(forward, inputs):
    if isinstance(inputs, dict):
        return forward(**inputs)
    return forward(*inputs) if isinstance(inputs, (tuple, list)) else forward(inputs)


def _switch_dropout_off():
    """Let nothing be dropped in this process any more, whoever asks for it: all ways lead to these operators.

    What torch.compile has looked up before is looked up anew.
    """
    for name in _DROPOUTS:
        for key in ("CPU", "AutogradCPU"):
            _OPERATORS.impl(name, lambda input, p, train: input, key)
        getattr(getattr(torch.ops.aten, name).default, "_dispatch_cache", {}).clear()


_OPERATORS = torch.library.Library("aten", "IMPL")       # what it says holds as long as it is there


def _arrays(outputs):
    """Copies of the tensors among what a model returned, by path."""
    return {name: array(each) for name, each in flat(outputs).items() if isinstance(each, torch.Tensor)}
