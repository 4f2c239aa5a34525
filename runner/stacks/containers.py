"""Containers of ours: how each is confined, which ones dead runners left, what an image of the user's tells in one."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner import leftovers
from runner.stacks import own
from runner.stacks.engine import APIError, Container, DockerClient, DockerException, gpu_request, tagged
from runner.stacks.own import Asked, OwnStack

OWNER = "org.evenbench.owner"       # the runner whose container it is, as runner/leftovers.py names it
# what every container of ours is created with, whatever it does: nothing to write to, and nobody to become
CONFINED: dict[str, Any] = {
    "read_only": True, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges"], "pids_limit": 4096, "init": True,
    "tmpfs": {"/tmp": "rw,exec,nosuid,nodev,size=1g,mode=1777"}}       # exec: torch.compile loads what it compiles
_PYTHONS = ("python", "python3")
_WORKLOADS = "/opt/evenbench"       # where the workloads lie in an image that is not ours


def question() -> dict[str, Any]:
    """How a container that only answers a question is started."""
    return {"command": [], "network_mode": "none", **CONFINED, "labels": {OWNER: leftovers.mine()}}


def left(client: DockerClient) -> list[Container]:
    """Those of runners that no longer live."""
    return [each for each in client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True)
            if leftovers.is_gone(each.labels[OWNER])]


def remove(what: Any, **how: bool) -> None:
    """Remove a container or network."""
    with suppress(APIError):            # it is being removed already; a network that it still holds is the next sweep's
        what.remove(**how)


def mounted(root: Path) -> dict[str, Any]:
    """What lets an image that is not ours run the workloads, to be read alone."""
    return {"volumes": {str(root / "workloads"): {"bind": f"{_WORKLOADS}/workloads", "mode": "ro"}},
            "environment": {"PYTHONPATH": _WORKLOADS, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
                            "HOME": "/tmp"},
            "working_dir": "/tmp"}


def own_stack(client: DockerClient, asked: Asked, root: Path, gpus: Sequence[str]) -> OwnStack:
    """The stack of an image of the user's. gpus: the machine's, by uuid. Raises BenchError."""
    image = tagged(client, asked.image)
    if image is None:
        raise asked.wrong(f'this engine has no image "{asked.image}": `docker images` shows what there is, '
                          f"`docker pull {shlex.quote(asked.image)}` may bring it")
    identity = str(image.id)
    for python in _PYTHONS:
        answer = _output_of(client, asked, identity, [python, "-m", own.INVENTORY], root, {})
        if answer is not None:
            break
    else:
        raise asked.wrong("found no Python 3.6 or newer in the image that tells what it holds; tried "
                          + " and ".join(_PYTHONS))
    on_gpus = {"device_requests": [gpu_request(gpus)]}
    return own.stack(asked, root, own.inventory(asked, answer), python,
                     (lambda words: _output_of(client, asked, identity, words, root, on_gpus)) if gpus else None,
                     identity)


def _output_of(client: DockerClient, asked: Asked, image: str, command: list[str], root: Path, more: dict[str, Any],
               ) -> bytes | None:
    """What a program prints in a container of the user's image, None where it fails. Raises InputError."""
    try:
        container = client.containers.create(image, **{"entrypoint": command, **question(), **mounted(root), **more})
        try:
            container.start()
            with suppress(OSError):              # the time is over
                container.wait(timeout=own.SECONDS)
            container.reload()
            if container.attrs["State"]["Running"]:
                raise asked.wrong(f"{command[0]} in it did not answer within {own.SECONDS} s")
            return None if container.attrs["State"]["ExitCode"] else bytes(container.logs(stderr=False))
        finally:
            remove(container, force=True, v=True)
    except (DockerException, OSError):
        return None
