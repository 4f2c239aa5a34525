"""The sequence tasks by name. Each model's module in spec has

    Sizes, PRESETS          its dimensions as a NamedTuple; those of "small" (two cores train it in seconds) and "study"
    DATA                    the data set that it is for; where cell.data is another, seeded sequences stand in for it
    parameters(sizes)       the tuple of layers.Parameter, running statistics included, in order of computation
    forward_flops(sizes)    of one sample of full length, products alone, a multiply-add counted as 2; with
                            flops_at(sizes, length) where a shorter one is not just of smaller sizes
    SIDES                   how many sequences a sample has, where it is not one
    prefill_flops, decode_flops(sizes, prompt)     of a prompt, and of a token after it, where the model generates

and its docstring says the computation as numbered steps with their source, which frameworks/X/models/<model>.py has.
What goes in is made by inputs/models/<model>.py. Python 3.6 and later, standard library only.
"""
from typing import Any, NamedTuple

from workloads.spec import measures
from workloads.spec.cell import Cell
from workloads.spec.duration import is_open
from workloads.spec.models import bert, deepspeech2, gnmt, gpt2, llama, lstm, tacotron2

MOST_BATCHES = 64            # that are kept at once; longer runs take them again from the first on


class SequenceTask(NamedTuple):
    """A task whose samples are sequences."""

    model: Any            # the module in spec
    title: str
    stepped: tuple = ()   # what the names of those LSTM layers begin with that are only asked for single steps


SEQUENCES = {
    "lstm": SequenceTask(lstm, "one LSTM layer"),
    "bert": SequenceTask(bert, "BERT base, masked language model"),
    "gpt2": SequenceTask(gpt2, "GPT-2"),
    "llama": SequenceTask(llama, "Llama"),
    "gnmt": SequenceTask(gnmt, "GNMT"),
    "deepspeech2": SequenceTask(deepspeech2, "Deep Speech 2"),
    "tacotron2": SequenceTask(tacotron2, "Tacotron 2, text to spectrogram", stepped=("decoder.",)),
}


def sizes(cell: Cell):
    """The Sizes of a cell: its preset's, with what the cell itself says."""
    preset = SEQUENCES[cell.task].model.PRESETS[cell.preset]
    said = {"length": cell.length, "hidden": cell.hidden}
    return preset._replace(**{name: value for name, value in said.items() if value and name in preset._fields})


def logits(said):
    """The logits, or what stands for them, of what a model's forward function gave: all of it or its first part."""
    return said[0] if isinstance(said, tuple) else said


def pass_batches(cell: Cell):
    """The batches of one pass: as many as the steps need, up to MOST_BATCHES; one that is kept, or read once."""
    if cell.input == "synthetic" or cell.measure == "decode":
        return 1
    return MOST_BATCHES if is_open(cell) else min(MOST_BATCHES, cell.warmup + cell.steps)


def parameters(cell: Cell):
    """The layers.Parameters of a cell's model."""
    return SEQUENCES[cell.task].model.parameters(sizes(cell))


def kept_shape(cell: Cell, batch: int):
    """(batch, heads, positions, numbers of a head) of the keys that a layer keeps, and of the values."""
    own = sizes(cell)
    return batch, getattr(own, "key_heads", own.heads), own.length, own.width // own.heads


def prompt(cell: Cell):
    """Tokens before the first generated one: what the cell says, or half of the greatest length."""
    return cell.prompt or max(1, sizes(cell).length // 2)


def new_tokens(cell: Cell):
    """Tokens that each sequence has after the prompt and the first one, up to the greatest length."""
    return sizes(cell).length - prompt(cell)


def is_program(cell: Cell):
    """Whether a step generates whole sequences."""
    return cell.measure in ("decode", "parts_decode") and cell.decode == "program"


def generates(task: str):
    """Whether the task is a model that generates token after token."""
    return task in SEQUENCES and hasattr(SEQUENCES[task].model, "decode_flops")


def generating_problem(cell: Cell):
    """Why a cell cannot generate, where that is what it measures; else None."""
    if cell.measure not in measures.GENERATING:
        return None
    if not generates(cell.task):
        return "measure %s is of models that generate token after token: gpt2, llama" % cell.measure
    if not prompt(cell) < sizes(cell).length:
        return ("a prompt of %d tokens leaves none to generate: expected fewer than the length, %d"
                % (prompt(cell), sizes(cell).length))
    return None


def forward_flops(cell: Cell, tokens=None):
    """FLOPs of one sample forward: of full length, or of the mean length where a batch has so many tokens.

    Of measure prefill a sample is a prompt, of decode a token, or all of a sequence's in one program.
    """
    model, own = SEQUENCES[cell.task].model, sizes(cell)
    if cell.measure in measures.GENERATING:
        measure = measures.PARTS_OF.get(cell.measure, cell.measure)
        flops = getattr(model, measure + "_flops")(own, prompt(cell))
        return flops * new_tokens(cell) if is_program(cell) else flops
    if tokens is None:
        flops = model.forward_flops(own)
    else:
        length = max(1, round(float(tokens) / cell.batch / getattr(model, "SIDES", 1)))
        at_length = getattr(model, "flops_at", lambda sizes, length: model.forward_flops(sizes._replace(length=length)))
        flops = at_length(own, length)
    return flops // 2 if cell.lstm == "skip_input" else flops      # the input's product, as large as the other one
