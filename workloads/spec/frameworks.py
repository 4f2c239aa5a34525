"""The frameworks by name, and who is told which one to take: host and workers share it. Standard library only.

A stack of ours is for one framework, after which it is called; another may have come with it, as JAX with TensorFlow
2.12. An environment of a user's may be for several, and its worker is told which one.
"""
from typing import NamedTuple


class Framework(NamedTuple):
    """What is known of a framework wherever its name is data."""

    name: str                    # of its adapter, in stacks' files and in results
    package: str                 # that is imported
    title: str                   # for people
    prefix: str                  # that the names of our stacks of it begin with, before a hyphen
    oldest: str = ""             # version that its adapter takes; "": not known, for none before ours was tried
    rounds_float64: bool = False         # some of its float64 paths, such as the loss, compute in float32
    only_infers: bool = False            # a runtime of trained models: measures.UNTRAINED alone, and checks in float32
    may_fork: bool = False               # a process that has imported it may be forked: its child is as fast as itself


FRAMEWORKS = (
    Framework("pytorch", "torch", "PyTorch", "torch", "1.4", may_fork=True),
    Framework("tensorflow", "tensorflow", "TensorFlow", "tf", "1.15", rounds_float64=True, may_fork=True),
    # in a child of a fork it computes with one thread, whatever is asked for (its initialize.cc)
    Framework("mxnet", "mxnet", "MXNet", "mxnet", "1.7"),
    Framework("jax", "jax", "JAX", "jax", may_fork=True),
    Framework("onnxruntime", "onnxruntime", "ONNX Runtime", "onnxruntime", only_infers=True),
    Framework("openvino", "openvino", "OpenVINO", "openvino", only_infers=True),
)
PACKAGES = tuple((framework.package, framework.name) for framework in FRAMEWORKS)
_BY_NAME = {framework.name: framework for framework in FRAMEWORKS}
WITHOUT = "python"       # what an environment is for that is asked for no framework: a user's code
CHOSEN = "EVENBENCH_FRAMEWORK"       # in a worker's environment: the adapter's name; for users' own stacks alone


def adapter(package):
    """The adapter's name of a package. Raises KeyError."""
    return dict(PACKAGES)[package]


def package(name: str):
    """The package of an adapter. Raises KeyError."""
    return _BY_NAME[name].package


def oldest(name: str):
    """The oldest version that an adapter takes, "" where that is not known. Raises KeyError."""
    return _BY_NAME[name].oldest


def title(name):
    """What people call an adapter's framework. Raises KeyError."""
    return _BY_NAME[name].title


def title_of_stack(stack):
    """What people call the framework of one of our stacks, by the stack's name; the name itself where it says none."""
    prefix = stack.partition("-")[0]
    return next((framework.title for framework in FRAMEWORKS if framework.prefix == prefix), stack)


def is_known(name) -> bool:
    """Whether there is an adapter of that name."""
    return name in _BY_NAME


def rounds_float64(name: str):
    """Whether some of a stack's float64 paths compute in float32."""
    return name in _BY_NAME and _BY_NAME[name].rounds_float64


def only_infers(name: str):
    """Whether a stack trains nothing."""
    return name in _BY_NAME and _BY_NAME[name].only_infers


def may_fork(name: str):
    """Whether a process that has imported what an adapter is for may be forked."""
    return name in _BY_NAME and _BY_NAME[name].may_fork


def meant(packages, stack=""):
    """Those of an environment's packages that it may be for: a runtime often lies beside the framework that trains.

    stack: the name of a stack of ours, which says which one; "" for a user's, whose names are the user's own.
    """
    named = [each for each in packages if _BY_NAME[adapter(each)].prefix == stack.partition("-")[0]]
    return named or [each for each in packages if not only_infers(adapter(each))] or list(packages)


def later(name: str, has_optimizer: bool):
    """The modules that a framework imports by itself when a cell asks for them; an older one may lack them.

    PyTorch 2 imports its compiler with the first optimizer, whatever the loop: as long as all of PyTorch.
    """
    return ("torch._dynamo",) if name == "pytorch" and has_optimizer else ()
