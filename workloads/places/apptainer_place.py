"""python -m workloads.places.apptainer_place GROUPS MODULE WORD...: a place, around `python -m MODULE WORD...`.

A worker that the kernel killed for want of memory leaves with OUT_OF_MEMORY, which Apptainer does not tell from another
kill. GROUPS is the folder of the host's control groups. Python 3.6 and later, standard library only.
"""
import subprocess
import sys

from workloads.places.swarm_node import exit_code
from workloads.process import cgroup


def main(arguments):
    """The exit code of the module's interpreter, as a shell says it; OUT_OF_MEMORY where it died of that."""
    if len(arguments) < 2:
        print("usage: python -m workloads.places.apptainer_place GROUPS MODULE WORD...", file=sys.stderr)
        return 2
    code = subprocess.call([sys.executable, "-m"] + arguments[1:])
    return exit_code(code, cgroup.kills(cgroup.memory_group(root=arguments[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
