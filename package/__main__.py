"""python -m evenbench, and the command evenbench: makes runner and workloads importable, and hands over to them."""

import sys
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    """Run the command line. An editable installation's folders lie in the checkout, others' beside this file."""
    runner = find_spec("evenbench.runner")
    if runner is None or runner.origin is None:
        sys.exit("evenbench: its folder runner is missing from the installation; install it again")
    sys.path.insert(0, str(Path(runner.origin).parents[1]))
    from runner.cli import main as run

    run()


if __name__ == "__main__":
    main()
