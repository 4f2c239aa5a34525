"""python -m tests.planted_gates: real gates on sides that differ in nothing but a planted delay, and what they answer.

Both sides are virtual environments that share the packages of a pinned stack. In each lies a module that lets every
step take longer by a share of its own time: none at the base, the planted one at the head. The gates are the real
command with real workers on a cell that takes moments, of a stack that computes within the call, as PyTorch does on a
CPU: elsewhere a step's time would not be known where the delay is planted. Gates differ in the orders of their runs,
and the delays take turns. What each answered is kept line by line in FOLDER/gates.jsonl, and the same command goes on
from there; the table is printed at the end, and when it is interrupted.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner import paths
from runner.analysis.between import regression
from runner.stacks import definition, environments

SHARES = (0.0, 0.02, 0.05, 0.10)
STACK = "torch-2.13-cpu"       # whose packages both sides share
ROUNDS = 7             # with the default's ten, eighty gates take more than an hour, most of it PyTorch's imports
STUDY = """[study]
id = "planted"
title = "A cell that takes moments"
rounds = {rounds}

[[experiment]]
id = "infer"
measure = "infer"
task = "lenet5"
stacks = ["{stack}"]
batch = 32
steps = 250
warmup = 20
cpus = 1
"""
# what lies in an environment and plants something in a module once that is imported; plant(module) follows
HOOK = '''import importlib.machinery
import sys
import time


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != {name!r}:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            plant(module)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder())
'''
# the delay is waited out by reading the clock: a sleep of some microseconds lasts several times as long
PLANTED = HOOK.format(name="workloads.measuring.watch") + '''

SHARE = {share!r}


def plant(module):
    watch = module.Watch
    stepped, clock, last = watch.stepped, time.perf_counter, [None]

    def delayed(self, handle, phases=None):
        if SHARE and last[0] is not None:
            now = clock()
            until = now + SHARE * (now - last[0])
            while clock() < until:
                pass
        try:
            return stepped(self, handle, phases)
        finally:
            last[0] = clock()

    watch.stepped = delayed
'''


class NoAnswer(Exception):
    """A gate was refused or interrupted, such as by another session that measures."""


def main(arguments: list[str]) -> int:
    """0; 1 where too many of equal sides were called slower; 2 where a gate did not answer, whose reason it told."""
    asked = _parsed(arguments)
    folder = asked.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    python = environments.ready(definition.read_all(paths.STACKS)[STACK], paths.cache_folder(), print)
    study = folder / "planted.toml"
    study.write_text(STUDY.format(stack=STACK, rounds=ROUNDS))
    sides = {share: planted(folder / f"head-{share * 100:g}", python, PLANTED.format(share=share)) for share in SHARES}
    base = planted(folder / "base", python, PLANTED.format(share=0.0))
    kept = folder / "gates.jsonl"
    try:
        for number in range(asked.count):
            for share in SHARES:
                if not any(each["share"] == share and each["number"] == number for each in read(kept)):
                    outcome = gate(study, (base, sides[share]), number, folder / "results", asked.allow)
                    with kept.open("a") as file:
                        file.write(json.dumps({"share": share, "number": number, **outcome}) + "\n")
                    print(f"{share:.0%}, {number + 1} of {asked.count}: exit code {outcome['exit_code']} after "
                          f"{outcome['seconds']:.0f} s", file=sys.stderr, flush=True)
    except (KeyboardInterrupt, NoAnswer) as stop:
        print(f"{str(stop) or 'interrupted'}; the same command goes on from here", file=sys.stderr)
        return 2 if isinstance(stop, NoAnswer) else 130
    finally:
        print(table(read(kept), asked.allow), end="")
    return 0 if is_good(read(kept)) else 1


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.planted_gates", description=__doc__)
    parser.add_argument("folder", type=Path, help="that keeps environments, sessions and answers")
    parser.add_argument("--count", type=int, default=20, help="gates of each delay")
    parser.add_argument("--allow", default="3%", help="as evenbench gate's")
    return parser.parse_args(arguments)


def planted(home: Path, python: Path, source: str) -> Path:
    """A virtual environment with another one's packages, in which this module is imported first."""
    if not (home / "bin" / "python").exists():
        subprocess.run([python, "-m", "venv", "--without-pip", home], check=True)
    (own,) = home.glob("lib/python3*/site-packages")
    (others,) = python.parents[1].glob("lib/python3*/site-packages")
    (own / "planted.py").write_text(source)
    (own / "planted.pth").write_text(f"{others}\nimport planted\n")
    return home


def gate(study: Path, sides: tuple[Path, Path], seed: int, results: Path, allow: str) -> dict[str, Any]:
    """What a gate answers, and how long it took; seed: of its order of runs, in which no two of a delay are alike."""
    base, head = sides
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-m", "runner", "gate", study, "--base", f"base={base}", "--head",
                            f"head={head}", "--allow", allow, "--rounds", str(ROUNDS), "--seed", str(seed),
                            "--launcher", "venv", "--fresh", "--json", "-", "--results", results],
                           cwd=paths.ROOT, stdout=subprocess.PIPE, text=True, check=False)
    seconds = time.monotonic() - began
    if ended.returncode not in regression.EXIT_CODES.values():
        raise NoAnswer(f"the gate ended with exit code {ended.returncode}")
    compared = json.loads(ended.stdout)["compared"][0]
    return {"exit_code": ended.returncode, "seconds": round(seconds, 1),
            **{name: compared[name] for name in ("ratio", "interval", "p_slower", "p_within", "reason")}}


def read(kept: Path) -> list[dict[str, Any]]:
    """What earlier gates answered."""
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


def table(done: Sequence[dict[str, Any]], allow: str) -> str:
    """A line a delay, in Markdown."""
    lines = [f"| planted delay | gates | 0: within {allow} | 1: slower | 3: could not tell | median head / base | "
             "planted ratio outside the 95 % interval |", "|---|---|---|---|---|---|---|"]
    for share in sorted({each["share"] for each in done}):
        of = [each for each in done if each["share"] == share]
        codes = Counter(each["exit_code"] for each in of)
        ratios = sorted(each["ratio"] for each in of if each["ratio"] is not None)
        middle = f"{ratios[len(ratios) // 2]:.3f}" if ratios else "-"
        intervals = [each["interval"] for each in of if each["interval"]]
        missed = sum(not each["low"] <= 1 / (1 + share) <= each["high"] for each in intervals)
        lines.append(f"| {share:.0%} | {len(of)} | {codes[0]} | {codes[1]} | {codes[3]} | {middle} | "
                     f"{missed} of {len(intervals)} |")
    return "\n".join(lines) + "\n"


def is_good(done: Sequence[dict[str, Any]]) -> bool:
    """Whether at most one in twenty of equal sides was called slower."""
    equal = [each["exit_code"] for each in done if not each["share"]]
    return 20 * equal.count(regression.EXIT_CODES[regression.Answer.SLOWER]) <= max(20, len(equal))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
