"""A wheel of one module and its lock, for tests of what installs from locks."""

import base64
import hashlib
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from runner.stacks.definition import Stack, read
from tests.stack_folder import STACK_TOML, repository
from tests.web import listening

MINOR = f"3.{sys.version_info.minor}"


def lock_of_wheel(folder: Path, name: str) -> str:
    """A lock of one package, whose wheel with one module is put into the folder."""
    about = f"{name}-1.0.dist-info"
    files = {f"{name}.py": b"IS_HERE = True\n",
             f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
             f"{about}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    digests = {name: base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
               for name, content in files.items()}
    record = "".join(f"{name},sha256={digests[name]},{len(content)}\n" for name, content in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file_name, content in files.items():
            archive.writestr(file_name, content)
    return f"{name}==1.0 \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


@contextmanager
def index_of(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """(the address of an index as pip knows it, what it is asked for) of a folder with a folder of files a package."""
    asked: list[str] = []

    class Index(SimpleHTTPRequestHandler):
        def log_message(self, text: str, *words: object) -> None:
            asked.append(self.path)

    for package in folder.iterdir():
        links = "".join(f'<a href="{file.name}">{file.name}</a>' for file in package.glob("*.whl"))
        (package / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    with listening(partial(Index, directory=str(folder))) as address:
        yield address, asked


def stack_of_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """A stack for this interpreter whose packages come from the folder tmp_path/wheels."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    docker_folder = repository(tmp_path / "repository", STACK_TOML.replace('"3.11"', f'"{MINOR}"'))
    made = read(docker_folder)
    made.lock.write_text(lock_of_wheel(folder, "torch"))
    made.pip_lock.write_text(lock_of_wheel(folder, "installer"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return made
