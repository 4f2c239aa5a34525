"""How this machine reaches packages: pip's settings, folders of wheels, certificates, the system's mirror.

A stack's file may name an index of one package's, such as PyTorch's of CPU wheels. pip is asked for that package by
itself, first by this machine's settings, then at that index in place of the usual one. An extra index for all packages
could offer another file under any of their names, and pip downloads a file before it looks at its hash.
"""

import ast
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import requests

from runner import formatting, leftovers, paths, processes
from runner.errors import BuildFailed
from runner.processes import ELSEWHERE, TO_SET, Say, clean_environment, no_answer, pip_variable, run, without_passwords
from runner.stacks.definition import PinnedStack

_PIP_SETTINGS = ("index-url", "extra-index-url", "find-links", "no-index", "trusted-host", "timeout", "retries")
_ANSWERS_SECONDS = (3.0, 5.0)       # to connect, and between two parts of an answer
_ALL_SECONDS = 10.0
_WORTH_TELLING = 50e6               # bytes of a download that makes people wait
_PLATFORMS = ("manylinux1_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64")     # a lock's hash says which
_CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def pip_settings() -> dict[str, str]:
    """What pip is told on this machine about where packages come from, its environment before its files."""
    return settings_of(_said(["config", "list"]), os.environ)


def pip() -> list[str]:
    """The words that start pip: that of our own environment, or where it has none, of what it was made from."""
    python = sys.executable if find_spec("pip") else os.path.realpath(sys.executable)
    return [python, "-m", "pip"]


def _said(words: Sequence[str]) -> str:
    """What pip prints; "" where there is none. Where a file says `user`, pip would list the user's file alone."""
    return processes.answer_of([*pip(), *words], env={**os.environ, "PIP_USER": "0"}).stdout


