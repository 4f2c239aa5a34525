"""Generation token after token in MXNet: a prompt, and each token after it with a cache of keys and values.

Who inherits it is a sequence model's Workload whose module has prefill(weights, ids, cache, sizes, mode) and
decode(weights, tokens, position, cache, sizes, mode), which give logits. MXNet 1.7 and 1.9.
"""
import mxnet as mx

from workloads.frameworks import contract
from workloads.frameworks.forward_pass import Mode
from workloads.frameworks.mxnet.models.transformer import Cache, GivenCache
from workloads.frameworks.mxnet.steps import Steps
from workloads.spec import sequence_tasks
from workloads.spec.measures import GENERATING


class Generation(Steps, contract.Sequences):
    """The next token is that of the greatest logit. Eagerly the cache is read as far as it is written; a graph has one
    shape for all positions, and reads all of it."""

    generates = True
    _sizes = _model = _numbers = _device = _arrays = _arranged = _placed = _call = _readers = contract.OF_HEIRS

    def prefill(self, batches, count, watch):
        """Read a prompt count times; the watch gets the token after each one."""
        reader = self._reader(self.cell.batch)
        for batch in contract.watched(batches, count, watch):
            watch.stepped(reader.first(self._prompt(batch[0]["ids"])))

    def decode(self, batches, count, watch):
        """Generate count tokens, up to the greatest length and from the prompt on again; the watch gets each.

        The prompt is read before, and belongs to no step.
        """
        reader = self._reader(self.cell.batch)
        first = token = reader.first(self._prompt(next(batches)[0]["ids"]))
        self.sync(token)
        watch.resumed()
        for step in range(count):
            turn = step % len(reader.positions)
            token = reader.following(token if turn else first, reader.positions[turn])
            watch.stepped(token)

    def decode_program(self, batches, count, watch):
        """The same, all tokens of a sequence by a loop of Python that waits for none, while MXNet's engine computes."""
        reader = self._reader(self.cell.batch)
        first = reader.first(self._prompt(next(batches)[0]["ids"]))
        self.sync(first)
        watch.resumed()
        for _ in range(count):
            tokens = [first]
            for position in reader.positions:
                tokens.append(reader.following(tokens[-1], position))
            watch.stepped(mx.nd.stack(*tokens[1:], axis=1))

    def tokens(self, handle):
        """See contract.Sequences."""
        return handle.asnumpy()

    def cached(self, batch):
        """What a batch's own tokens after the prompt are answered with: by the cache, and by a pass over all of them.

        Both are logits (batch, positions from the prompt's last one on, tokens known).
        """
        ids = self._placed(self._arranged(batch))["ids"]
        prompt, reader = sequence_tasks.prompt(self.cell), self._reader(len(ids))
        by_cache = [reader.prompted(self._prompt(ids))]
        by_cache += [reader.decoded(ids[:, prompt + turn], position) for turn, position in enumerate(reader.positions)]
        whole = self._answer({"ids": ids}).asnumpy().reshape(ids.shape + (-1,))
        return mx.nd.stack(*by_cache, axis=1).asnumpy(), whole[:, prompt - 1:]

    def value(self, handle):
        """The tokens of a step, an array; of measures that generate none as Steps says."""
        return handle.asnumpy() if self.cell.measure in GENERATING else super().value(handle)

    def _prompt(self, ids):
        """The first ones of ids."""
        return ids[:, :sequence_tasks.prompt(self.cell)]

    def _reader(self, batch):
        """Who reads prompts and gives tokens, with a cache of its own; made once, since its graphs are."""
        if batch not in self._readers:
            self._readers[batch] = self._new_reader(batch)
        return self._readers[batch]

    def _new_reader(self, batch):
        sizes = self._sizes
        rows, heads, *rest = sequence_tasks.kept_shape(self.cell, batch)
        shape = (rows * heads,) + tuple(rest)
        positions = range(sequence_tasks.prompt(self.cell), sizes.length)
        if self.loop == "eager":
            cache = Cache(sizes.layers, shape, self._numbers, self._device)
            return _Eagerly(self._read, self._told, self._arrays(), cache, positions)
        arrays = [mx.nd.zeros(shape, self._device, self._numbers) for _ in range(2 * sizes.layers)]
        return _ByGraphs(self._read, self._told, self._call, arrays,
                         [mx.nd.array([each], self._device, self._numbers) for each in positions])

    def _read(self, weights, ids, cache):
        """The logits after the prompt."""
        return self._model.prefill(weights, ids, cache, self._sizes, Mode(self.cell.lstm, is_training=False))

    def _told(self, weights, tokens, position, cache):
        """The logits after the tokens at the position."""
        return self._model.decode(weights, tokens, position, cache, self._sizes,
                                  Mode(self.cell.lstm, is_training=False))


class _Eagerly:
    """Reads a prompt (batch, time), and gives what follows it, operation by operation."""

    def __init__(self, read, told, weights, cache, positions):
        """read, told: Generation's; positions: those after the prompt, ints."""
        self.positions, self._read, self._told, self._weights, self._cache = positions, read, told, weights, cache

    def first(self, ids):
        """The token (batch,) after the prompt."""
        return self.prompted(ids).argmax(-1)

    def following(self, tokens, position):
        """The tokens (batch,) after those at the position."""
        return self.decoded(tokens, position).argmax(-1)

    def prompted(self, ids):
        """The logits after the prompt."""
        return self._read(self._weights, ids, self._cache)

    def decoded(self, tokens, position):
        """The logits after the tokens at the position."""
        return self._told(self._weights, tokens, position, self._cache)


class _ByGraphs:
    """The same by graphs that take the cache's arrays and give new ones, beside the tokens and logits."""

    def __init__(self, read, told, graphs, cache, positions):
        """graphs: graphs.Graphs; cache: as GivenCache has it; positions: arrays (1,)."""
        self.positions, self._read, self._told, self._graphs, self._cache = positions, read, told, graphs, cache
        self._made_of = {}                       # the graph of a function, whose shapes are those of the cache

    def first(self, ids):
        """The token (batch,) after the prompt."""
        return self._made(self._read_prompt, ids=ids)[0]

    def following(self, tokens, position):
        """The tokens (batch,) after those at the position."""
        return self._made(self._tell, tokens=tokens, position=position)[0]

    def prompted(self, ids):
        """The logits after the prompt."""
        return self._made(self._read_prompt, ids=ids)[1]

    def decoded(self, tokens, position):
        """The logits after the tokens at the position."""
        return self._made(self._tell, tokens=tokens, position=position)[1]

    def _made(self, function, **arrays):
        """(tokens, logits) by a function's graph."""
        arrays.update(("cache%d" % index, array) for index, array in enumerate(self._cache))
        if function not in self._made_of:
            self._made_of[function] = self._graphs.of(function, arrays)
        tokens, logits, *self._cache = self._made_of[function](arrays)
        return tokens, logits

    def _read_prompt(self, weights, arrays):
        cache = self._given(arrays)
        logits = self._read(weights, arrays["ids"], cache)
        return [logits.argmax(-1), logits] + cache.layers

    def _tell(self, weights, arrays):
        cache = self._given(arrays)
        logits = self._told(weights, arrays["tokens"], arrays["position"], cache)
        return [logits.argmax(-1), logits] + cache.layers

    def _given(self, arrays):
        return GivenCache(arrays["cache%d" % index] for index in range(len(self._cache)))
