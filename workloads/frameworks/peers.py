"""The libraries that evenbench's own models are compared with: how they are reached, and those of KerasHub.

KerasHub's are here since TensorFlow and JAX share them: Keras computes with either.
"""
import importlib
import os
import sys

import numpy as np

from workloads.process.errors import Unsupported
from workloads.spec import sequence_tasks
from workloads.spec.cell import Cell
from workloads.spec.models import llama


def has(cell: Cell, folder: str, name: str) -> bool:
    """Whether the stack's peers have a module of that name."""
    return os.path.isdir(os.path.join(_path(cell, folder), name))


def library(cell: Cell, folder: str, name: str):
    """The module of that name, from the stack's peers or its own. Raises Unsupported where there is none."""
    path = _path(cell, folder)
    sys.path.append(path)                     # the end: nothing of the stack's own is hidden
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Unsupported("%s: no %s that can be imported: %s" % (path, name, error)) from error


def _path(cell: Cell, folder: str) -> str:
    """Where the stack's peers lie: beside the data, since in a stack they would be a part of what is measured."""
    return os.path.join(folder, "peers", cell.stack)


def of_keras_hub(cell: Cell, folder: str, backend):
    """(net, inputs, labels): KerasHub's net in the cell's sizes, without dropout as ours, and a random batch.

    backend: what Keras computes with. inputs are what net takes, arrays of numpy. Raises Unsupported where KerasHub is
    not.
    """
    os.environ["KERAS_BACKEND"] = backend
    return _OF_KERAS_HUB[cell.task](cell, library(cell, folder, "keras_hub").models)


def _gpt2(cell: Cell, models):
    """GPT2CausalLM; its logits are (batch, time, tokens known)."""
    sizes = sequence_tasks.sizes(cell)
    net = models.GPT2CausalLM(models.GPT2Backbone(
        vocabulary_size=sizes.vocabulary, num_layers=sizes.layers, num_heads=sizes.heads, hidden_dim=sizes.width,
        intermediate_dim=sizes.inner, dropout=0.0, max_sequence_length=sizes.positions))
    return (net,) + _text(cell, sizes)


def _llama(cell: Cell, models):
    """The same of LlamaCausalLM."""
    sizes = sequence_tasks.sizes(cell)
    net = models.LlamaCausalLM(models.LlamaBackbone(
        vocabulary_size=sizes.vocabulary, num_layers=sizes.layers, num_query_heads=sizes.heads, hidden_dim=sizes.width,
        intermediate_dim=sizes.inner, num_key_value_heads=sizes.key_heads, layer_norm_epsilon=llama.EPSILON,
        dropout=0.0))
    return (net,) + _text(cell, sizes)


def _text(cell: Cell, sizes):
    """(inputs, labels): random tokens."""
    ids, labels = np.random.RandomState(0).randint(
        0, sizes.vocabulary, (2, cell.batch, sizes.length)).astype(np.int32)
    return {"token_ids": ids, "padding_mask": np.ones_like(ids)}, labels


def _vit(cell: Cell, models):
    """ViTImageClassifier of ViT-B/16; its logits are (batch, classes)."""
    random, shape = np.random.RandomState(0), (cell.image, cell.image, 3)
    net = models.ViTImageClassifier(models.ViTBackbone(
        image_shape=shape, patch_size=16, num_layers=12, num_heads=12, hidden_dim=768, mlp_dim=3072),
        num_classes=cell.classes, pooling="token", activation=None)
    images = random.uniform(-1, 1, (cell.batch,) + shape).astype(np.float32)
    return net, images, random.randint(0, cell.classes, cell.batch).astype(np.int32)


def keras_hub_cache(cell: Cell):
    """The shape of the cache that call_with_cache of KerasHub's decoders takes."""
    batch, heads, length, numbers = sequence_tasks.kept_shape(cell, cell.batch)
    return batch, sequence_tasks.sizes(cell).layers, 2, length, heads, numbers


def generating(cell: Cell, answer, ids, empty, number):
    """step() of measure prefill or decode, which gives the greedy token.

    answer(ids, cache, position) gives the token (batch,) after the ids that begin at the position, and the cache that
    holds them, too; empty is a cache, number(position) the framework's. From the greatest length it goes back to the
    prompt, as ours does.
    """
    start = number(0)
    if cell.measure == "prefill":
        return lambda: answer(ids, empty, start)[0]
    positions = [number(each) for each in range(sequence_tasks.prompt(cell), sequence_tasks.sizes(cell).length)]
    first, cache = answer(ids, empty, start)
    state = {"turn": 0, "token": first, "cache": cache}

    def step():
        turn = state["turn"] % len(positions)
        token = state["token"] if turn else first
        state["token"], state["cache"] = answer(token[:, None], state["cache"], positions[turn])
        state["turn"] += 1
        return state["token"]

    return step


_OF_KERAS_HUB = {"gpt2": _gpt2, "llama": _llama, "vit_b16": _vit}
KERAS_HUB = tuple(_OF_KERAS_HUB)
