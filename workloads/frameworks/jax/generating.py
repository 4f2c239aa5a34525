"""Generation token after token in JAX: a prompt, and each token after it with a cache of keys and values.

Who inherits it is a sequence model's Workload whose module has prefill(weights, ids, cache, sizes, mode) and
decode(weights, tokens, position, cache, sizes, mode), which give logits. JAX 0.10 and later.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads.frameworks import contract
from workloads.frameworks.jax import settings
from workloads.frameworks.jax.models.blocks import Mode
from workloads.frameworks.jax.models.transformer import Cache, cleared
from workloads.frameworks.jax.steps import Steps, array
from workloads.spec import sequence_tasks


class Generation(Steps, contract.Sequences):
    """The next token is that of the greatest logit. A program has one shape for all positions, and reads the whole
    cache, whose memory it is given and writes to (donated)."""

    generates = True
    _sizes = _model = _products = _arranged = _placed = contract.OF_HEIRS

    def prefill(self, batches, count, watch):
        """Read a prompt count times; the watch gets the token after each one."""
        first, cache = self._program(self._first, donated=(1,)), self._cache(self.cell.batch)
        for batch in contract.watched(batches, count, watch):
            token, cache = first(self._state.weights, cache, batch[0]["ids"])
            watch.stepped(token)

    def decode(self, batches, count, watch):
        """Generate count tokens, up to the greatest length and from the prompt on again; the watch gets each.

        The prompt is read before, and belongs to no step.
        """
        following, positions = self._program(self._following, donated=(1,)), self._positions()
        first, cache = self._program(self._first, donated=(1,))(
            self._state.weights, self._cache(self.cell.batch), next(batches)[0]["ids"])
        token = jax.block_until_ready(first)
        watch.resumed()
        for step in range(count):
            turn = step % len(positions)
            token, cache = following(self._state.weights, cache, token if turn else first, positions[turn])
            watch.stepped(token)

    def decode_program(self, batches, count, watch):
        """The same, all tokens of a sequence by lax.scan."""
        first, cache = self._program(self._first, donated=(1,))(
            self._state.weights, self._cache(self.cell.batch), next(batches)[0]["ids"])
        jax.block_until_ready(first)
        generate = self._program(self._sequence, donated=(1,))
        watch.resumed()
        for _ in range(count):
            tokens, cache = generate(self._state.weights, cache, first)
            watch.stepped(tokens)

    def cached(self, batch):
        """What a batch's own tokens after the prompt are answered with: by the cache, and by a pass over all of them.

        Both are logits (batch, positions from the prompt's last one on, tokens known).
        """
        placed, prompt = self._placed(self._arranged(batch)), sequence_tasks.prompt(self.cell)
        ids, decode = placed["ids"], self._program(self._decoded, donated=(1,))
        logits, cache = self._program(self._prompted, donated=(1,))(self._state.weights, self._cache(len(ids)), ids)
        by_cache = [array(logits)]
        for turn, position in enumerate(self._positions()):
            logits, cache = decode(self._state.weights, cache, ids[:, prompt + turn], position)
            by_cache.append(array(logits))
        whole = self._program(self._answering)(self._state.weights, self._state.running, placed)
        return np.stack(by_cache, 1), array(whole).reshape(ids.shape + (-1,))[:, prompt - 1:]

    def _first(self, weights, cache, ids):
        """The token (batch,) after the prompt, the first ones of ids."""
        logits, cache = self._prompted(weights, cache, ids)
        return logits.argmax(-1).astype(jnp.int32), cache

    def _following(self, weights, cache, tokens, position):
        """The tokens (batch,) after those at the position."""
        logits, cache = self._decoded(weights, cache, tokens, position)
        return logits.argmax(-1).astype(jnp.int32), cache

    def _sequence(self, weights, cache, first):
        """All tokens (batch, positions after the prompt) after the first ones."""
        def following(state, position):
            tokens, cache = self._following(weights, state[1], state[0], position)
            return (tokens, cache), tokens

        positions = jnp.arange(sequence_tasks.prompt(self.cell), self._sizes.length)
        (_, cache), tokens = lax.scan(following, (first, cache), positions)
        return tokens.T, cache

    def _prompted(self, weights, cache, ids):
        """The logits after the prompt."""
        held, ids = Cache(cache), ids[:, :sequence_tasks.prompt(self.cell)]
        return self._model.prefill(weights, ids, held, self._sizes, self._evaluating()), held.arrays

    def _decoded(self, weights, cache, tokens, position):
        """The logits after the tokens at the position."""
        held = Cache(cache)
        return self._model.decode(weights, tokens, position, held, self._sizes, self._evaluating()), held.arrays

    def _evaluating(self):
        return Mode(self.cell.lstm, False, None, self._products, attention=settings.attention(self.cell))

    def _positions(self):
        """Those after the prompt, on the device."""
        return [jax.device_put(np.int32(each), self._device)
                for each in range(sequence_tasks.prompt(self.cell), self._sizes.length)]

    def _cache(self, batch):
        sizes, numbers = self._sizes, "float64" if self.cell.precision == "float64" else "float32"
        shape = sequence_tasks.kept_shape(self.cell, batch)
        return jax.device_put(cleared(sizes.layers, shape, self._products or numbers), self._device)
