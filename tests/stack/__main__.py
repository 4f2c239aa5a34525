"""python -m tests.stack MODULE ADAPTER [Class.test ...]: such as test_adapter pytorch Equality."""
import importlib
import sys
import unittest

from tests import stack

if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    stack.adapter = importlib.import_module("workloads.frameworks." + sys.argv.pop(2))
    unittest.main("tests.stack." + sys.argv.pop(1), argv=sys.argv, warnings="default")
