"""What images are built on: the pinned base where its registry answers, else one of our own, as results say.

Our own is this machine's system from its package mirror, with an interpreter of this machine: that was linked against
its C library, so the base is of the same release.
"""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.request import getproxies

from runner import leftovers
from runner.errors import BuildFailed
from runner.paths import cache_folder
from runner.processes import Say, answer_of, fresh_log, locked, run
from runner.stacks import package_sources
from runner.stacks.definition import PinnedStack
from runner.stacks.engine import DockerClient, tagged
from runner.stacks.environments import find_interpreter

RECIPE_LABEL = "org.evenbench.base-recipe"
RECIPE = "1"                # of our own bases: a higher one makes them anew
_REGISTRY_SECONDS = 20      # an answer comes within two; without a route there is none at all
_PROXIES = ("http", "https", "no")
_NEEDLESS = ("test", "tests", "idlelib", "__pycache__", "site-packages", "config-*", "_tkinter.*", "nis.*")

_told: list[str] = []       # the first refusal: it is said once in a process


class Base(NamedTuple):
    """What a stack's image is built on."""

    image: str
    is_default: bool


def choose(client: DockerClient, stack: PinnedStack, say: Say) -> Base:
    """The stack's pinned base, or our own where that cannot be had. Raises BuildFailed, InterpreterMissing."""
    if stack.unbuildable:
        raise BuildFailed(stack.unbuildable)
    refused = None if tagged(client, stack.base.image) else _refusal(stack.base.image)
    if refused is None:
        return Base(stack.base.image, is_default=True)
    if stack.base.has_cuda:
        raise BuildFailed(f"{stack.name}: its base {stack.base.image.partition('@')[0]} cannot be had here (the "
                          f"registry: {refused}), and no base of our own brings its CUDA")
    if not _told:
        _told.append(refused)
        say(f"the pinned bases cannot be had here (the registry: {refused}): building on a base of our own from this "
            "machine's packages; results will say so")
    return Base(own(client, stack.python, say), is_default=False)


def own(client: DockerClient, python: str, say: Say) -> str:
    """The tag of our own base with a Python of that minor version, built if it is not there."""
    version, interpreter = find_interpreter(python)
    release = package_sources.system_release()
    system = f"evenbench-base:{release}"
    with locked(cache_folder() / "builds" / "base.lock"):
        if not _is_built(client, system):
            _build_system(system, release, say)
        if interpreter.is_relative_to("/usr/bin"):       # the system's own: the archive has it, the build installs it
            return system
        tag = f"{system}-py{version}"
        if not _is_built(client, tag):
            _build_python(tag, system, interpreter, version, say)
    return tag


def _is_built(client: DockerClient, tag: str) -> bool:
    image = tagged(client, tag)
    return image is not None and image.labels.get(RECIPE_LABEL) == RECIPE


@cache
def _refusal(image: str) -> str | None:
    """Why the registry does not give an image, None if it does. Where none answers, a question takes its whole time."""
    try:
        answer = answer_of(["docker", "manifest", "inspect", image], timeout=_REGISTRY_SECONDS)
    except subprocess.TimeoutExpired:
        return f"no answer in {_REGISTRY_SECONDS} s"
    except FileNotFoundError as error:
        raise BuildFailed("images are built by the docker command, which is not here: install docker-cli") from error
    if answer.returncode == 0:
        return None
    lines = answer.stderr.strip().splitlines() or ["no reason given"]
    return lines[-1].rpartition(": ")[2]