def settings_of(listed: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The settings in the output of `pip config list` and in PIP_* variables, which win; an empty one unsets."""
    own = {name: environment[pip_variable(name)] for name in _PIP_SETTINGS if pip_variable(name) in environment}
    settings = {**_of_files(listed, "global"), **own}
    return {name: value for name, value in settings.items() if name in _PIP_SETTINGS and value.strip()}


def _of_files(listed: str, sections: str) -> dict[str, str]:
    """The settings of some sections of pip's files in the output of `pip config list`."""
    found = re.findall(rf"^(?:{sections})\.([a-z-]+)=(.+)$", listed, re.MULTILINE)
    return {name: str(ast.literal_eval(value)) for name, value in found}


def environment() -> dict[str, str]:
    """The variables with which pip installs where it is told to, whatever place its files name.

    It can be told to read no file, but of none that one setting does not count: then variables hold the others.
    """
    of_files = _of_files(_said(["config", "list"]), "global|install")
    if of_files.keys().isdisjoint(ELSEWHERE):
        return clean_environment()
    return {**{pip_variable(name): value for name, value in of_files.items() if name not in ELSEWHERE},
            **clean_environment(), "PIP_CONFIG_FILE": os.devnull}


def install(words: Sequence[str], log: Path, into: Path | None = None) -> None:
    """Let pip install by the user's settings, but for the place; into: an environment's folder. Raises BuildFailed."""
    there = [f"--python={into / 'bin/python'}"] if into else []
    run([*pip(), *there, "install", "--no-input", "--disable-pip-version-check", *words], log,
        environment=environment())


def releases(package: str, *options: str) -> tuple[tuple[str, ...], str]:
    """(the releases of a package that pip's index has, the newest first; what pip complained of)."""
    answer = processes.answer_of([*pip(), "index", "versions", package, *options])
    return versions(answer.stdout), answer.stderr


def versions(said: str) -> tuple[str, ...]:
    """The versions in what `pip index versions` printed; 2.13.0+cpu is a build of 2.13.0."""
    listed = re.search(r"^Available versions: (.+)$", said, re.MULTILINE)
    return tuple(dict.fromkeys(each.partition("+")[0] for each in listed[1].split(", "))) if listed else ()


def wheel_folders(settings: Mapping[str, str]) -> list[Path]:
    """The folders on this machine among pip's find-links."""
    return [path for folder in settings.get("find-links", "").split()
            if (path := paths.named(folder.removeprefix("file://"))).is_dir()]


class Progress:
    """Tells of a build's steps and of long downloads, as the plain lines of pip and BuildKit come in."""

    def __init__(self, name: str, say: Say) -> None:
        self._name, self._say, self._told = name, say, set[str]()
        self._bytes = 0.0

    def __call__(self, line: str) -> None:
        """Hear a line."""
        if step := re.match(r"#\d+ \[(?:\S+ )?(\d+/\d+)\] (.+)$", line):
            self._tell(f"step {step[1]}: {re.sub(r'--mount=[^ ]+ ', '', step[2]).removeprefix('RUN ').strip()}")
        if found := re.match(r"(?:#\d+ [\d.]+ )?\s*Downloading (\S+) \(([\d.]+) ([kMG])B\)", line):
            size = float(found[2]) * {"k": 1e3, "M": 1e6, "G": 1e9}[found[3]]
            self._bytes += size
            if size >= _WORTH_TELLING:
                self._tell(f"downloading {found[1].rpartition('/')[2]}, {formatting.size(size)} "
                           f"({formatting.size(self._bytes)} so far)")

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._say(f"{self._name}: {text}")


def bring_own(stack: PinnedStack, command: Sequence[str], text: str, log: Path, there: Iterable[str] = (),
              heard: Say = lambda line: None, variables: Mapping[str, str] | None = None) -> None:
    """Let pip bring each package that the stack's file names an index of, as the text (a lock, requirements) has it.

    command: pip's, without what it is to bring; there: packages that need not be brought. Raises BuildFailed.
    """
    for package, address in stack.index.items():
        if package in there:
            continue
        if not (wanted := requirement(text, package)):
            raise BuildFailed(f'{stack.folder / "stack.toml"}: index: found "{package}", which is not among what is '
                              "installed")
        with leftovers.temporary_folder() as name:
            Path(name, "requirements.txt").write_text(wanted, encoding="utf-8")
            words = [*command, "-r", f"{name}/requirements.txt"]
            try:
                run(words, log, heard, variables)
            except BuildFailed as here:
                try:
                    run([*words, f"--index-url={address}"], log, heard, variables)
                except BuildFailed as error:
                    raise BuildFailed(_not_had(str(here), str(error), address, log)) from error


def _not_had(here: str, there: str, address: str, log: Path) -> str:
    """What to say of a package that neither pip's settings nor its own index have."""
    ending = f" (log: {log})"
    by_settings, at_its_own = (told.removesuffix(ending).removesuffix(TO_SET) for told in (here, there))
    return f"by pip's settings: {by_settings}; at {address}: {at_its_own}{TO_SET}{ending}"


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """The SHA-256s of each (package, version) in a lock."""
    return {(normal(named[1]), named[2]): tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", pin))
            for pin in re.split(r"\n(?=\S)", lock) if (named := re.match(r"([\w.-]+)==([^\s;]+)", pin))}


def requirement(text: str, package: str) -> str:
    """A package's lines in a lock or in requirements.in, "" where it is not there."""
    found = re.search(rf"^{re.escape(package)}(?=[ =<>~!;\[])(?:.*\\\n)*.*\n?", text, re.MULTILINE)
    return found[0] if found else ""


def not_had(stacks: Iterable[PinnedStack], settings: Mapping[str, str],
            page: Callable[[str], str] = lambda address: _page(address)) -> dict[str, str] | None:
    """What keeps each stack's framework from being had here, by the stack's name; those are left out that can be had.

    Asks the folders and indexes that pip would ask, and takes a few seconds at most. The other packages are small ones
    of the usual index. page: the text at an address, "" where there is none; raises OSError.
    None: nobody was asked, since without a pip here nobody says which index is the usual.
    """
    if not (settings.get("no-index") or settings.get("index-url") or _usual_index()):
        return None
    folders = wheel_folders(settings)
    wanted = [(stack, name, version, [(address, f"{address.rstrip('/')}/{name}/")
                                      for address in _addresses(settings, stack.index.get(name, ""))])
              for stack in stacks for name, version in _frameworks(stack)
              if not any(any(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl")) for folder in folders)]
    texts = _read_at_once({asked for *_, pages in wanted for _, asked in pages}, page)
    lacking = {}
    for stack, name, version, pages in wanted:
        found = [(address, texts[asked]) for address, asked in pages]
        if not any(isinstance(text, str) and _offers(text, name, version) for _, text in found):
            where = ", ".join(_shown(address) + (f" ({no_answer(str(text))})" if isinstance(text, OSError) else "")
                              for address, text in found)
            lacking[stack.name] = f"{name}=={version} is " + (f"not at {where}{TO_SET}" if where else (
                "in no folder: set PIP_FIND_LINKS to a folder that has it, or unset PIP_NO_INDEX"))
    return lacking


def _frameworks(stack: PinnedStack) -> list[tuple[str, str]]:
    """(name, version) of the packages in a lock that are the framework, or have an index of their own."""
    own = re.compile(re.escape(stack.version) + r"(\.post\d+)?")
    return [(name, version) for name, version in pins(stack.lock_text)
            if own.fullmatch(version) or name in stack.index]


def _addresses(settings: Mapping[str, str], own: str) -> list[str]:
    """The indexes that pip asks for a package, in order; own: the one that the stack's file names."""
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        return []
    usual = settings.get("index-url") or _usual_index()
    return [address for address in (usual, *settings.get("extra-index-url", "").split(), own) if address]


@cache
def _usual_index() -> str:
    """The index that pip asks where nobody names one, as its help says it."""
    found = re.search(r"--index-url <url>[^-]*\(default\s+(\S+?)\)", _said(["help", "download"]))
    return found[1] if found else ""


def _read_at_once(addresses: Iterable[str], page: Callable[[str], str]) -> dict[str, str | OSError]:
    """The text at each address, or why there is none."""
    pool, texts = ThreadPoolExecutor(32), dict[str, str | OSError]()
    asked = {address: pool.submit(page, address) for address in addresses}
    answered = wait(asked.values(), _ALL_SECONDS).done
    pool.shutdown(wait=False, cancel_futures=True)
    for address, future in asked.items():
        try:
            texts[address] = future.result() if future in answered else OSError("timed out")
        except (OSError, ValueError) as error:       # ValueError: no address at all, as the client finds
            texts[address] = OSError(str(error))
    return texts


def _page(address: str) -> str:
    """What an index says of a package, "" where it has none. Raises OSError: requests' errors are such."""
    if address.startswith("file://"):
        folder = Path(unquote(urlsplit(address).path))
        index = folder / "index.html"
        return (index.read_text(encoding="utf-8", errors="replace") if index.is_file()
                else "\n".join(path.name for path in folder.glob("*")))
    answer = requests.get(address, timeout=_ANSWERS_SECONDS, verify=str(certificates() or True))
    if answer.status_code not in (200, 404):
        raise OSError(f"status {answer.status_code}")
    return answer.text if answer.ok else ""


def _offers(text: str, name: str, version: str) -> bool:
    """Whether an index's page has a file of that version."""
    stem = re.sub("[-_.]+", "[-_.]+", re.escape(name).replace("\\", ""))
    return re.search(rf"(?i)\b{stem}-{re.escape(version)}(-|\.tar|\.zip)", unquote(text)) is not None


def _shown(address: str) -> str:
    """An address without its scheme and a password, however it was mistyped."""
    return re.sub(r"^\w*:?/+", "", without_passwords(address)).rpartition("@")[2]


def of_python(python: str) -> list[str]:
    """pip's options for wheels of another Python than its own, "3.6": its tag of binaries had an m until 3.8."""
    digits, is_old = python.replace(".", ""), int(python.partition(".")[2]) < 8
    return ["--only-binary=:all:", "--implementation=cp", f"--python-version={digits}",
            f"--abi=cp{digits}{'m' if is_old else ''}", *(f"--platform={name}" for name in _PLATFORMS)]


def pip_configuration(settings: Mapping[str, str]) -> str:
    """A pip.conf with those settings that hold in a container too: none that is a path here."""
    lines = ["[global]"]
    for name, value in settings.items():
        values = value.split()
        if name.endswith(("url", "links")):
            values = [word for word in values if word.startswith(("http://", "https://"))]
        if values and name != "no-index":        # the index in a container is the build's own
            lines.append(f"{name} = " + "\n    ".join(values))
    return "\n".join(lines) + "\n"


def certificates() -> Path | None:
    """The bundle of certificates that this machine trusts, None where there is no such file."""
    named = [Path(os.environ[name]) for name in _CERTIFICATES if os.environ.get(name)]
    return next((path for path in (*named, _SYSTEM_CERTIFICATES) if path.is_file()), None)


def system_release() -> str:
    """The code name of this machine's system ("bookworm"), "" where it has none."""
    with suppress(OSError):
        return platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    return ""


def package_mirror(release: str, folder: Path = Path("/etc/apt")) -> str | None:
    """The first address from which apt takes a release, in either of the two formats of its folder's files."""
    files = [folder / "sources.list", *sorted(folder.glob("sources.list.d/*.list")),
             *sorted(folder.glob("sources.list.d/*.sources"))]
    for path in filter(Path.is_file, files):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
        for line in lines:
            match = re.match(r"deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)", line)
            if match and match[2] == release:
                return match[1]
        for stanza in re.split(r"\n\s*\n", "\n".join(lines)):
            fields = {name: value.split() for name, _, value in (line.partition(":") for line in stanza.splitlines())}
            if {"no", "false"} & {word.lower() for word in fields.get("Enabled", ())}:
                continue
            if release in fields.get("Suites", ()) and "deb" in fields.get("Types", ()) and fields.get("URIs"):
                return fields["URIs"][0]
    return None
