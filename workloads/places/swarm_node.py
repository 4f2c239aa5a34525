"""python -m workloads.places.swarm_node MODULE WORD...: a place's part under Swarm, around `python -m MODULE WORD...`.

Does what a service cannot be asked for: nobody here gains privileges (engines know that from 27 on), and a worker that
the kernel killed for want of memory leaves with OUT_OF_MEMORY, which a task's state does not tell from another kill.
"""
import ctypes
import signal
import subprocess
import sys

from workloads.process import control_groups
from workloads.spec.cluster import OUT_OF_MEMORY

_PR_SET_NO_NEW_PRIVS = 38        # linux/prctl.h


def main(arguments):
    """The exit code of the module's interpreter, as a shell says it; OUT_OF_MEMORY where it died of that."""
    if not arguments:
        print("usage: python -m workloads.places.swarm_node MODULE WORD...", file=sys.stderr)
        return 2
    if ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        print("the kernel does not take no_new_privs", file=sys.stderr)
        return 1
    return exit_code(subprocess.call([sys.executable, "-m"] + arguments), control_groups.out_of_memory_kills())


def exit_code(code, kills):
    """What to leave with, where so many processes of this control group, which is new, were killed for memory."""
    if code == -signal.SIGKILL and kills:
        return OUT_OF_MEMORY
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
