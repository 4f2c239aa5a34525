"""What the wheel holds: one package, evenbench, with all that runs need, and no other name in site-packages.

Its version is runner/__init__.py's, and between releases also says how many commits came after and which is built. What
is built twice from one commit is the same byte by byte: files have the commit's time, or SOURCE_DATE_EPOCH's. An
installed evenbench has no repository to ask: runner/revision.json says which commit it was built from.
"""

import gzip
import io
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:                                            # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
CODE = find_packages(include=["runner*", "workloads*"])
DATA = ("docker", "studies")          # stacks and studies, as files
REVISION = Path("runner", "revision.json")


def git(*words):
    """What git answers of this folder; "" where it is no repository of ours."""
    if not (HERE / ".git").exists():
        return ""
    try:
        answer = subprocess.run(["git", "-C", str(HERE), *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()


def revision():
    """The commit and whether files were changed since, in a repository or as an archive of the sources says."""
    commit = git("rev-parse", "HEAD")
    if commit:
        return {"commit": commit, "changed": bool(git("status", "--porcelain")), "version": version(commit),
                "time": int(git("log", "-1", "--format=%ct"))}
    kept = HERE / REVISION
    return json.loads(kept.read_text()) if kept.is_file() else {"version": base_version()}


def base_version():
    """The version that is worked on, or that was released."""
    return re.search(r'__version__ = "([^"]+)"', (HERE / "runner/__init__.py").read_text()).group(1)


def version(commit):
    """The released version at its tag, else a development version of it with the commit (PEP 440)."""
    base = base_version()
    if f"v{base}" in git("tag", "--points-at", "HEAD").split():
        return base
    return f"{base}.dev{git('rev-list', '--count', 'HEAD') or 0}+g{commit[:9]}"


BUILT = revision()
os.environ.setdefault("SOURCE_DATE_EPOCH", str(BUILT.get("time", 315532800)))      # 1980, the oldest that a ZIP knows
os.umask(0o022)           # what is built has the same modes whoever builds it


class BuildPy(build_py):
    """As setuptools', and the revision beside the code."""

    def run(self):
        """Copy the code, then write the revision."""
        super().run()
        if not self.editable_mode:
            self._write(Path(self.build_lib, "evenbench", REVISION))
            same_modes(self.build_lib)

    def _write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(BUILT, sort_keys=True) + "\n")


class BdistWheel(bdist_wheel):
    """As setuptools', with the same modes whatever a checkout's are."""

    def egg2dist(self, egginfo_path, distinfo_path):
        """Write the wheel's metadata."""
        super().egg2dist(egginfo_path, distinfo_path)
        same_modes(distinfo_path)


class Sdist(sdist):
    """As setuptools', with the revision, and an archive that only depends on what is in it."""

    def make_release_tree(self, base_dir, files):
        """As setuptools', with the revision."""
        super().make_release_tree(base_dir, files)
        path = Path(base_dir, REVISION)
        path.unlink(missing_ok=True)
        path.write_text(json.dumps(BUILT, sort_keys=True) + "\n")

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        """The archive's name; as setuptools', but for times, owners and order."""
        if format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
            top = Path(root_dir or ".", base_dir)
            for path in sorted([top, *top.rglob("*")]):
                archive.add(path, arcname=str(path.relative_to(top.parent)), recursive=False, filter=plain)
        name = f"{base_name}.tar.gz"
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        with Path(name).open("wb") as file, gzip.GzipFile("", "wb", mtime=int(os.environ["SOURCE_DATE_EPOCH"]),
                                                     fileobj=file) as packed:
            packed.write(content.getvalue())
        return name


def same_modes(folder):
    """Give all files below a folder modes that no umask decides."""
    for path in Path(folder).rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def plain(entry):
    """A tar's entry without owner, umask and time of whoever packs it."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


setup(
    version=BUILT["version"],
    packages=["evenbench", *(f"evenbench.{name}" for name in (*CODE, *DATA))],
    package_dir={"evenbench": "package", **{f"evenbench.{name}": name.replace(".", "/") for name in (*CODE, *DATA)}},
    package_data={"evenbench.runner": ["datasets/digits.csv.gz", "report/writers/*.html", "report/writers/*.css",
                                       "report/writers/*.js"],
                  "evenbench.docker": ["**/*"], "evenbench.studies": ["*.toml", "models/*.py"]},
    cmdclass={"build_py": BuildPy, "sdist": Sdist, "bdist_wheel": BdistWheel},
)
