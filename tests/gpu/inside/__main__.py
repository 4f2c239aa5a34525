"""python -m tests.gpu.inside NAME ARGUMENT...: the small program of that name."""

import importlib
import sys

importlib.import_module(f"tests.gpu.inside.{sys.argv[1]}").main(*sys.argv[2:])
