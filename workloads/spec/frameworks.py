"""The frameworks by name, and who is told which one to take: host and workers share it. Standard library only.

A stack of ours holds one framework; an environment of a user's may hold several, and its worker is told which one.
"""
from typing import NamedTuple


class Framework(NamedTuple):
    """What is known of a framework wherever its name is data."""

    name: str                    # of its adapter, in stacks' files and in results
    package: str                 # that is imported
    title: str                   # for people
    prefix: str                  # that the names of our stacks of it begin with, before a hyphen
    rounds_float64: bool = False         # some of its float64 paths, such as the loss, compute in float32


FRAMEWORKS = (
    Framework("pytorch", "torch", "PyTorch", "torch"),
    Framework("tensorflow", "tensorflow", "TensorFlow", "tf", rounds_float64=True),
    Framework("mxnet", "mxnet", "MXNet", "mxnet"),
    Framework("jax", "jax", "JAX", "jax"),
)
PACKAGES = tuple((framework.package, framework.name) for framework in FRAMEWORKS)
_BY_NAME = {framework.name: framework for framework in FRAMEWORKS}
CHOSEN = "EVENBENCH_FRAMEWORK"       # in a worker's environment: the adapter's name; for users' own stacks alone


def adapter(package):
    """The adapter's name of a package. Raises KeyError."""
    return dict(PACKAGES)[package]


def package(name):
    """The package of an adapter. Raises KeyError."""
    return _BY_NAME[name].package


def title(name):
    """What people call an adapter's framework. Raises KeyError."""
    return _BY_NAME[name].title


def title_of_stack(stack):
    """What people call the framework of one of our stacks, by the stack's name; the name itself where it says none."""
    prefix = stack.partition("-")[0]
    return next((framework.title for framework in FRAMEWORKS if framework.prefix == prefix), stack)


def is_known(name):
    """Whether there is an adapter of that name."""
    return name in _BY_NAME


def rounds_float64(name):
    """Whether some of a stack's float64 paths compute in float32."""
    return name in _BY_NAME and _BY_NAME[name].rounds_float64
