"""CIFAR-10 as it is published, in its binary layout: .venv/bin/python data/cifar10/prepare.py."""

import evenbench  # noqa: F401  of an installed one, whose folder it puts on the path
from runner.datasets.published import Download, Published, run
from runner.datasets.writing import copy_records as write

SET = Published(
    "cifar10", "https://www.cs.toronto.edu/~kriz/cifar.html", "none stated; free to use, cite Krizhevsky 2009",
    (Download("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", 170_052_171,
              "md5:c32a1d4ab5d03f1284b67883e8d87530"),), "cifar-10-batches-bin")

if __name__ == "__main__":
    run(SET, write)
