"""The CPU time of this process and of all that it started, such as compilers. Python 3.6 and later."""
import os

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(own=None, proc="/proc"):
    """Of the process and of what descends from it, with what of that has ended and was waited for."""
    own = os.getpid() if own is None else own
    parents, seconds = {}, {}
    for name in os.listdir(proc):
        fields = _stat(os.path.join(proc, name, "stat")) if name.isdigit() else ()
        if fields:
            # from the state on: its parent is the next, and utime, stime, cutime, cstime the twelfth to fifteenth
            parents[int(name)], seconds[int(name)] = int(fields[1]), sum(map(int, fields[11:15])) / _TICKS
    return sum(each for process, each in seconds.items() if _descends(process, own, parents))


def _stat(path: str):
    """What a process's stat says behind its name, which may have spaces; () where it has gone."""
    try:
        with open(path) as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return ()


def _descends(process, own, parents):
    while process in parents and process != own:
        process = parents[process]
    return process == own
