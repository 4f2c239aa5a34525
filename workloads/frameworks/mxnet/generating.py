"""Generation token after token in MXNet: a prompt, and each token after it with a cache of keys and values.

Who inherits it is a sequence model's Workload whose module has prefill(weights, ids, cache, sizes, mode) and
decode(weights, tokens, position, cache, sizes, mode), which give logits. MXNet 1.7 and 1.9.
"""
import mxnet as mx

from workloads.frameworks.mode import Mode
from workloads.frameworks.mxnet.models.transformer import Cache
from workloads.spec import sequence_tasks


class Generation:
    """The next token is that of the greatest logit; the cache is read as far as it is written."""

    generates = True

    def prefill(self, batches, count, watch):
        """Read a prompt count times; the watch gets the token after each one."""
        weights, cache = self._arrays(), self._cache(self.cell.batch)
        for _ in range(count):
            watch.loading()
            ids = next(batches)[0]["ids"]
            watch.loaded()
            watch.stepped(self._prompted(weights, ids, cache).argmax(-1))

    def decode(self, batches, count, watch):
        """Generate count tokens, up to the greatest length and from the prompt on again; the watch gets each.

        The prompt is read before, and belongs to no step.
        """
        weights, cache, positions = self._arrays(), self._cache(self.cell.batch), self._positions()
        first = token = self._prompted(weights, next(batches)[0]["ids"], cache).argmax(-1)
        self.sync(token)
        watch.resumed()
        for step in range(count):
            turn = step % len(positions)
            token = self._decoded(weights, token if turn else first, positions[turn], cache).argmax(-1)
            watch.stepped(token)

    def cached(self, batch):
        """What a batch's own tokens after the prompt are answered with: by the cache, and by a pass over all of them.

        Both are logits (batch, positions from the prompt's last one on, tokens known).
        """
        ids = self._placed(self._arranged(batch))["ids"]
        prompt, weights, cache = sequence_tasks.prompt(self.cell), self._arrays(), self._cache(len(ids))
        by_cache = [self._prompted(weights, ids, cache)]
        by_cache += [self._decoded(weights, ids[:, position], position, cache) for position in self._positions()]
        whole = self._answer({"ids": ids}).asnumpy().reshape(ids.shape + (-1,))
        return mx.nd.stack(*by_cache, axis=1).asnumpy(), whole[:, prompt - 1:]

    def value(self, handle):
        """The tokens of a step, an array; of measures that generate none as Steps says."""
        return handle.asnumpy() if self.cell.measure in sequence_tasks.GENERATING else super().value(handle)

    def _prompted(self, weights, ids, cache):
        """The logits after the prompt, the first ones of ids."""
        ids = ids[:, :sequence_tasks.prompt(self.cell)]
        return self._model.prefill(weights, ids, cache, self._sizes, Mode(self.cell.lstm, is_training=False))

    def _decoded(self, weights, tokens, position, cache):
        """The logits after the tokens at the position."""
        return self._model.decode(weights, tokens, position, cache, self._sizes,
                                  Mode(self.cell.lstm, is_training=False))

    def _positions(self):
        """Those after the prompt."""
        return range(sequence_tasks.prompt(self.cell), self._sizes.length)

    def _cache(self, batch):
        sizes = self._sizes
        shape = batch * sizes.heads, sizes.length, sizes.width // sizes.heads
        return Cache(sizes.layers, shape, self._numbers, self._device)
