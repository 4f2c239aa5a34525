"""Generation token after token: the cache against whole passes."""
import numpy as np

from tests.stack import is_of, part, setUpModule, test_sequences  # noqa: F401  skips
from tests.stack.test_adapter import Watch, taken, varied
from workloads.inputs import sequence_batches
from workloads.spec import sequence_tasks
from workloads.spec.cell import Cell

adapter = part("sequences")
PROMPT, LENGTH = 3, 6


class Generation(test_sequences.SequenceCase):
    """GPT-2's small preset, or Llama's, over a few tokens, in float64."""

    def generating(self, **changes):
        """(workload, batch) of a cell; skips where the framework does not generate, None where a loop is refused."""
        values = {"stack": "here", "task": "gpt2", "measure": "decode", "batch": 2, "precision": "float64",
                  "prompt": PROMPT, "length": LENGTH}
        cell = Cell(**dict(values, **changes))
        workload = self.tried(adapter.Workload, cell)
        if not workload:
            return None
        if not workload.generates:
            self.skipTest("this framework keeps no keys and values")
        workload.load(varied(sequence_tasks.parameters(cell), cell.precision))
        return workload, sequence_batches.read(None, cell).batches[0]

    def test_the_cache_gives_what_a_pass_over_the_whole_sequence_gives_in_every_loop(self):
        for loop in test_sequences.LOOPS:
            found = self.generating(loop=loop)
            if found:
                by_cache, whole = found[0].cached(found[1])
                self.assertEqual((2, LENGTH - PROMPT + 1, 1000), by_cache.shape)
                self.assert_close(whole, by_cache, 1e-10, loop)

    def test_tokens_that_are_asked_for_again_are_the_same_and_not_traced_again(self):
        workload, batch = self.generating()
        self.assertEqual(self.decoded(workload, batch, 4), self.decoded(workload, batch, 4))
        if hasattr(workload, "_of_one_cache"):                                # TensorFlow's
            _, following = workload._of_one_cache()
            self.assertEqual(1, following.experimental_get_tracing_count())
        if is_of("mxnet"):                                                    # of the prompt, and of a token
            self.assertEqual(2, len(workload._call._programs))

    def test_plain_and_fused_attention_compute_the_same_or_are_refused_with_a_reason(self):
        for precision, limit in (("float64", 1e-10), ("float32", 5e-5)):
            answers, told = {}, set()
            for attention in ("plain", "fused", "default"):
                found = self.generating(measure="check", attention=attention, precision=precision)
                if found and found[0].attention not in told:           # default is often one of the two
                    told.add(found[0].attention)
                    by_cache, whole = found[0].cached(found[1])
                    self.assert_close(whole, by_cache, limit, attention)
                    answers[attention] = found[0].check(found[1])["gradient"]
            for attention, gradient in answers.items():
                for name in gradient:
                    self.assert_close(answers["plain"][name], gradient[name], limit, "%s %s" % (attention, name))

    def test_amp_is_near_it_or_refused_with_a_reason(self):
        found = self.generating(precision="amp")
        if found:
            by_cache, whole = found[0].cached(found[1])
            self.assert_close(whole, by_cache, 0.05, "amp")

    def test_tokens_are_the_likeliest_ones_of_whole_passes_and_begin_again_after_the_last_position(self):
        for loop in test_sequences.LOOPS:
            found = self.generating(loop=loop)
            if found:
                workload, batch = found
                self.assertEqual(self.by_whole_passes(batch), self.decoded(workload, batch, 5), loop)

    def test_a_sequence_in_one_program_has_the_tokens_of_a_call_each_in_every_loop(self):
        for changes in [{"loop": loop} for loop in test_sequences.LOOPS] + [{"task": "llama"}]:
            found = self.generating(decode="program", **changes)
            if found:
                workload, batch = found
                watch = Watch()
                workload.decode_program(workload.synthetic((batch,)), 2, watch)
                expected = np.transpose(self.decoded(workload, batch, LENGTH - PROMPT)).tolist()
                for handle in watch.handles:
                    self.assertEqual(expected, np.asarray(workload.tokens(handle)).tolist(), changes)

    def test_llama_s_cache_of_fewer_heads_gives_what_a_whole_pass_gives_by_plain_and_fused_attention(self):
        for attention in ("plain", "default"):
            workload, batch = self.generating(task="llama", attention=attention)
            by_cache, whole = workload.cached(batch)
            self.assert_close(whole, by_cache, 1e-10, attention)

    def decoded(self, workload, batch, count):
        """The tokens of so many steps."""
        return [np.asarray(each).tolist() for each in taken(workload, "decode", workload.batches((batch,)), count)]

    def by_whole_passes(self, batch):
        """The same for five steps, of which three fill the length, without a cache."""
        plain, _ = self.generating()
        ids = np.zeros((2, LENGTH + 1), np.int64)
        ids[:, :PROMPT] = batch["ids"][:, :PROMPT]
        for position in range(PROMPT, LENGTH + 1):
            whole = {"ids": ids[:, :LENGTH], "labels": np.zeros((2, LENGTH), np.int64)}
            logits, = taken(plain, "infer", plain.batches((whole,)), 1)
            ids[:, position] = np.asarray(logits).reshape(2, LENGTH, -1)[:, position - 1].argmax(-1)
        after = [ids[:, position].tolist() for position in range(PROMPT + 1, LENGTH + 1)]
        return after + after[:2]

    def test_a_prompt_s_token_is_the_likeliest_after_it(self):
        workload, batch = self.generating(measure="prefill")
        found = taken(workload, "prefill", workload.batches((batch,)), 2)
        expected = workload.cached(batch)[1][:, 0].argmax(-1).tolist()
        self.assertEqual([expected] * 2, [np.asarray(each).tolist() for each in found])
        if hasattr(workload, "_of_one_cache"):                                # TensorFlow's
            read, _ = workload._of_one_cache()
            self.assertEqual(1, read.experimental_get_tracing_count())
