"""python -m tests.stack.own_in_bfloat16 LANE PRECISION: what a small model of one's own computes, as JSON.

In bfloat16 also where a processor has no instructions for it, which a worker would refuse.
"""
import json
import sys

import numpy as np

from workloads.frameworks import own
from workloads.spec.cell import Cell
from workloads.spec.models import own_model

BATCH = """
def batch(rng, size):
    return rng.standard_normal((size, 30)), rng.randint(0, 16, size)
"""
FILES = {
    "torch": BATCH + """
from torch import nn

def model():
    return nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 16))
""",
    "jax": BATCH + """
import jax, jax.numpy as jnp

def init(key):
    return {"first": jnp.zeros((30, 64)), "bias": jnp.zeros(64), "last": jnp.zeros((64, 16))}

def apply(p, x):
    return jax.nn.relu(x @ p["first"] + p["bias"]) @ p["last"]
""",
    "keras": BATCH + """
import keras
from keras import layers

def model():
    return keras.Sequential([keras.Input((30,)), layers.Dense(64, activation="relu"), layers.Dense(16)])
"""}

if __name__ == "__main__":
    lane, precision = sys.argv[1:]
    text = FILES[own_model.BY_NAME[lane].kind]
    source = own_model.dumps(own_model.Model("net.py", lane, {"net.py": text}, ""))
    cell = Cell(lane, "net.py", "check", batch=8, source=source, precision=precision, loop=own_model.BY_NAME[lane].loop)
    sent = own.Workload("", cell).check()
    print(json.dumps({kind: {name: np.asarray(array, "float64").ravel().tolist() for name, array in arrays.items()}
                      for kind, arrays in sent.items() if kind in ("inferred", "logits", "loss")}))
