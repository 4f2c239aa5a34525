"""Generation token after token in PyTorch: a prompt, and each token after it with a cache of keys and values.

Who inherits it is a sequence model's Workload whose module has prefill(weights, ids, cache, sizes, mode) and
decode(weights, tokens, position, cache, sizes, mode), which give logits. PyTorch 1.4 and later.
"""
import torch

from workloads.frameworks import contract
from workloads.frameworks.pytorch import settings
from workloads.frameworks.pytorch.models.transformer import Cache
from workloads.frameworks.pytorch.steps import Steps, array, no_gradients
from workloads.spec import sequence_tasks


class Generation(Steps, contract.Sequences):
    """The next token is that of the greatest logit. Eagerly the cache is read as far as it is written; a compiled
    program has one shape for all positions, and reads all of it."""

    generates = True
    _sizes = _model = _numbers = _evaluating = _arranged = _placed = _forward = contract.OF_HEIRS
    _in_precision = _prepared = contract.OF_HEIRS

    def prefill(self, batches, count, watch):
        """Read a prompt count times; the watch gets the token after each one."""
        self._net.eval()
        cache, first = self._cache(self.cell.batch), self._prepared(self._first)
        with no_gradients():
            for batch in contract.watched(batches, count, watch):
                watch.stepped(first(batch[0]["ids"], cache))

    def decode(self, batches, count, watch):
        """Generate count tokens, up to the greatest length and from the prompt on again; the watch gets each.

        The prompt is read before, and belongs to no step: it is read eagerly, since a program for it would be compiled
        for one call.
        """
        self._net.eval()
        cache, following = self._cache(self.cell.batch), self._prepared(self._following)
        positions = self._positions()
        with no_gradients():
            first = token = self._in_precision(self._first)(next(batches)[0]["ids"], cache)
            self.sync(token)
            watch.resumed()
            for step in range(count):
                turn = step % len(positions)
                token = following(token if turn else first, positions[turn], cache)
                watch.stepped(token)

    def decode_program(self, batches, count, watch):
        """The same, all tokens of a sequence by a loop of Python that waits for none: PyTorch's own has no gradients to
        keep, and unrolls where it is compiled."""
        self._net.eval()
        cache, following = self._cache(self.cell.batch), self._prepared(self._following)
        positions = self._positions()
        with no_gradients():
            first = self._in_precision(self._first)(next(batches)[0]["ids"], cache)
            self.sync(first)
            watch.resumed()
            for _ in range(count):
                tokens = [first]
                for position in positions:
                    tokens.append(following(tokens[-1], position, cache))
                watch.stepped(torch.stack(tokens[1:], 1))

    def tokens(self, handle):
        """See contract.Sequences."""
        return handle.cpu().numpy()

    def cached(self, batch):
        """What a batch's own tokens after the prompt are answered with: by the cache, and by a pass over all of them.

        Both are logits (batch, positions from the prompt's last one on, tokens known).
        """
        self._net.eval()
        ids = self._placed(self._arranged(batch))["ids"]
        prompt, cache, decode = sequence_tasks.prompt(self.cell), self._cache(len(ids)), self._prepared(self._decoded)
        with no_gradients():
            by_cache = [self._prepared(self._prompted)(ids, cache)]
            by_cache += [decode(ids[:, prompt + turn], position, cache)
                      for turn, position in enumerate(self._positions())]
            whole = self._forward(self._net.weights, {"ids": ids}, self._sizes, self._evaluating)
        stacked = torch.stack(by_cache, 1)
        return array(stacked), array(whole.reshape(ids.shape + (-1,))[:, prompt - 1:])

    def _first(self, ids, cache):
        """The token (batch,) after the prompt, the first ones of ids."""
        return self._prompted(ids, cache).argmax(-1)

    def _following(self, tokens, position, cache):
        """The tokens (batch,) after those at the position."""
        return self._decoded(tokens, position, cache).argmax(-1)

    def _prompted(self, ids, cache):
        """The logits after the prompt."""
        ids = ids[:, :sequence_tasks.prompt(self.cell)]
        return self._model.prefill(self._net.weights, ids, cache, self._sizes, self._evaluating)

    def _decoded(self, tokens, position, cache):
        """The logits after the tokens at the position."""
        return self._model.decode(self._net.weights, tokens, position, cache, self._sizes, self._evaluating)

    def _positions(self):
        """Those after the prompt, as the cache takes them."""
        every = range(sequence_tasks.prompt(self.cell), self._sizes.length)
        is_compiled = settings.is_compiled(self.cell)
        return [torch.tensor(each, device=self._device) for each in every] if is_compiled else list(every)

    def _cache(self, batch):
        sizes = self._sizes
        shape = sequence_tasks.kept_shape(self.cell, batch)
        return Cache(sizes.layers, shape, self._kept_in(), self._device)

    def _kept_in(self):
        """The dtype of keys and values: that in which they are computed."""
        if self.cell.precision == "amp":
            return torch.bfloat16
        return getattr(torch, self._numbers)
