"""python -m workloads.process.own_task FILE: the TASK of a user's own file, as the text that cells of it hold.

Files beside it can be imported. Python 3.6 and later.
"""
import os
import runpy
import sys

from workloads.process import emit
from workloads.spec import image_task


def main(path):
    """0; 1 where the file has no TASK, or one that cannot be, with the reason on standard error."""
    descriptor = emit.descriptor()              # what the file prints is not the answer
    sys.path.append(os.path.dirname(path))
    found = runpy.run_path(path)
    try:
        if "TASK" not in found:
            raise image_task.TableError('found no TASK, expected TASK = Task(table, image, least, classes, "title")')
        text = image_task.dumps(found["TASK"])
    except image_task.TableError as error:
        print(error, file=sys.stderr)
        return 1
    with os.fdopen(descriptor, "w") as answer:
        answer.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
