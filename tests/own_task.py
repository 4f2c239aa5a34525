"""A task of a user's own, as its file says it: the example of docs/installing.md."""

TINY = """from workloads.spec.image_task import Task
from workloads.spec.layers import Dense, Flatten, GlobalPool
from workloads.spec.models.image_models import conv_norm

TINY = (*conv_norm(8, 3), *conv_norm(16, 3, stride=2), GlobalPool(), Flatten(), Dense(10))
TASK = Task(TINY, 32, 4, 10, "a small all-convolutional net")
"""
