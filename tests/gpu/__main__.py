"""python -m tests.gpu [--device cpu] [--stack NAME=PATH[#PACKAGE]] [--only 1,3] [--write FILE]: prove the GPU path.

Exit code 0: every check is ok, or has nothing to prove here; 1: one is not ok; 2: the command line or an environment
is wrong; 3: what ran is ok, and something was not run.
"""

import argparse
import os
import platform
import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.gpu import checks, environment, verdicts
from tests.gpu.environment import Environment
from tests.gpu.verdicts import Failed, Line, NotHere, NotRun

LEAST_SECONDS = 20            # that a check can be of use in


def main(arguments: list[str]) -> int:
    """The exit code."""
    options = _parser().parse_args(arguments)
    numbers = list(checks.CHECKS) if not options.only else options.only.split(",")
    unknown = [number for number in numbers if number not in checks.CHECKS]
    if unknown:
        print(f"--only: found {unknown[0]}, expected numbers from 1 to {len(checks.CHECKS)}", file=sys.stderr)
        return 2
    try:
        stacks = options.stack or [sys.executable]
        environments = [env for text in stacks for env in environment.opened(*environment.named(text), options.device)]
    except Failed as error:
        print(error, file=sys.stderr)
        return 2
    documents, done = [], []
    for env in environments:
        facts = _facts(env)
        print("\n".join(f"{name}: {value}" for name, value in facts.items()), flush=True)
        ends = time.monotonic() + 60 * options.minutes if env.is_gpu else float("inf")
        own = [_run(number, env, ends) for number in numbers]
        done += [(env, number, lines) for number, _, _, lines in own]
        documents.append(verdicts.markdown(facts, own))
        if options.write:                            # after each environment: a later one may be cut short
            Path(options.write).write_text("\n".join(documents))
    code, word = _summary(done)
    print(word, flush=True)
    return code


def _summary(done: list[tuple[Environment, str, list[Line]]]) -> tuple[int, str]:
    """(exit code, last line) of what all environments' checks said; a check of which a part was not run is named."""
    found = {line.verdict for _, _, lines in done for line in lines}
    left = [f"{number} of {env.name} ({env.package})" for env, number, lines in done
            if any(line.verdict == verdicts.NOT_RUN for line in lines)]
    rest = f"; not run, whole or in part: check {', '.join(left)}" if left else ""
    if verdicts.NOT_OK in found:
        return 1, f"NOT OK: see above{rest}"
    return (3, f"every check that ran is ok{rest}") if left else (0, "every check is ok")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__.split("\n")[0])
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu", help="cpu: small sizes, few limits")
    parser.add_argument("--stack", action="append", metavar="NAME=PATH[#PACKAGE]",
                        help="a Python or a virtual environment; repeat; the Python that runs this if none")
    parser.add_argument("--only", default="", metavar="1,3", help="these checks")
    parser.add_argument("--minutes", type=float, default=8.0,
                        help="on a GPU, for all checks of an environment; 8 if left out")
    parser.add_argument("--write", default="", metavar="FILE", help="write the lines as Markdown, too")
    return parser


def _run(number: str, env: Environment, ends: float) -> tuple[str, str, float, list[Line]]:
    """(number, title, seconds, lines) of a check, which are printed; a crash is a line that is not ok.

    By the moment ends all checks of the environment must be over.
    """
    check = checks.CHECKS[number]
    began = time.monotonic()
    deadline = min(ends, began + check.seconds * (1 if env.is_gpu else environment.CPU_PATIENCE))
    lines: list[Line] = []
    try:
        if deadline - began < LEAST_SECONDS:
            raise NotRun(f"the time of all checks is over: run it by itself, --only {number}")
        for line in check.run(env._replace(deadline=deadline, is_shared_end=deadline == ends)):
            lines.append(line)
    except Exception as error:                      # of one check; the others go on
        what, last = "the rest" if lines else "the check", f"{type(error).__name__}: {error}".splitlines()[0]
        lines.append(verdicts.excused(what, error) if isinstance(error, NotHere | NotRun)
                     else verdicts.judged(what, last, "runs to its end", False))
    seconds = time.monotonic() - began
    print(verdicts.printed(number, f"{check.title} ({seconds:.0f} s)", lines), flush=True)
    return number, check.title, seconds, lines


def _facts(env: Environment) -> dict[str, str]:
    versions = ", ".join(f"{name} {version}" for name, version in env.facts["versions"].items())
    here = f"{env.name}: {env.package} {env.facts['version']}, Python {env.facts['python']}, {versions}"
    found = {"date": datetime.now(UTC).isoformat(timespec="seconds"),
             "command": "python -m tests.gpu " + shlex.join(sys.argv[1:]),
             "revision": _revision(),
             "environment": here,
             "machine": f"{platform.system()} {platform.release()}"}
    if env.is_gpu:
        found["GPU"] = f"{env.facts['gpu']}, capability {'.'.join(map(str, env.facts['capability']))}"
        try:
            found["driver"] = env.management().driver()
        except OSError as error:
            found["driver"] = str(error)
        found["CUDA, cuDNN"] = f"{env.facts.get('cuda', 'not told')}, {env.facts.get('cudnn', 'not told')}"
    return found


def _revision() -> str:
    """Of the repository: what the variable REVISION says, for a copy of the files alone, or git."""
    if "REVISION" in os.environ:
        return os.environ["REVISION"]
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=environment.ROOT, capture_output=True,
                              text=True, check=False)
    except OSError:
        return "not told"
    return done.stdout.strip() or "not told"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
