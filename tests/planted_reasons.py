"""python -m tests.planted_reasons FOLDER: reasons planted in one of two equal environments, and what `why` says of it.

One side is a pinned stack, the other a virtual environment that shares its packages. There a reason to be slower is
planted, by a module or by a cell's switch; in the last pair nothing is. The real commands measure both and ask why.
What they said is kept in FOLDER/NAME.json, and the same command goes on from there; the table is printed at the end.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from runner import paths
from runner.stacks import definition, environments
from tests.planted_gates import HOOK, planted

TORCH, TENSORFLOW = "torch-2.13-cpu", "tf-2.21"
STUDY = """[study]
id = "planted"
title = "A cell that takes moments"
rounds = 2

[[experiment]]
id = "train"
measure = "train"
task = "lenet5"
batch = {batch}
steps = 50
warmup = 10
cpus = 2
input = "{input}"
subjects = [{{ stack = "{stack}" }}, {{ stack = "planted"{switches} }}]
"""
SLOW_INPUT = HOOK.format(name="workloads.frameworks.pytorch") + '''

def plant(module):
    batches = module.Workload.batches

    def slow(self, *images):
        for batch in batches(self, *images):
            time.sleep(0.02)
            yield batch

    module.Workload.batches = slow
'''
PYTHON_OPTIMIZER = HOOK.format(name="torch.optim.sgd") + '''

def plant(module):
    import torch

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                rows = (each.reshape(len(parameter), -1) for each in (parameter.data, parameter.grad))
                for row, gradient in zip(*rows):
                    row.add_(gradient, alpha=-group["lr"])

    module.SGD.step = step
'''


class Planted(NamedTuple):
    """A reason, and what `why` is to say."""

    says: str                    # a pattern
    source: str = ""             # of the module in the planted environment
    switches: str = ""           # of the planted cell
    stack: str = TORCH
    batch: int = 128
    input: str = "synthetic"


PLANTED = {
    "one-thread": Planted(r"with a thread for each CPU \(cpus=2\)", switches="cpus=1"),
    "onednn-off": Planted(r"with oneDNN \(TF_ENABLE_ONEDNN_OPTS=1\)", stack=TENSORFLOW,
                          source='import os\nos.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")\n'),
    "slow-input": Planted(r"by its input \(\d+ % of the gap\): with one batch in memory", SLOW_INPUT,
                          input="pipeline"),
    "float64": Planted(r"with float32 \(precision=float32\)", switches="precision=float64"),
    "python-optimizer": Planted(r"most of the gap lies in optimizer", PYTHON_OPTIMIZER, batch=42),
    "nothing": Planted(r"not shown to be slower than torch-2.13-cpu", batch=42),
}


def main(arguments: list[str]) -> int:
    """0; 1 where a reason was not found and named, or one was where there is none."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted_reasons", description=__doc__)
    parser.add_argument("folder", type=Path, help="that keeps environments, sessions and answers")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PLANTED)}; all if left out")
    parser.add_argument("--budget", default="1.9m", help="of each question")
    asked = parser.parse_args(arguments)
    folder = asked.folder.absolute()
    said = {name: answer(folder, name, asked.budget) for name in asked.names or PLANTED}
    print(table(said), end="")
    return 0 if all(is_found(name, each) for name, each in said.items()) else 1


def answer(folder: Path, name: str, budget: str) -> dict[str, Any]:
    """What `why` says of a planted reason: kept, or asked now."""
    kept = folder / f"{name}.json"
    if not kept.exists():
        reason = PLANTED[name]
        home = folder / name
        home.mkdir(parents=True, exist_ok=True)
        python = environments.ready(definition.read_all(paths.STACKS)[reason.stack], paths.cache_folder(), print)
        side = f"planted={planted(home / 'planted', python, reason.source)}"
        switches = f', switches = "{reason.switches}"' if reason.switches else ""
        (home / "planted.toml").write_text(STUDY.format(
            stack=reason.stack, batch=reason.batch, input=reason.input, switches=switches))
        results, told = home / "results", home / "told.json"
        if not (done := home / "measured").exists():
            _run("run", "planted", "--studies", home, "--stack", f"{reason.stack},{side}", "--launcher", "venv",
                 "--results", results)
            done.touch()
        (measured,) = results.glob("*-planted-*")
        _run("why", measured, "--stack", f"{side},planted", "--budget", budget, "--results", results, "--json", told)
        told.replace(kept)
    reasons: list[dict[str, Any]] = json.loads(kept.read_text())["reasons"]
    return next(each for each in reasons if each["stack"] == "planted")


def _run(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "runner", *map(str, words)], cwd=paths.ROOT, check=True)


def is_found(name: str, reason: Mapping[str, Any]) -> bool:
    """Whether the sentence names what was planted."""
    return re.search(PLANTED[name].says, reason["sentence"]) is not None


def table(said: Mapping[str, Mapping[str, Any]]) -> str:
    """A line a planted reason, in Markdown."""
    lines: Sequence[str] = ["| planted | found | what `why` said |", "|---|---|---|", *(
        f"| {name} | {'yes' if is_found(name, each) else 'NO'} | {each['sentence']} |" for name, each in said.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
