"""Generation token after token in TensorFlow 2: a prompt, and each token after it with a cache of keys and values.

Who inherits it is a sequence model's Workload whose module has prefill(weights, ids, cache, sizes, mode) and
decode(weights, tokens, position, cache, sizes, mode), which give logits.
"""
from functools import partial

import numpy as np
import tensorflow as tf

from workloads.frameworks import contract
from workloads.frameworks.tensorflow import settings, steps_v2
from workloads.frameworks.tensorflow.models.blocks import Mode, wide
from workloads.frameworks.tensorflow.models.transformer import Cache
from workloads.spec import sequence_tasks


class Generation(steps_v2.Steps, contract.Sequences):
    """The next token is that of the greatest logit. A function has one shape for all positions, as XLA needs it, and
    reads the whole cache."""

    generates = True
    _sizes = _model = _numbers = _arrays = _arranged = _placed = _specify = contract.OF_HEIRS
    _generators = None             # what _of_one_cache() gave

    def prefill(self, batches, count, watch):
        """Read a prompt count times; the watch gets the token after each one."""
        first, _ = self._of_one_cache()
        for batch in contract.watched(batches, count, watch):
            watch.stepped(first(batch[0]["ids"]))

    def decode(self, batches, count, watch):
        """Generate count tokens, up to the greatest length and from the prompt on again; the watch gets each.

        The prompt is read before, and belongs to no step: it is read eagerly, since a function would be traced for it.
        """
        read, following = self._of_one_cache()
        positions = self._positions()
        first = token = read(next(batches)[0]["ids"])
        np.asarray(token)
        watch.resumed()
        for step in range(count):
            turn = step % len(positions)
            token = following(token if turn else first, positions[turn])
            watch.stepped(token)

    def decode_program(self, batches, count, watch):
        """The same, all tokens of a sequence by tf.while_loop."""
        cache = self._cache(self.cell.batch)
        first, generate = self._first(cache, next(batches)[0]["ids"]), self._generating(self._sequence, cache)
        np.asarray(first)
        watch.resumed()
        for _ in range(count):
            watch.stepped(generate(first))

    def _of_one_cache(self):
        """What reads a prompt and what gives a token after it, of one cache; made once, since functions are traced."""
        if self._generators is None:
            cache, is_timed = self._cache(self.cell.batch), self.cell.measure == "prefill"
            read = self._generating(self._first, cache) if is_timed else partial(self._first, cache)
            self._generators = read, self._generating(self._following, cache)
        return self._generators

    def cached(self, batch):
        """What a batch's own tokens after the prompt are answered with: by the cache, and by a pass over all of them.

        Both are logits (batch, positions from the prompt's last one on, tokens known).
        """
        batch = self._arranged(batch)
        self._specify({name: tf.TensorSpec(array.shape, array.dtype, name) for name, array in batch.items()})
        placed, prompt = self._placed(batch), sequence_tasks.prompt(self.cell)
        ids, cache = placed["ids"], self._cache(len(batch["ids"]))
        decode = self._generating(self._decoded, cache)
        by_cache = [self._generating(self._prompted, cache)(ids)]
        by_cache += [decode(ids[:, prompt + turn], position) for turn, position in enumerate(self._positions())]
        whole = np.asarray(self._logits(placed)).reshape(batch["ids"].shape + (-1,))
        return np.stack([np.asarray(each) for each in by_cache], 1), whole[:, prompt - 1:]

    def _first(self, cache, ids):
        """The token (batch,) after the prompt, the first ones of ids."""
        return tf.argmax(self._prompted(cache, ids), -1)

    def _following(self, cache, tokens, position):
        """The tokens (batch,) after those at the position."""
        return tf.argmax(self._decoded(cache, tokens, position), -1)

    def _sequence(self, cache, first):
        """All tokens (batch, positions after the prompt) after the first ones."""
        start, end = sequence_tasks.prompt(self.cell), self._sizes.length

        def following(position, token, tokens):
            token = self._following(cache, token, position)
            return position + 1, token, tokens.write(position - start, token)

        tokens = tf.TensorArray(first.dtype, end - start, element_shape=first.shape)
        *_, tokens = tf.while_loop(lambda position, *_: position < end, following, (start, first, tokens))
        return tf.transpose(tokens.stack())

    def _prompted(self, cache, ids):
        """The logits after the prompt."""
        ids = ids[:, :sequence_tasks.prompt(self.cell)]
        return wide(self._model.prefill(self._arrays.named, ids, cache, self._sizes, _evaluating(self.cell)))

    def _decoded(self, cache, tokens, position):
        """The logits after the tokens at the position."""
        return wide(self._model.decode(self._arrays.named, tokens, position, cache, self._sizes,
                                       _evaluating(self.cell)))

    def _generating(self, function, cache):
        """The function of a cache as the cell's loop calls it, without the cache, which are variables."""
        def of_cache(*arguments):
            return function(cache, *arguments)

        if self.loop == "eager":
            return of_cache
        return tf.function(of_cache, autograph=False, **settings.of_function(self.cell))

    def _positions(self):
        """Those after the prompt."""
        return [tf.constant(each) for each in range(sequence_tasks.prompt(self.cell), self._sizes.length)]

    def _cache(self, batch):
        sizes = self._sizes
        shape = sequence_tasks.kept_shape(self.cell, batch)
        return Cache(sizes.layers, shape, self._arrays.named.computed, settings.is_xla(self.cell))


def _evaluating(cell):
    return Mode(cell.lstm, is_training=False)
