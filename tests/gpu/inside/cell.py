"""python -m tests.gpu.inside.cell ADAPTER '<cell JSON>': the worker, with its adapter named.

For environments with several frameworks, where a worker by itself takes the first.
"""

import sys

from workloads import __main__ as worker


def main(adapter: str, text: str) -> int:
    """The worker's exit code."""
    worker.find_adapter = lambda *_, **__: adapter
    return worker.main([text])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
