"""GPT-2 (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"), a decoder without an encoder.

    1. x = embeddings of token + position, the positions learned
    2. each layer: spec.transformer's, in which a token sees itself and those before it; gelu by tanh
    3. logits = tokens.weight norm(x) at every position, the weight being the token embeddings', without a bias
    4. loss: the mean cross-entropy of the next token over all positions of all sequences, which have one length
    5. generating: prefill is steps 1 to 3 for a prompt, with the logits of its last position alone, and keeps each
       layer's keys and values; decode is steps 1 to 3 for one token, whose queries see what was kept and itself; the
       next token is that of the greatest logit

Dimensions, epsilon 1e-5, gelu by tanh, one product for queries, keys and values, biases and heads' order are those
of the authors' code (openai/gpt-2: src/model.py, default_hparams with the 124M model's hparams.json), which has no
dropout: the paper names none, and the public reproductions (nanoGPT, llm.c) train without it. With it no two frameworks
would compute the same step, and their fused attentions have none. 124,439,808 parameters with the embeddings, which is
transformers' GPT2LMHeadModel; the paper's table 2 says 117M, which its authors corrected to 124M.

Optimizer: the cell's; adamw is the one that GPT models are trained with, whose decay here is of all parameters.

FLOPs: attention's products are counted for the pairs that a token may see, about half of all; a framework that computes
the whole square and masks it does more than is needed. Python 3.6 and later, standard library only.
"""
from workloads.spec.layers import Parameter
from workloads.spec.models import transformer

DATA = "wikitext103"


Sizes = transformer.Sizes           # its length is of a sequence, and of the cache
PRESETS = {"small": Sizes(2, 128, 4, 512, 1000, 128, 64), "study": Sizes(12, 768, 12, 3072, 50257, 1024, 1024)}


def form(sizes):
    """The transformer.Form."""
    return transformer.Form(sizes.heads, "tanh", 1e-5, is_packed=True)


def parameters(sizes):
    """As spec.sequence_tasks says."""
    embeddings = (("embeddings.tokens.weight", (sizes.vocabulary, sizes.width)),
                  ("embeddings.positions.weight", (sizes.positions, sizes.width)))
    layers = tuple(("layers.%d.%s" % (index, name), shape) for index in range(sizes.layers)
                   for name, shape in transformer.arrays(sizes.width, sizes.inner, is_packed=True))
    return tuple(Parameter(name, transformer.kind(name), shape)
                 for name, shape in embeddings + layers + transformer.norm("norm", sizes.width))


def forward_flops(sizes):
    """As spec.sequence_tasks says: the dense layers, both products of attention, the head at every position."""
    return _flops(sizes, sizes.length, transformer.causal_pairs(0, sizes.length), sizes.length)


def prefill_flops(sizes, prompt: int):
    """Of a prompt of so many tokens: the head at its last position alone."""
    return _flops(sizes, prompt, transformer.causal_pairs(0, prompt), 1)


def decode_flops(sizes, prompt: int):
    """Of one token after a prompt of so many, the mean over the tokens up to the greatest length."""
    tokens = sizes.length - prompt
    return _flops(sizes, tokens, transformer.causal_pairs(prompt, sizes.length), tokens) // tokens


def _flops(sizes, tokens: int, pairs, heads: int):
    layer = transformer.multiply_adds(sizes.width, sizes.inner, tokens, pairs)
    return 2 * (sizes.layers * layer + heads * sizes.width * sizes.vocabulary)
