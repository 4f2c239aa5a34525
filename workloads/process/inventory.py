"""python -m workloads.process.inventory: what the environment holds, as JSON, for a bill of materials.

Python 3.6 and later, standard library only.

{"python": "3.6.15", "packages": [the header of each package's METADATA], "system": [[name, version] of Debian's]}.
Not by importlib.metadata, which Python 3.6 lacks, nor by `pip inspect`, which its newest pip lacks.
"""
import json
import os
import platform
import sys

_STATUS = "/var/lib/dpkg/status"


def headers(folders):
    """The METADATA of every package in folders, up to its description; the first of a name counts, as for an import."""
    found = {}
    for folder in folders:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            for inside in ("METADATA", "PKG-INFO", ""):
                path = os.path.join(folder, name, inside).rstrip("/")
                if name.endswith((".dist-info", ".egg-info")) and os.path.isfile(path):
                    found.setdefault(name.partition("-")[0].lower(), _header(path))
                    break
    return [found[name] for name in sorted(found)]


def _header(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().partition("\n\n")[0]


def system(path=_STATUS):
    """[name, version] of each installed package of Debian's; none where that is not the system."""
    if not os.path.isfile(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        entries = [dict(line.split(": ", 1) for line in entry.splitlines() if ": " in line and line[0] != " ")
                   for entry in file.read().split("\n\n")]
    return sorted([entry["Package"], entry["Version"]] for entry in entries
                  if entry.get("Status", "").endswith(" installed"))


if __name__ == "__main__":
    is_image = "EVENBENCH_STACK" in os.environ          # else the system is the host's
    print(json.dumps({"python": platform.python_version(), "packages": headers(sys.path[1:]),
                      "system": system() if is_image else []}))
