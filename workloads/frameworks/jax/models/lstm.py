"""One LSTM layer (spec/models/lstm.py) in JAX, time-major, as mahorker has it."""
import numpy as np

from workloads.frameworks.jax.models.recurrent import lstm


def arrange(batch):
    """x as (time, batch, hidden)."""
    return {"x": np.ascontiguousarray(batch["x"].transpose(1, 0, 2))}


def forward(weights, batch, sizes, mode):
    """h of every step; in the canonical order where a check keeps it, since that is a copy of all of it."""
    h = lstm(weights, "lstm", batch["x"], mode, time_major=True)
    return h if mode.kept is None else mode.keep("lstm", h.swapaxes(0, 1))


def loss(h, batch, sizes):
    """Half the mean of h squared."""
    return 0.5 * (h * h).astype(batch["x"].dtype).mean()
