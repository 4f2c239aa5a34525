"""The rooms and floors of the host side, and what breaks their order: `python -m tests.house`; 1 where something does.

A room is a folder of runner/, or clusters/. Its modules import one another, and rooms of lower floors: neither a higher
room nor another one of their own floor. The modules that lie in runner/ itself are one room, the lowest. No folder of
these or of workloads/ has more than MOST_MODULES.
"""

import ast
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
GROUND = "runner"
HOST = (GROUND, "clusters")
PACKAGES = (*HOST, "workloads")
FLOORS = (("cli",), ("screen",), ("report",), ("measuring", "doctor", "clusters"),
          ("launchers", "analysis", "planning"), ("machine",), ("stacks", "study", "datasets"), ("results",), (GROUND,))
FLOOR_OF = {room: floor for floor, rooms in enumerate(reversed(FLOORS)) for room in rooms}
MOST_MODULES = 15        # of a folder
Imports = Mapping[str, frozenset[str]]       # the modules of the host side that each of them imports


def read(root: Path = ROOT) -> Imports:
    """Every module of the host side with its imports, also those inside functions."""
    paths = {_name(path.relative_to(root)): path for top in HOST for path in sorted((root / top).rglob("*.py"))}
    return {name: frozenset(_module(word, paths) for word in imported(path)) - {name, ""}
            for name, path in paths.items()}


def _module(word: str, known: Collection[str]) -> str:
    """The module that an imported name is, or that it is taken from; "" for those of others."""
    return next((each for each in (word, word.rpartition(".")[0]) if each in known), "")


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Of a file's syntax; read once for all rules."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported(path: Path) -> Iterator[str]:
    """The names that a file imports, with dots; `from a import b` counts as a.b."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(module: str) -> str:
    """The folder of a module; GROUND for those that lie in runner/ itself."""
    top, part = [*module.split("."), ""][:2]
    if top != GROUND:
        return top
    return "cli" if part == "__main__" else part if part in FLOOR_OF else GROUND


def breaks(imports: Imports) -> list[str]:
    """Each import that runs up, or sideways between rooms of a floor."""
    return [f"{module} -> {target}: {'sideways' if FLOOR_OF[room(module)] == FLOOR_OF[room(target)] else 'upward'}"
            for module, targets in imports.items() for target in sorted(targets)
            if room(module) != room(target) and FLOOR_OF[room(target)] >= FLOOR_OF[room(module)]]


def circle(imports: Imports) -> list[str]:
    """Modules that import each other in a circle, the first one again at the end; empty where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def longest_chain(imports: Imports) -> list[str]:
    """The most modules of which each imports the next one; imports have no circle."""
    chains: dict[str, list[str]] = {}
    for module in TopologicalSorter(imports).static_order():
        chains[module] = [module, *max((chains[target] for target in sorted(imports[module])), key=len, default=[])]
    return max(chains.values(), key=len)


def modules(root: Path = ROOT) -> list[str]:
    """The names of all modules of the packages."""
    return [_name(path.relative_to(root)) for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]


def folders(modules: Collection[str]) -> dict[str, int]:
    """How many modules lie in each folder, its own __init__ not counted."""
    packages = {module.rpartition(".")[0] for module in modules}
    return dict(Counter(module.rpartition(".")[0] for module in modules if module not in packages))


def full(modules: Collection[str]) -> list[str]:
    """The folders with more than MOST_MODULES."""
    return [f"{folder}: {count} modules, at most {MOST_MODULES}" for folder, count in folders(modules).items()
            if count > MOST_MODULES]


def main() -> int:
    """Print the house."""
    imports, everything = read(), modules()
    for floor, rooms in enumerate(FLOORS):
        counts = (f"{name} ({sum(room(module) == name for module in imports)})" for name in rooms)
        print(f"floor {len(FLOORS) - floor}: {', '.join(counts)}")
    print("largest folders:", ", ".join(f"{folder} {count}" for folder, count in sorted(
        folders(everything).items(), key=lambda item: -item[1])[:3]))
    around = circle(imports)
    if not around:
        chain = longest_chain(imports)
        print(f"longest chain of imports: {len(chain)}: {' > '.join(name.removeprefix('runner.') for name in chain)}")
    mistakes = [*breaks(imports), *full(everything), *(["circle: " + " > ".join(around)] if around else [])]
    print("\n".join(mistakes) or "nothing breaks the order")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
