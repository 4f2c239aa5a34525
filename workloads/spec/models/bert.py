"""BERT base as a masked language model (Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers").

    1. x = embeddings of token + position + type, layer-normalised, dropout
    2. each layer: a = attention of x over itself: softmax(q k' / sqrt(numbers a head) + bias) v, with dropout of the
       softmax; the bias is -10000 where a key is padding; x = norm(x + dropout(a.output))
    3. and: x = norm(x + dropout(outer(gelu(inner x)))): normalised after each sum ("post-norm"); gelu by erf
    4. at the masked positions alone: y = norm(gelu(transform x)); logits = tokens.weight y + bias, the weight being the
       token embeddings'
    5. loss: the mean cross-entropy over the masked positions

Dimensions, epsilon 1e-12, dropout 0.1, the gathering of masked positions and the masking (15 % of the tokens: 80 % of
them [MASK], 10 % another token, 10 % themselves) are those of the authors' code (google-research/bert: modeling.py,
run_pretraining.py, create_pretraining_data.py). As in the public examples that train on WikiText-103 alone, there is no
next-sentence head, so no pooler either: 109,514,298 parameters, which is transformers' BertForMaskedLM; with the pooler
and without the head they would be BERT base's 109,482,240.

Optimizer: the cell's adam, with L2 weight decay where the cell has any. The authors' is Adam with decoupled decay
(AdamW) and no bias correction; without decay ours is what transformers' example runs, AdamW with decay 0. LAMB is
not offered. Python 3.6 and later, standard library only.
"""
from workloads.spec.layers import Parameter
from workloads.spec.models import transformer

DATA = "wikitext103"
DROPOUT = 0.1
EPSILON = 1e-12                # of every layer normalisation
TYPES = 2
PADDING_BIAS = -10000.0        # on a padded key's score: exp() of it is 0


Sizes = transformer.Sizes
PRESETS = {"small": Sizes(2, 64, 4, 256, 1000, 64, 48), "study": Sizes(12, 768, 12, 3072, 30522, 512, 128)}


def predictions(length: int):
    """Most masked tokens of a sequence, 15 %: 20 of 128, as the authors' code is run."""
    return max(1, -(-15 * length // 100))


def parameters(sizes):
    """As spec.sequence_tasks says."""
    width = sizes.width
    embeddings = tuple(Parameter("embeddings.%s.weight" % name, "weight", (count, width)) for name, count in (
        ("tokens", sizes.vocabulary), ("positions", sizes.positions), ("types", TYPES)))
    layers = tuple(parameter for index in range(sizes.layers) for parameter in _layer("layers.%d" % index, sizes))
    head = _dense("head.transform", width, width) + _norm("head.norm", width)
    return (embeddings + _norm("embeddings.norm", width) + layers + head
            + (Parameter("head.bias", "bias", (sizes.vocabulary,)),))


def _layer(name: str, sizes):
    width = sizes.width
    attention = tuple(parameter for part in ("query", "key", "value", "output")
                      for parameter in _dense("%s.attention.%s" % (name, part), width, width))
    return (attention + _norm(name + ".attention.norm", width) + _dense(name + ".inner", width, sizes.inner)
            + _dense(name + ".outer", sizes.inner, width) + _norm(name + ".norm", width))


def _dense(name: str, inputs, outputs):
    return (Parameter(name + ".weight", "weight", (outputs, inputs)), Parameter(name + ".bias", "bias", (outputs,)))


def _norm(name: str, width: int):
    return Parameter(name + ".gamma", "gamma", (width,)), Parameter(name + ".beta", "beta", (width,))


def forward_flops(sizes):
    """As spec.sequence_tasks says: the dense layers, both products of attention, the head at the masked positions."""
    return flops_at(sizes, sizes.length)


def flops_at(sizes, length: int):
    """The same where a batch is no longer than that; the head has as many positions in all batches."""
    width = sizes.width
    layer = 4 * length * width * width + 2 * length * length * width + 2 * length * width * sizes.inner
    head = predictions(sizes.length) * width * (width + sizes.vocabulary)
    return 2 * (sizes.layers * layer + head)
