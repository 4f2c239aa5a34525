"""The frameworks by the package that is imported, and who is told which one to take. Standard library only.

A stack of ours holds one framework; an environment of a user's may hold several, and its worker is told which one.
"""

PACKAGES = (("torch", "pytorch"), ("tensorflow", "tensorflow"), ("mxnet", "mxnet"), ("jax", "jax"))
CHOSEN = "EVENBENCH_FRAMEWORK"       # in a worker's environment: the adapter's name; for users' own stacks alone


def adapter(package):
    """The adapter's name of a package. Raises KeyError."""
    return dict(PACKAGES)[package]


def package(name):
    """The package of an adapter. Raises KeyError."""
    return {each: package for package, each in PACKAGES}[name]
