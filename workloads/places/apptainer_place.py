"""python -m workloads.places.apptainer_place GROUPS MODULE WORD...: a place, around `python -m MODULE WORD...`.

A worker that the kernel killed for want of memory leaves with OUT_OF_MEMORY, which Apptainer does not tell from another
kill. GROUPS is the folder of the host's control groups, where the container sees it. A runner that dies closes the pipe
that is this process's standard input: the worker is killed then, since Apptainer drops what lets a process die with its
parent. Python 3.6 and later, standard library only.
"""
import os
import signal
import stat
import subprocess
import sys
import threading

from workloads.process import control_groups
from workloads.spec import turns
from workloads.spec.cluster import OUT_OF_MEMORY


def main(arguments):
    """The exit code of the module's interpreter, as a shell says it; OUT_OF_MEMORY where it died of that."""
    if len(arguments) < 2:
        print("usage: python -m workloads.places.apptainer_place GROUPS MODULE WORD...", file=sys.stderr)
        return 2
    listens = bool(os.environ.get(turns.VARIABLE))
    worker = subprocess.Popen([sys.executable, "-m"] + arguments[1:],
                              stdin=subprocess.PIPE if listens else subprocess.DEVNULL)
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        threading.Thread(target=_pass_on, args=(worker,), daemon=True).start()
    return exit_code(worker.wait(), control_groups.kills(control_groups.memory_group(root=arguments[0])))


def exit_code(code, kills):
    """What to leave with, where so many processes of this control group, which is new, were killed for memory."""
    if code == -signal.SIGKILL and kills:
        return OUT_OF_MEMORY
    return 128 - code if code < 0 else code


def _pass_on(worker: subprocess.Popen) -> None:
    """Pass the runner's words on to the worker, which ends with the pipe."""
    for words in iter(lambda: os.read(0, 4096), b""):
        if worker.stdin:
            try:
                os.write(worker.stdin.fileno(), words)
            except OSError:                   # it is gone
                return
    worker.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
