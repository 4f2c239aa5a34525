"""What ties a child to its parent: its end, and who has it when its parent is gone. Python 3.6 and later, Linux."""
import ctypes
import os
import resource
import signal

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36           # linux/prctl.h


def end_with_parent() -> None:
    """In a child, before its program: the kernel kills it when its parent is gone, however that went (prctl(2))."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """What a child of this process leaves becomes its child, not init's, so that its CPU time is still this family's.

    Nobody waits for such a child: ended, it is a zombie, which tells its time, until this process ends (prctl(2)).
    """
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_descendants() -> None:
    """Kill all that still runs of what this process started, also in sessions of their own: it has adopted them."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:                              # it has just ended
            continue
    family = [os.getpid()]
    for parent in family:
        family += [child for child, of in parents.items() if of == parent]
    for each in family[1:]:
        try:
            os.kill(each, signal.SIGKILL)
        except OSError:
            continue


def end_as_unless_well(status) -> None:
    """End this process as its child of that status ended (waitpid(2)): the same exit code or signal, without a core.

    Return where the child exited with 0.
    """
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), os.WTERMSIG(status))
        os._exit(128 + os.WTERMSIG(status))          # of a signal that this process ignores
    if status:
        os._exit(os.WEXITSTATUS(status))
