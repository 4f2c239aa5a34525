"""python -m tests.faults: the campaign, which prints a table: each fault, how often, what followed, in what time.

Needs root and dockerd for what it does to an engine, for it starts one of its own; else only the host's part runs.
Exit code 0: every fault was survived as promised; 1: one was not; what went wrong is told on standard error.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.faults import engines, faults
from tests.faults.outcome import Outcome, table


def main(arguments: list[str]) -> int:
    """The exit code."""
    asked = _parsed(arguments)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(130))       # which ends the engine too
    deadline = time.monotonic() + 60 * asked.minutes
    outcomes = []
    try:
        with tempfile.TemporaryDirectory(prefix="evenbench-faults-") as name:
            for outcome in _campaign(asked, Path(name), deadline):
                outcomes.append(outcome)
                said = f"{outcome.launcher}: {outcome.fault}: {outcome.right} of {outcome.count}"
                print("\n    ".join([said, *outcome.wrong, *outcome.left]), file=sys.stderr, flush=True)
    finally:                                     # what was seen, also when it is ended early
        print(table(outcomes), end="")
    return 0 if all(each.is_good for each in outcomes) else 1


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Faults on purpose, and what follows.")
    parser.add_argument("--count", type=int, default=100, help="how often the runner is killed; other faults a tenth")
    parser.add_argument("--minutes", type=float, default=60, help="no fault is begun after so many")
    parser.add_argument("--seed", type=int, default=1, help="of the moments at which the runner is killed")
    parser.add_argument("--launcher", choices=("docker", "venv", "both"), default="both")
    parser.add_argument("--only", default="", help="faults whose name has this word")
    return parser.parse_args(arguments)


def _campaign(asked: argparse.Namespace, root: Path, deadline: float) -> Iterator[Outcome]:
    chosen = [fault for fault in faults.FAULTS if asked.only in fault.name]
    amount = faults.Amount(asked.count, deadline)
    if asked.launcher in ("docker", "both"):
        if lacking := engines.missing():
            print(f"docker: left out: {lacking}", file=sys.stderr)
        else:
            with engines.started(root / "engine") as engine:
                yield from faults.made(chosen, root / "docker", engine, amount, Random(asked.seed))
    if asked.launcher in ("venv", "both"):
        yield from faults.made(chosen, root / "venv", None, amount, Random(asked.seed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
