"""What a command line asks for: what is measured, and how."""

from pathlib import Path
from typing import NamedTuple

from runner.measuring.bench import Going
from runner.measuring.stopping_rule import Until
from runner.planning.plan import Wishes


class Request(NamedTuple):
    """What is measured, and how."""

    study: str                      # its name, or with experiments: krisilias/kri-f3,kri-mem
    scale: str | None = None
    launcher: str = "auto"           # with its own options: slurm:partition=cpu
    data: str | None = None
    wishes: Wishes = Wishes()
    env: tuple[str, ...] = ()        # names of variables that workers get
    until: Until | None = None
    is_side_by_side: bool = False    # cells on different GPUs at once
    results: Path = Path("results")
    going: Going = Going()
    is_proving: bool = False
    models: tuple[str, ...] = ()     # the user's own files, in place of a study
    same: str = ""                   # the file that gives all of them their weights
    lanes: tuple[str, ...] = ()      # of the files; (): all
    packages: tuple[str, ...] = ()   # that their environments have besides, each NAME==VERSION
    with_products: bool = True       # the machine's matrix products are measured first, for shares of the machine
