"""The first record of a session, and the earlier session that the same command goes on with."""

import json
import re
import secrets
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner import __version__
from runner.machine import hardware, host
from runner.measuring import own_stacks, rerun
from runner.measuring.job import Job
from runner.paths import ROOT
from runner.processes import Say
from runner.results import sessions, store
from runner.results.sessions import Session


def of(job: Job, folder: Path, is_resumed: bool) -> store.Record:
    """The first record of a session."""
    return {"event": "session", "schema": store.SCHEMA, "id": folder.name, "study": job.plan.study.id,
            "scale": job.plan.study.scale, "seed": job.plan.seed, "evenbench": __version__, "argv": sys.argv[1:],
            "began": datetime.now(UTC).isoformat(timespec="seconds"), "machine": job.machine._asdict(),
            "launcher": job.launcher.name, "governor": host.governor(), "command": job.command(),
            "hardware": hardware.hardware(), "harness": _harness(), "resumed": is_resumed,
            "asked_command": job.asked(),
            **({"own": {name: each.record() for name, each in own.items()}} if (own := job.own()) else {}),
            **({"data": job.request.data} if job.request.data else {}), **job.facts,
            **job.launcher.record(), **({"gpus": job.gpus.record()} if job.gpus.gpus else {})}


def _harness() -> dict[str, Any]:
    """Which revision of evenbench measures, and whether its files were changed since; {} where nothing says it."""
    if (ROOT / ".git").exists():
        try:
            commit, changes = (subprocess.check_output(["git", *git], text=True, stderr=subprocess.PIPE, cwd=ROOT)
                               for git in (("rev-parse", "HEAD"), ("status", "--porcelain")))
        except (OSError, subprocess.CalledProcessError):
            return {}
        return {"commit": commit.strip(), "changed": bool(changes.strip())}
    try:                     # what an installed one was built from, as hatch_build.py wrote it down
        told = json.loads((ROOT / "runner" / "revision.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: told[name] for name in ("commit", "changed", "version") if name in told}


def new_folder(job: Job) -> Path:
    """results/<time>-<study>-<4 hex digits>; a study that a stranger's record names leads nowhere else."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", job.plan.study.id)[:64]
    return job.request.results / f"{moment}-{name}-{secrets.token_hex(2)}"


def resumable(job: Job, say: Say) -> Session | None:
    """The unfinished session of the same command; None, and the reason said, if it cannot go on."""
    results = job.request.results
    same = sessions.unfinished(results, job.command())
    kept = same or next(sessions.of_command(results, job.asked(), "asked_command"), None)
    if kept is None or kept.state == "done":
        return None
    if same:
        images = same.images()
        there = {name: job.stacks[name] for name in images if name in job.stacks}
        now = {name: job.launcher.of(stack).image(stack) for name, stack in there.items()}
        others = [name for name, image in now.items() if image and image != images[name]]
        changes = [f"{', '.join(others)}: another image or environment than the session's"] if others else []
    else:
        pinned = {name: made_of for name, made_of in job.hashed().made_of.items() if name not in job.own()}
        changes = [*rerun.differences(kept, job.machine, job.launcher.name, pinned),
                   *own_stacks.changes(kept.first, job.stacks)] or ["its plan, data or GPUs were others"]
    if changes:
        say(f"{'; '.join(changes)}; so {kept.folder.name} is not resumed and a new session begins")
    return None if changes else same


def resumed(job: Job, kept: Session) -> Job:
    """The job with the seed of the session that it goes on with: a rerun's is drawn when it begins."""
    seed = kept.last.get("seed")
    return job._replace(plan=job.plan._replace(seed=seed)) if isinstance(seed, int) else job
