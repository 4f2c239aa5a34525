"""The Docker engine: the only module that imports docker. Everything else takes the client that connect returns."""

import hashlib
import json
import os
import platform
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import docker
import psutil
from docker import DockerClient
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.models.images import Image
from docker.models.networks import Network
from docker.transport import UnixHTTPAdapter
from docker.types import DeviceRequest, EndpointConfig, Ulimit
from docker.utils import parse_host
from docker.utils.config import find_config_file, load_general_config

from runner import formatting
from runner.errors import EngineUnreachable

# of docker, for other modules
__all__ = ["APIError", "Container", "DockerClient", "DockerException", "EndpointConfig", "ImageNotFound", "Network",
           "NotFound", "Ulimit"]

_HERE = ("localhost", "127.0.0.1", "::1")
NEEDS_TOOLKIT = ("install nvidia-container-toolkit, then run `sudo nvidia-ctk runtime configure --runtime=docker && "
                 "sudo systemctl restart docker`")
_TIMEOUT_SECONDS = 60
_CONNECT_SECONDS = 20         # for one that systemd starts when it is asked
_RESTART_SECONDS = 40.0       # an engine with many containers takes so long to come back
_ASK_SECONDS = 0.5
_ANSWER_SECONDS = 5.0         # in which an engine says that it is there
_SLOW_SECONDS = 1.0           # it takes milliseconds: after so long it was started anew, its socket kept by systemd


def connect(environment: Mapping[str, str] = os.environ) -> DockerClient:
    """A client of the engine that the docker command would use, known to answer. Raises EngineUnreachable."""
    with ExitStack() as failed:
        try:
            client = _client(environment)
            failed.callback(client.close)
            client.ping()
        except (DockerException, OSError, ValueError) as error:      # requests' errors are OSErrors
            raise EngineUnreachable(_mending(environment, str(error))) from error
        failed.pop_all()
    client.api.timeout = _TIMEOUT_SECONDS
    return client


class Waiting:
    """Waits for an engine that is being restarted or hangs. After one wait in vain it waits no more."""

    def __init__(self, client: DockerClient, clock: Callable[[], float] = time.monotonic,
                 wait: Callable[[float], None] = time.sleep) -> None:
        self._client, self._clock, self._wait = client, clock, wait
        self._is_given_up, self._is_there = False, True
        self.absences = 0                        # how often it was seen to be away

    def is_back(self) -> bool:
        """Whether the engine answers, at last."""
        deadline = self._clock() + (0.0 if self._is_given_up else _RESTART_SECONDS)
        while not self.answers():
            if self._clock() >= deadline:
                self._is_given_up = True
                return False
            self._wait(_ASK_SECONDS)
        self._is_given_up = False
        return True

    def answers(self) -> bool:
        """Whether the engine says that it is there, to a new connection: one that ends serves old ones for seconds."""
        began, api = self._clock(), cast(Any, self._client.api)
        api.close()
        try:
            if isinstance(adapter := getattr(api, "_custom_adapter", None), UnixHTTPAdapter):
                _check_listens(adapter.socket_path)
            api._get(api._url("/_ping"), timeout=_ASK_SECONDS if self._is_given_up else _ANSWER_SECONDS)
            is_there = True
        except OSError:                          # requests' errors are OSErrors
            is_there = False
        is_away = not is_there or self._clock() - began > _SLOW_SECONDS
        self.absences += is_away and self._is_there
        self._is_there = is_there
        return is_there


def explained(error: Exception) -> str:
    """The engine's own words on one line."""
    text = error.explanation if isinstance(error, APIError) and error.explanation else str(error)
    return " ".join(str(text).split())[:300]


def tagged(client: DockerClient, name: str) -> Image | None:
    """The image of that tag or id, None where there is none, or no image can have that name."""
    try:
        return client.images.get(name)
    except APIError as error:
        if isinstance(error, NotFound) or error.status_code == 400:
            return None
        raise


def remove_image(client: DockerClient, identity: str) -> bool:
    """True when the image is gone, False when a container still uses it."""
    try:
        client.images.remove(identity, force=False)
    except APIError as error:
        if error.status_code == 409:
            return False
        if not isinstance(error, NotFound):
            raise
    return True


def gpu_request(uuids: Sequence[str]) -> DeviceRequest:
    """What gives a container these GPUs and the driver's libraries to compute and to be watched, no others.

    The engine chooses who serves the request by its capabilities (API 1.40); "compute" and "utility" are what NVIDIA's
    container toolkit mounts, which images that are not NVIDIA's do not ask for by themselves.
    """
    return DeviceRequest(device_ids=list(uuids), capabilities=[["gpu", "compute", "utility"]])


def podman_info(client: DockerClient) -> dict[str, Any] | None:
    """What Podman says of itself beyond Docker's questions; None where the engine is another one."""
    api: Any = client.api
    answer = api.get(f"{api.base_url}/v4.0.0/libpod/info", timeout=_TIMEOUT_SECONDS)
    try:
        return dict(answer.json()) if answer.ok else None
    except ValueError:
        return None


