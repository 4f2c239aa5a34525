"""CIFAR-100 as it is published, in its binary layout: .venv/bin/python data/cifar100/prepare.py."""

import evenbench  # noqa: F401  of an installed one, whose folder it puts on the path
from runner.datasets.published import Download, Published, run
from runner.datasets.writing import copy_records as write

SET = Published(
    "cifar100", "https://www.cs.toronto.edu/~kriz/cifar.html", "none stated; free to use, cite Krizhevsky 2009",
    (Download("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz", 168_513_733,
              "md5:03b5dce01913d631647c71ecec9e9cb8"),), "cifar-100-binary")

if __name__ == "__main__":
    run(SET, write)
