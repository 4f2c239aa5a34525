"""Check 9: the study, end to end."""

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.gpu.environment import CUT, ROOT, Environment
from tests.gpu.verdicts import Failed, Line, NotRun, judged

RUNNER = ("docker", "jinja2", "psutil", "pydantic", "pynvml", "requests", "rich", "typer")
# three cells of one net, with the study's own choice of algorithms: each further one is a process more, and a search
# for algorithms of 15 s; the steps are few, since nothing here is judged by how long they take
GPU = ("gpu/train,infer,kernels", "task=resnet50", "batch=32", "steps=10", "warmup=3", "warm=fixed", "seconds=0")
CPU = ("quick", "steps=5", "warmup=1", "warm=fixed", "seconds=0")


def study(env: Environment) -> Iterator[Line]:
    """The study of `make bench-gpu` runs end to end here: every cell ends ok, and a page is there.

    One round at scale quick of what takes seconds: whether the way through is whole, not which stack is faster. On a
    CPU it is the study quick.
    """
    missing = [name for name in RUNNER if not importlib.util.find_spec(name)]
    if missing:
        raise NotRun(f"this Python has no {', '.join(missing)}, which the runner needs")
    name, *settings = GPU if env.is_gpu else CPU
    with tempfile.TemporaryDirectory() as folder:
        stack = f"{env.name}={env.python}#{env.package}"
        command = [sys.executable, "-m", "runner", "run", name, "--scale", "quick", "--launcher", "venv",
                   "--rounds", "1", *(word for setting in settings for word in ("--set", setting)),
                   "--stack", stack, "--baseline", env.name, "--results", folder]
        done = _done(command, env)
        if done.returncode == 2:
            raise NotRun(f"the runner said: {(done.stderr.strip().splitlines() or ['nothing'])[-1]}")
        yield judged(f"`evenbench run {name} --scale quick`", f"exit code {done.returncode}", "0",
                     done.returncode == 0)
        _done([sys.executable, "-m", "runner", "report", "--results", folder], env)
        size = sum(page.stat().st_size for page in Path(folder).rglob("report.html"))
        yield judged("its page, by `evenbench report`", f"{size / 1e3:.0f} kB", "> 10 kB", size > 10000)
        yield _endings(Path(folder))


def _done(command: list[str], env: Environment) -> "subprocess.CompletedProcess[str]":
    seconds = max(1.0, env.deadline - time.monotonic())
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise NotRun(CUT) if env.was_cut else Failed(f"the study took longer than {seconds:.0f} s") from error


def _endings(folder: Path) -> Line:
    """How the study's runs ended."""
    lines = [line for path in folder.rglob("events.jsonl") for line in path.read_text().splitlines()]
    words = [event["ending"] for event in map(json.loads, lines) if event["event"] == "ending"]
    counts = ", ".join(f"{word} {words.count(word)}" for word in sorted(set(words)))
    return judged("endings", counts or "none", "ok", set(words) == {"ok"})
