"""python -m tests.gpu [--device cpu] [--stack NAME=PATH[#PACKAGE]] [--only 1,3] [--write FILE]: prove the GPU path.

Exit code 0: every check is ok, or has nothing to prove here; 1: one is not ok; 2: the command line or an environment
is wrong; 3: what ran is ok, and something was not run.
"""

import argparse
import os
import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.gpu.checks import CHECKS
from tests.gpu.lines import NOT_OK, NOT_RUN, Ended, Line, excused
from tests.gpu.worker import ROOT, Environment, opened

LEAST_SECONDS = 20            # that a check can be of use in
CPU_PATIENCE = 4              # times a GPU's seconds: two cores, perhaps shared, where nothing is judged by time


def main(arguments: list[str]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__.split("\n")[0])
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu", help="cpu: small sizes, few limits")
    parser.add_argument("--stack", action="append", metavar="NAME=PATH[#PACKAGE]",
                        help="a Python or a virtual environment; repeat; the Python that runs this if none")
    parser.add_argument("--only", default="", metavar="1,3", help="these checks")
    parser.add_argument("--minutes", type=float, default=8.0, help="on a GPU, for all checks of an environment; 8")
    parser.add_argument("--write", default="", metavar="FILE", help="write the lines, too")
    options = parser.parse_args(arguments)
    numbers = options.only.split(",") if options.only else [*CHECKS]
    if unknown := [number for number in numbers if number not in CHECKS]:
        print(f"--only: found {unknown[0]}, expected numbers from 1 to {len(CHECKS)}", file=sys.stderr)
        return 2
    try:
        environments = [env for text in options.stack or [sys.executable] for env in opened(text, options.device)]
    except Ended as error:
        print(error.args[1], file=sys.stderr)
        return 2
    said: list[tuple[Environment, str, list[Line]]] = []
    told: list[str] = []
    for env in environments:
        told += (about := facts(env))
        print("\n".join(about), flush=True)
        ends = time.monotonic() + 60 * options.minutes if env.is_gpu else float("inf")
        for number in numbers:
            title, lines = run(number, env, ends)
            said.append((env, number, lines))
            shown = [title, *(f"   {each.verdict:8}{each.what}: {each.figure}" + f"  [{each.limit}]" * bool(each.limit)
                              for each in lines)]
            print("\n".join(shown), flush=True)
            told += shown
            if options.write:                    # after each check: a later one may be cut short
                Path(options.write).write_text("\n".join(["# What the GPU proof said", "", "```", *told, "```", ""]))
    code, word = summary(said)
    print(word, flush=True)
    return code


def run(number: str, env: Environment, ends: float) -> tuple[str, list[Line]]:
    """(title with seconds, lines) of a check; by the moment ends all checks must be over."""
    (title, check, seconds), began = CHECKS[number], time.monotonic()
    deadline = min(ends, began + seconds * (1 if env.is_gpu else CPU_PATIENCE))
    lines: list[Line] = []
    try:
        if deadline - began < LEAST_SECONDS:
            raise Ended(NOT_RUN, f"the time of all checks is over: run it by itself, --only {number}")
        for line in check(env._replace(deadline=deadline, is_shared_end=deadline == ends)):
            lines.append(line)
    except Exception as error:                      # of one check; the others go on
        lines.append(excused("the rest" if lines else "the check", error))
    return f"{number}. {title} ({time.monotonic() - began:.0f} s)", lines


def summary(said: list[tuple[Environment, str, list[Line]]]) -> tuple[int, str]:
    """(exit code, last line) of what all checks said; a check of which a part was not run is named."""
    left = [f"{number} of {env.name} ({env.package})" for env, number, lines in said
            if any(line.verdict == NOT_RUN for line in lines)]
    rest = f"; not run, whole or in part: check {', '.join(left)}" if left else ""
    if any(line.verdict == NOT_OK for _, _, lines in said for line in lines):
        return 1, f"NOT OK: see above{rest}"
    return (3, f"every check that ran is ok{rest}") if left else (0, "every check is ok")


def facts(env: Environment) -> list[str]:
    """What the lines are of; REVISION names that of a copy without git's history."""
    revision = os.environ.get("REVISION") or subprocess.getoutput(f"git -C {shlex.quote(str(ROOT))} describe --always")
    return [f"date: {datetime.now(UTC).isoformat(timespec='seconds')}",
            f"command: python -m tests.gpu {shlex.join(sys.argv[1:])}", f"revision: {revision}",
            f"environment: {env.name}: {env.package} {env.facts['version']}, Python {env.facts['python']}",
            *(f"{name}: {env.facts[name]}" for name in ("device", "compute_capability", "cuda", "cudnn")
              if name in env.facts)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
