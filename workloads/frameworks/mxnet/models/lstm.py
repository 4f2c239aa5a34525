"""One LSTM layer (spec/models/lstm.py) in MXNet, time-major, which is gluon's default."""
import numpy as np

from workloads.frameworks.mxnet.models.recurrent import lstm


def arrange(batch):
    """x as (time, batch, hidden)."""
    return {"x": np.ascontiguousarray(batch["x"].transpose(1, 0, 2))}


def forward(weights, batch, sizes, mode):
    """h of every step, (time, batch, hidden): to turn it is a copy of it all, which nobody needs but a check."""
    h = lstm(weights, "lstm", batch["x"], mode, time_major=True)
    if mode.kept is not None:
        mode.keep("lstm", h.swapaxes(0, 1))      # in the canonical order
    return h


def loss(h, batch, sizes):
    """Half the mean of h squared."""
    return 0.5 * (h * h).mean()