def _build_system(tag: str, release: str, say: Say) -> None:
    """Import a minimal system of this machine's release."""
    mirror = package_sources.package_mirror(release)
    if shutil.which("debootstrap") is None or mirror is None:
        raise BuildFailed("a base of our own needs a Debian or Ubuntu machine with debootstrap:"
                          " run `apt-get install debootstrap`")
    if os.geteuid():
        raise BuildFailed("a base of our own can only be built by root: run this command once with sudo")
    log = fresh_log(cache_folder() / "builds" / "base.log")
    say(f"base: a minimal {release} from {mirror} (log: {log})")
    with leftovers.temporary_folder() as name:
        run(["debootstrap", "--variant=minbase", release, f"{name}/system", mirror], log)
        archive = f"{name}/system.tar"
        run(["tar", "-C", f"{name}/system", "--exclude=./var/cache/apt/archives/*.deb", "-cf", archive, "."], log)
        run(["docker", "import", "--change", f"LABEL {RECIPE_LABEL}={RECIPE}", archive, tag], log)


def _build_python(tag: str, system: str, interpreter: Path, version: str, say: Say) -> None:
    """Add an interpreter of this machine and the libraries that it is linked to."""
    log = fresh_log(cache_folder() / "builds" / f"base-py{version}.log")
    say(f"base: Python {version} from {interpreter} (log: {log})")
    minor = version.rpartition(".")[0]
    with leftovers.temporary_folder() as name:
        tree = Path(name) / "python"
        _copy_interpreter(interpreter.parent.parent, tree, minor)
        packages = " ".join(["ca-certificates", *_libraries(tree)])
        Path(name, "Dockerfile").write_text(
            f"FROM {system}\n"
            f"RUN apt-get update && apt-get install -y --no-install-recommends {packages}"
            " && rm -rf /var/lib/apt/lists/*\n"
            f"COPY python /opt/py/{version}\n"
            # the interpreter looks for its library where it was built: a folder that others may not enter
            f"RUN echo /opt/py/{version}/lib >/etc/ld.so.conf.d/evenbench-python.conf && ldconfig\n"
            # not a link in /usr/local/bin: a virtual environment would look for the library beside the link
            f"ENV PATH=/opt/py/{version}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
            f"LABEL {RECIPE_LABEL}={RECIPE}\n")
        docker_build(["-t", tag, name], log)


def _copy_interpreter(prefix: Path, to: Path, minor: str) -> None:
    """Only what belongs to one Python, for a prefix such as /usr/local holds other things too."""
    paths = [f"bin/python{minor}", f"lib/python{minor}", f"include/python{minor}", f"include/python{minor}m"]
    for path in [*paths, *(str(path.relative_to(prefix)) for path in prefix.glob("lib/libpython*.so*"))]:
        source = prefix / path
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, to / path, symlinks=True, ignore=shutil.ignore_patterns(*_NEEDLESS))
        elif source.exists():
            shutil.copy2(source, to / path, follow_symlinks=not path.endswith(".so"))
    (to / "lib" / f"python{minor}" / "site-packages").mkdir()


def _libraries(tree: Path) -> list[str]:
    """The packages of this machine that own the libraries to which an interpreter and its modules are linked."""
    files = [str(path) for path in (*tree.glob("bin/python*"), *tree.glob("lib/**/*.so*"))]
    paths = set(re.findall(r"=> (/(?:usr/)?lib\S+)", answer_of(["ldd", *files]).stdout))
    real = {os.path.realpath(path) for path in paths}
    # dpkg knows a file by the one name under which it was packed, /lib/... or /usr/lib/...
    names = paths | real | {path.removeprefix("/usr") for path in real}
    owners = answer_of(["dpkg-query", "-S", *sorted(names)])
    return sorted({line.partition(":")[0] for line in owners.stdout.splitlines()})


def docker_build(words: list[str], log: Path, heard: Say = lambda line: None) -> None:
    """Run BuildKit with this machine's proxies, which it keeps out of the image's history. Raises BuildFailed."""
    proxies = {f"{name}_proxy": address for name, address in getproxies().items() if name in _PROXIES}
    run(["docker", "build", "--progress=plain", *(f"--build-arg={name}" for name in proxies), *words], log, heard,
        {**os.environ, **proxies, "DOCKER_BUILDKIT": "1"})       # not as words, which all users of the machine read
