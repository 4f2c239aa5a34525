"""python -m workloads.process.inventory: what the environment holds, as JSON. Python 3.6 and later, no numpy.

{"python": "3.6.15", "build": sys.version, "executable": path, "installed": {name: "version sha256:..."},
"frameworks": {package: version}, "numpy": whether it is there}.
Not by importlib.metadata, which Python 3.6 lacks, nor by `pip inspect`, which its newest pip lacks.
"""
import hashlib
import importlib.util
import json
import os
import platform
import re
import sys

from workloads.spec import frameworks


def installed(folders):
    """"version digest" of every package by name, the digest being of what was installed, as far as pip knows it.

    sha256: of the archive that it was installed from, where pip kept that (direct_url.json); record-sha256: of pip's
    list of its files with their hashes (RECORD); without a digest where pip installed nothing, such as a system's
    packages.
    """
    digests = {}
    for folder, inside in _packages(folders):
        header = _header(inside)
        name, version = _field(header, "Name"), _field(header, "Version")
        digests[re.sub(r"[-_.]+", "-", name).lower()] = " ".join([version] + _digest(folder))
    return digests


def versions(folders):
    """The version of every framework that can be imported, by its package; "" where no package says it."""
    versions_by_package = {}
    for package, _ in frameworks.PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.has_location:           # else what an uninstalled package left behind
            versions_by_package[package] = _version(package, folders)
    return versions_by_package


def _version(package, folders):
    """By the package whose list of files has the framework's first one, else by the one of that name."""
    by_name = ""
    for folder, inside in _packages(folders):
        header = _header(inside)
        if _has_file(folder, package + "/__init__.py"):
            return _field(header, "Version")
        if _field(header, "Name").lower() == package:
            by_name = _field(header, "Version")
    return by_name


def _packages(folders):
    """(folder of a package's metadata or its only file, its METADATA), by name; the first of a name counts."""
    folders_by_name = {}
    for folder in folders:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            for inside in ("METADATA", "PKG-INFO", ""):
                path = os.path.join(folder, name, inside).rstrip("/")
                if name.endswith((".dist-info", ".egg-info")) and os.path.isfile(path):
                    folders_by_name.setdefault(name.partition("-")[0].lower(), (os.path.join(folder, name), path))
                    break
    return [folders_by_name[name] for name in sorted(folders_by_name)]


def _header(path: str):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().partition("\n\n")[0]


def _field(header, name: str):
    """The first value of a field of METADATA, "" where it has none."""
    return next((line.partition(":")[2].strip() for line in header.splitlines()
                 if line.lower().startswith(name.lower() + ":")), "")


def _digest(folder: str):
    """[what tells this build of a package from another of the same version], or []."""
    try:
        with open(os.path.join(folder, "direct_url.json"), encoding="utf-8") as file:
            archive = json.load(file).get("archive_info", {})
        known = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").partition("sha256=")[2]
        if known:
            return ["sha256:" + known]
    except (OSError, ValueError, AttributeError):
        pass
    try:
        with open(os.path.join(folder, "RECORD"), "rb") as file:
            # neither what importing compiled, nor scripts, whose first line names the environment
            lines = sorted(line for line in file.read().splitlines()
                           if b"__pycache__" not in line and not line.startswith(b"../"))
    except OSError:
        return []
    return ["record-sha256:" + hashlib.sha256(b"\n".join(lines)).hexdigest()]


def _has_file(folder: str, path: str) -> bool:
    try:
        with open(os.path.join(folder, "RECORD"), encoding="utf-8", errors="replace") as file:
            return any(line.startswith(path + ",") for line in file)
    except OSError:
        return False


def content():
    """All of it, for this interpreter."""
    folders = sys.path[1:]
    return {"python": platform.python_version(), "build": sys.version, "executable": sys.executable,
            "installed": installed(folders), "frameworks": versions(folders),
            "numpy": importlib.util.find_spec("numpy") is not None}


if __name__ == "__main__":
    print("\n" + json.dumps(content()))          # on a line of its own, whatever was printed before
