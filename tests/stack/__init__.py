"""Tests of adapters, inside their stacks: python -m tests.stack MODULE ADAPTER [Class.test ...].

Only the standard library, numpy and the stack's framework, Python 3.6 and later; under pytest they are skipped.
"""
import importlib
import unittest

adapter = None         # the module under test, which __main__ sets: unittest gives a test case no argument


def part(name):
    """The adapter's module of that name; None where no adapter is under test."""
    return adapter and importlib.import_module(adapter.__name__ + "." + name)


def is_of(framework):
    """Whether the adapter under test is that framework's."""
    return adapter is not None and adapter.__name__.endswith(framework)


def setUpModule():
    """Skip a module's tests outside a stack."""
    if adapter is None:
        raise unittest.SkipTest("runs inside a stack: python -m tests.stack MODULE ADAPTER")
