"""The table of measures: what can be asked of a cell. Python 3.6 and later, standard library only."""
import re
from typing import NamedTuple

UNIT = re.compile(r"[a-z]{1,20}\Z")      # what a step of code may be counted in, beside steps: samples, tokens


class Measure(NamedTuple):
    """What is measured of a cell."""

    name: str
    title: str                   # as people say it
    is_timed: bool = False       # has a rate, which depends on weights, order and dropout; stacks are compared by it
    is_rated: bool = False       # of plain steps: the rate is what it is made for
    is_open: bool = False        # its number of steps may be left open
    is_forward: bool = False     # has no backward pass
    is_generating: bool = False  # of a model that generates: a prompt, or one token after another
    is_untrained: bool = False   # can be had from a runtime that trains nothing
    is_on_nodes: bool = False    # can be done on many nodes
    is_loaded: bool = False      # may read batches by a framework's own loader
    is_profile: bool = False     # looks at a model by other means than its rate, in a table of its own
    harness_of: str = ""         # the measure whose block is held against a hand-written one
    parts_of: str = ""           # the measure whose steps are profiled, for what their time goes into
    is_beside: bool = False      # of what `check`, `bench` and a session's first seconds do: begun in no record


ALL = (
    Measure("train", "training", is_timed=True, is_rated=True, is_open=True, is_on_nodes=True, is_loaded=True),
    Measure("infer", "inference", is_timed=True, is_rated=True, is_open=True, is_forward=True, is_untrained=True,
            is_loaded=True),
    Measure("epochs", "training by epochs", is_timed=True),
    Measure("phases", "phases of a step", is_timed=True, is_open=True, is_on_nodes=True, is_loaded=True),
    Measure("operators", "operators of a step", is_on_nodes=True, is_loaded=True, is_profile=True),
    Measure("kernels", "kernels of a step", is_loaded=True, is_profile=True),
    Measure("parts", "parts of a step", is_profile=True, parts_of="train"),
    Measure("parts_infer", "parts of a pass", is_forward=True, is_profile=True, parts_of="infer"),
    Measure("parts_prefill", "parts of a prompt", is_forward=True, is_generating=True, is_profile=True,
            parts_of="prefill"),
    Measure("parts_decode", "parts of a token", is_forward=True, is_generating=True, is_profile=True,
            parts_of="decode"),
    Measure("graph", "the graph of a step", is_profile=True),
    Measure("max_batch", "the largest batch", is_profile=True),
    Measure("check", "equality", is_untrained=True, is_on_nodes=True, is_beside=True),
    Measure("harness", "the harness itself", harness_of="train", is_beside=True),
    Measure("harness_infer", "the harness itself, inference", harness_of="infer", is_beside=True),
    Measure("product", "matrix products", is_beside=True),
    Measure("prefill", "reading a prompt", is_timed=True, is_rated=True, is_open=True, is_forward=True,
            is_generating=True),
    Measure("decode", "generating", is_timed=True, is_rated=True, is_open=True, is_forward=True, is_generating=True),
    Measure("step", "your step", is_timed=True, is_open=True, is_forward=True, is_untrained=True),
    Measure("harness_prefill", "the harness itself, reading a prompt", harness_of="prefill", is_beside=True),
    Measure("harness_decode", "the harness itself, generating", harness_of="decode", is_beside=True),
)


def _which(flag):
    return tuple(each.name for each in ALL if getattr(each, flag))


NAMES = tuple(each.name for each in ALL)
HARNESSES = {each.name: each.harness_of for each in ALL if each.harness_of}
PARTS = {each.parts_of: each.name for each in ALL if each.parts_of}      # by the measure that is profiled
PARTS_OF = {name: of for of, name in PARTS.items()}
TITLES = {each.name: each.title for each in ALL}
TIMED, RATED, OPEN, FORWARD, GENERATING, UNTRAINED, ON_NODES, LOADED, PROFILES, BESIDE = map(_which, (
    "is_timed", "is_rated", "is_open", "is_forward", "is_generating", "is_untrained", "is_on_nodes", "is_loaded",
    "is_profile", "is_beside"))
