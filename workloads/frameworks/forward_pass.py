"""How a forward pass of a model is made, whatever the framework; adapters add what theirs needs. Python 3.6 on."""
import numpy as np

from workloads.spec.models import llama


class Mode:
    """By which LSTM, training or not, with dropout or not; and what the pass keeps for a check."""

    def __init__(self, lstm, is_training: bool, has_dropout=None, kept=None, attention="plain"):
        """kept: a dict that gets what a model keeps, in order of computation; None keeps nothing.

        attention: "plain", or what else computes it.
        """
        self.lstm, self.is_training, self.kept = lstm, is_training, kept
        self.attention, self.is_fused = attention, attention != "plain"
        self.has_dropout = is_training if has_dropout is None else has_dropout

    def keep(self, name: str, tensor):
        """The tensor, kept under that name where somebody asked."""
        if self.kept is not None:
            self.kept[name] = tensor
        return tensor


def rotations(sizes):
    """Cosine and sine of spec.models.llama's angles: (2, positions, half of a head's numbers)."""
    half = sizes.width // sizes.heads // 2
    angles = np.outer(np.arange(sizes.length), llama.BASE ** (-np.arange(half) / half))
    return np.stack([np.cos(angles), np.sin(angles)])