def _client(environment: Mapping[str, str]) -> DockerClient:
    """DOCKER_HOST counts first, then the context that DOCKER_CONTEXT or `docker context use` chose, as for docker."""
    settings = load_general_config()
    if not isinstance(settings, dict) or not isinstance(settings.get("currentContext") or "", str):
        raise EngineUnreachable(f"{cast(str, find_config_file() or '')}: found no settings of docker's: mend it, or "
                                "name another folder in DOCKER_CONFIG")
    if host := environment.get("DOCKER_HOST"):
        _check_here(host, "run `unset DOCKER_HOST`")
        return docker.from_env(environment=dict(environment), timeout=_CONNECT_SECONDS)
    name = environment.get("DOCKER_CONTEXT") or settings.get("currentContext") or "default"
    remedy = "run `unset DOCKER_CONTEXT`" if environment.get("DOCKER_CONTEXT") else "run `docker context use default`"
    try:
        context = _context(name, environment)
    except Exception as error:
        if type(error) is not Exception:             # which docker's library raises for a file that it cannot read
            raise
        raise EngineUnreachable(f"{str(error).strip()}: {remedy}") from error
    if context is None:
        raise EngineUnreachable(f'docker\'s context "{name}" is not there: {remedy}')
    _check_here(context.Host or "", remedy)
    return DockerClient(base_url=context.Host, tls=context.TLSConfig, timeout=_CONNECT_SECONDS)


def _check_listens(socket_path: str) -> None:
    """Raise OSError where nobody listens on the socket: docker's library then leaves its own socket open."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_ANSWER_SECONDS)
        probe.connect(socket_path)


def _context(name: str, environment: Mapping[str, str]) -> Any:
    """The context of that name, None where there is none.

    docker's library needs a config.json beside it; docker itself looks below DOCKER_CONFIG or ~/.docker.
    """
    if found := docker.ContextAPI.get_context(name):
        return found
    folder = Path(environment.get("DOCKER_CONFIG") or Path.home() / ".docker")
    meta = folder / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
    with suppress(OSError, RuntimeError, ValueError, KeyError, TypeError):
        endpoint = json.loads(meta.read_text(encoding="utf-8"))["Endpoints"]["docker"]
        return docker.Context(name, host=str(endpoint["Host"]))
    return None


def _check_here(host: str, remedy: str) -> None:
    """Raise EngineUnreachable for another machine's engine: its CPUs, memory and folders are not this one's.

    And for one that is here and asked through ssh, for which docker's library would need another one. Raises OSError
    where nobody listens.
    """
    address = urlsplit(host)
    if address.scheme == "ssh" and address.hostname in _HERE:
        raise EngineUnreachable(f"no Docker engine is asked through ssh, as {host} wants: name its socket, such as "
                                f"DOCKER_HOST=unix:///var/run/docker.sock, or {remedy}")
    if address.scheme in ("ssh", "tcp", "http", "https") and address.hostname not in _HERE:
        raise EngineUnreachable(f"the Docker engine at {host} is another machine's, and evenbench measures where it "
                                f"runs: run it there, or {remedy}")
    scheme, _, path = cast(str, parse_host(host)).partition("://")
    if scheme == "http+unix":
        _check_listens(path)


def told_here(client: DockerClient) -> dict[str, Any]:
    """What the engine says of itself. Raises EngineUnreachable where its socket leads to another machine.

    One under another kernel that has more than this machine is no virtual machine in it.
    """
    said = dict(client.info())
    cpus, memory_bytes = said["NCPU"], said["MemTotal"]
    if said.get("KernelVersion") != platform.release() and (
            cpus > (psutil.cpu_count() or cpus) or memory_bytes > psutil.virtual_memory().total):
        raise EngineUnreachable(
            f"the Docker engine is another machine's ({said.get('Name')}, {formatting.count(cpus, 'CPU')}, "
            f"{formatting.size(memory_bytes)}), and evenbench measures where it runs: run it there, or with --launcher "
            "venv")
    return said


def _mending(environment: Mapping[str, str], error: str) -> str:
    """What is wrong and what to do, from the client's long-winded error."""
    host = environment.get("DOCKER_HOST")
    if host:
        return (f"no Docker engine answers at DOCKER_HOST={host} ({error.splitlines()[0]}): correct it, or run `unset "
                "DOCKER_HOST`")
    if "PermissionError" in error or "Permission denied" in error:
        return "the Docker engine does not let this user in: run `sudo usermod -aG docker $USER` and log in again"
    if "FileNotFoundError" in error or "No such file" in error:
        return "no Docker engine here (it has no socket): install it, or start it with `sudo systemctl start docker`"
    if "ConnectionRefused" in error or "Connection refused" in error:
        return "the Docker engine is not running: run `sudo systemctl start docker`"
    return f"the Docker engine does not answer ({error.splitlines()[0]}): try `docker info`"
