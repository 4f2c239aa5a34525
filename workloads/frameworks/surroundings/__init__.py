"""What each framework needs around it before it is imported, a module each, by the adapter's name: no framework here.

frameworks/contract.py says what a module has. Every worker gets the variables of all frameworks, so that they are the
same whichever one it has. Python 3.6 and later, standard library only.
"""
import importlib

from workloads.spec import frameworks


def of(name: str):
    """The surroundings of an adapter."""
    return importlib.import_module("%s.%s" % (__name__, name))


def of_all():
    """Those of all frameworks, in the table's order."""
    return [of(framework.name) for framework in frameworks.FRAMEWORKS]
