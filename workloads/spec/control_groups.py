"""Which folders hold the control groups around a process, by the tables that the kernel shows it. Pure.

Both versions (Linux, Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst), inside a namespace of control groups too.
"""

import posixpath


def own(groups, mounts, controller):
    """(a pattern of the folder of the process's own group, the mount that it lies in); None where nothing is mounted.

    groups: of /proc/self/cgroup; mounts: of /proc/self/mountinfo. The pattern has a "*" for each folder whose name a
    namespace hides: of what it matches, the group is the one whose cgroup.procs has the process.
    """
    paths = {name: path for _, names, path in _lines(groups) for name in names.split(",")}
    for kind, name in (("cgroup", controller), ("cgroup2", "")):
        for root, mount, type_, options in _mounted(mounts):
            if type_ == kind and name in paths and (not name or name in options):
                return _below(mount, root, paths[name]), mount
    return None


def around(folder, mount):
    """The folder and those above it, to the mount."""
    folders = [folder]
    while folders[-1].startswith(mount + "/"):
        folders.append(posixpath.dirname(folders[-1]))
    return folders


def _lines(groups):
    """(number, controllers, path) of each hierarchy."""
    return [line.split(":", 2) for line in groups.splitlines() if line.count(":") >= 2]


def _mounted(mounts):
    """(root, mount point, type, options) of each mount (proc(5), /proc/[pid]/mountinfo)."""
    for line in mounts.splitlines():
        words, _, rest = line.partition(" - ")
        before, after = words.split(), rest.split()
        if len(before) >= 6 and len(after) >= 3:
            yield before[3], before[4], after[0], after[2].split(",")


def _below(mount, root, path):
    """The folder of a group, whose path and the mount's root are both as a namespace shows them."""
    hidden = root.split("/").count("..")
    if hidden:
        return mount + "/*" * hidden + path.rstrip("/")
    inside = posixpath.relpath(path, root)
    return mount if inside == "." or inside.startswith("..") else mount + "/" + inside
