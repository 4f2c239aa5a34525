"""A user's own torch.nn.Module: eager and compiled. PyTorch 2."""
import itertools

import numpy as np
import torch
from torch import nn

from workloads.frameworks.own.user_file import CHECKED, UserFile, demand_repeatable, flat, mapped
from workloads.frameworks.pytorch import settings
from workloads.frameworks.pytorch.steps import Steps, array, inductor, no_gradients
from workloads.process.errors import DataError
from workloads.spec.measures import FORWARD

_RUNNING = ("running_mean", "running_var")
_DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


class Workload(Steps):
    """The file's model() with its loss and optimizer. Raises Unsupported, DataError."""

    layout = "native"

    def __init__(self, cell):
        settings.apply(cell)
        self.cell, self._device = cell, settings.device(cell)
        self.loop, self.precision = settings.loop(cell), settings.precision(cell)
        torch.manual_seed(cell.seed)
        self._file = UserFile(cell)
        self._net = self._file.call("model")
        if not isinstance(self._net, nn.Module):
            raise DataError("%s: model(): found %s, expected a torch.nn.Module" % (
                self._file.name, type(self._net).__name__))
        self._net.to(self._device, torch.float64 if cell.precision == "float64" else torch.float32)
        if cell.measure not in FORWARD:
            parameters = [each for each in self._net.parameters() if each.requires_grad]
            self._optimize(self._file.call("optimizer", parameters) if self._file.has("optimizer")
                           else settings.optimizer(cell, parameters))
        self._forward = self._net
        if settings.is_compiled(cell):
            self.compiled = inductor
            self._forward = settings.compiled(self._net, cell)
        self.load(self._file.weights(self.weights()))

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
        return mapped(lambda each: torch.tensor(each, device=self._device), self._file.batch(*number))

    def _answer(self, inputs, targets):
        return self._called(inputs)

    def _called(self, inputs):
        if isinstance(inputs, dict):
            return self._forward(**inputs)
        return self._forward(*inputs) if isinstance(inputs, (tuple, list)) else self._forward(inputs)

    def _loss(self, inputs, targets):
        return self._lost(self._called(inputs), targets)

    def _lost(self, outputs, targets):
        """The file's loss; else cross-entropy of the first output's last axis, or the mean square of a difference."""
        if self._file.has("loss"):
            return self._file.call("loss", outputs, targets)
        first = next(iter(flat(outputs).values()))
        if not targets.is_floating_point():
            return nn.functional.cross_entropy(first.reshape(-1, first.shape[-1]), targets.reshape(-1))
        if first.shape != targets.shape:
            raise DataError("%s: found outputs %s and targets %s, expected equal shapes, or a loss(outputs, targets)"
                            % (self._file.name, tuple(first.shape), tuple(targets.shape)))
        return nn.functional.mse_loss(first, targets)

    def sync(self, handle):
        """Nothing on a CPU: operators return when they are done."""

    def check(self):
        """Arrays by kind: inference twice, then one update in training mode without dropout."""
        inputs, targets = self._batch(CHECKED)
        self._net.eval()
        with no_gradients():
            one, other = (_arrays(self._called(inputs)) for _ in range(2))
        demand_repeatable(self._file.name, one, other)
        if targets is None:                      # it only infers
            return {"inferred": one}
        self._net.train()
        _switch_dropout_off(self._net)
        kept = {}
        hooks = [] if settings.is_compiled(self.cell) else [
            module.register_forward_hook(_keeping(kept, name)) for name, module in self._net.named_modules()
            if not list(module.children())]
        outputs = self._called(inputs)
        for hook in hooks:
            hook.remove()
        loss = self._lost(outputs, targets)
        self._optimizer.zero_grad()
        loss.backward()
        gradients = {name: np.zeros(tuple(tensor.shape)) if tensor.grad is None else array(tensor.grad)
                     for name, tensor in self._net.named_parameters()}
        self._optimizer.step()
        new = self.weights()
        running = {name: values for name, values in new.items() if name.rpartition(".")[2] in _RUNNING}
        return {"inferred": one, "activation": kept, "logits": _arrays(outputs), "loss": {"loss": float(loss.detach())},
                "gradient": self._file.shared(gradients), "statistic": running,
                "weight": self._file.shared({name: values for name, values in new.items() if name not in running})}


def _switch_dropout_off(net):
    """Let nothing be dropped in this process any more: by modules, functions, attention or recurrent layers."""
    functional = nn.functional
    for name in _DROPOUTS:
        setattr(functional, name, lambda input, *words, **named: input)
    attend = functional.scaled_dot_product_attention

    def attend_to_all(query, key, value, attn_mask=None, dropout_p=0.0, *words, **named):
        return attend(query, key, value, attn_mask, 0.0, *words, **named)

    functional.scaled_dot_product_attention = attend_to_all
    for module in net.modules():
        if isinstance(module, nn.RNNBase):
            module.dropout = 0.0


def _keeping(kept, name):
    def hook(module, inputs, output):
        kept.update({place: array(each) for place, each in flat(output, name).items()
                     if isinstance(each, torch.Tensor)})
    return hook


def _arrays(outputs):
    """Copies of the tensors among what a model returned, by path."""
    return {name: array(each) for name, each in flat(outputs).items() if isinstance(each, torch.Tensor)}
