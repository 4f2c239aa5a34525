"""Adapters as their files say: modules, functions and classes, read with ast, so that no framework is imported."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

ROOT = Path(__file__).parents[1]
MODELS = "models"                      # the folder of an adapter's sequence models
Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.alias | ast.IfExp
# names of what is an adapter or was made by one, and of functions that give one
_OF_ADAPTERS = {"adapter", "workload", "_model", "parallel", "import_module"}


class Module(NamedTuple):
    """A file."""

    path: Path
    name: str                          # dotted
    root: Path = ROOT

    @classmethod
    def of(cls, package: str, name: str, root: Path = ROOT) -> Self:
        """The module of that name in a package, "" for its __init__. Raises FileNotFoundError."""
        folder = root.joinpath(*package.split("."), *name.split(".")) if name else root.joinpath(*package.split("."))
        dotted = f"{package}.{name}" if name else package
        path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
        if not path.exists():
            raise FileNotFoundError(f"{dotted}: found no {path.relative_to(root)}")
        return cls(path, dotted, root)

    @property
    def tree(self) -> ast.Module:
        """What it says."""
        return _tree(self.path)

    def lookup(self, name: str) -> tuple["Module", Definition] | None:
        """Where a name of the module is defined, imports within the root followed; None where it has none."""
        for node in _statements(self.tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                return self, node
            if isinstance(node, ast.Assign) and any(name in _names(target) for target in node.targets):
                return self._assigned(node)
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self._imported(node.module, alias)
        return None

    def _assigned(self, node: ast.Assign) -> tuple["Module", Definition] | None:
        if isinstance(node.value, ast.Name):
            return self.lookup(node.value.id)
        if isinstance(node.value, ast.Attribute):
            return self._attribute(node.value)
        return self, node.value if isinstance(node.value, ast.IfExp) else node

    def _imported(self, package: str, alias: ast.alias) -> tuple["Module", Definition] | None:
        module = self._known(package)
        return module.lookup(alias.name) if module else (self, alias)

    def _known(self, name: str) -> "Module | None":
        try:
            return Module.of(*name.rpartition(".")[::2], root=self.root) if "." in name else Module.of(
                name, "", root=self.root)
        except FileNotFoundError:
            return None

    def _module_called(self, name: str) -> "Module | None":
        """The module that a name stands for."""
        for node in _statements(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self._known(f"{node.module}.{alias.name}")
        return None

    def _attribute(self, node: ast.Attribute) -> tuple["Module", Definition] | None:
        if not isinstance(node.value, ast.Name):
            return None
        module = self._module_called(node.value.id)
        return module.lookup(node.attr) if module else None

    def parameters(self, name: str) -> tuple[str, ...] | None:
        """Of a function, or of a class that is called; None where there is none of that name."""
        found = self.lookup(name)
        if found is None:
            return None
        module, node = found
        if isinstance(node, ast.FunctionDef):
            return _parameters(node)
        return module.classes_of(node)[0].method("__init__")

    def classes(self, name: str) -> list["Class"]:
        """The classes that a name may stand for, one of several where it is chosen as the module is imported."""
        chosen = [node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom)
                  and any((alias.asname or alias.name) == name for alias in node.names)]
        if len(chosen) > 1:
            modules = [module for node in chosen if node.module and (module := self._known(node.module))]
            return [each for module in modules for each in module.classes(name)]
        found = self.lookup(name)
        return found[0].classes_of(found[1]) if found else []

    def classes_of(self, node: Definition) -> list["Class"]:
        """Those of a definition."""
        if isinstance(node, ast.IfExp):
            names = [each.id for each in (node.body, node.orelse) if isinstance(each, ast.Name)]
            return [each for name in names for each in self.classes(name)]
        return [Class(self, node)] if isinstance(node, ast.ClassDef) else []

    def base(self, node: ast.expr) -> "Class | str":
        """The class that a base's expression names; its name where it is not within the root."""
        found = self.lookup(node.id) if isinstance(node, ast.Name) else (
            self._attribute(node) if isinstance(node, ast.Attribute) else None)
        known = found[0].classes_of(found[1]) if found else []
        return known[0] if known else ast.unparse(node)


class Class(NamedTuple):
    """A class of a module."""

    module: Module
    node: ast.ClassDef

    @property
    def name(self) -> str:
        """Dotted."""
        return f"{self.module.name}.{self.node.name}"

    def order(self) -> list["Class | Unknown"]:
        """The class and its bases in the order in which Python looks for a method."""
        bases = [self.module.base(base) for base in self.node.bases]
        known = [base if isinstance(base, Class) else Unknown(base) for base in bases]
        orders = [[*base.order()] for base in known]
        return [self, *_merged([*orders, known])]

    def method(self, name: str, without: str = "") -> tuple[str, ...] | None:
        """The parameters of a method, its own or a base's, self left out; without those of a module's classes."""
        for each in self.order():
            if isinstance(each, Class) and not (without and each.module.name == without):
                own = each.own_methods()
                if name in own:
                    return own[name]
        return None

    def own_methods(self) -> dict[str, tuple[str, ...]]:
        """The parameters of each of its own methods, self left out."""
        return {node.name: _parameters(node)[1:] for node in self.node.body if isinstance(node, ast.FunctionDef)}

    def attributes(self) -> set[str]:
        """What it and its bases set, on themselves or on the object."""
        return {name for each in self.order() if isinstance(each, Class) for name in _set_by(each.node)}

    def is_refusal(self) -> bool:
        """Whether it cannot be built: its __init__ only raises."""
        own = [node for node in self.node.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
        return bool(own) and all(isinstance(statement, ast.Raise) for statement in own[0].body)


class Unknown(NamedTuple):
    """A base that is not within the root."""

    name: str

    def order(self) -> list["Class | Unknown"]:
        """Itself."""
        return [self]


def workloads(package: str, shared: str) -> Iterator[Class]:
    """The classes of a package that inherit from a class of the shared module."""
    folder = ROOT.joinpath(*package.split("."))
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module = Module(path, name)
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                found = Class(module, node)
                if any(isinstance(each, Class) and each.module.name == shared for each in found.order()):
                    yield found


def takes(found: tuple[str, ...] | None, expected: tuple[str, ...]) -> bool:
    """Whether a function can be called with just these: what it has beyond them has defaults, as "name="."""
    if found is None:
        return False
    if found[:1] and found[0].startswith("*"):
        return True
    own = tuple(name.removesuffix("=") for name in found)
    return own[:len(expected)] == expected and all(name.endswith("=") for name in found[len(expected):])


def asks_an_adapter(node: ast.AST) -> bool:
    """Whether it is hasattr, or getattr with a default, of an adapter or of what it made."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
        return False
    is_asking = node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3)
    asked = node.args[0].func if isinstance(node.args[0], ast.Call) else node.args[0]
    return is_asking and getattr(asked, "id", getattr(asked, "attr", "")) in _OF_ADAPTERS


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Those of the module, and those of its ifs."""
    for node in tree.body:
        yield from [*node.body, *node.orelse] if isinstance(node, ast.If) else [node]


def _names(target: ast.expr) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


def _parameters(node: ast.FunctionDef) -> tuple[str, ...]:
    """Names in order; with "=" behind those that have a default, "*" before one that takes the rest."""
    own = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    first = len(own) - len(node.args.defaults)
    named = [name + "=" * (index >= first) for index, name in enumerate(own)]
    return (*named, *([f"*{node.args.vararg.arg}"] if node.args.vararg else []))


def _set_by(node: ast.ClassDef) -> Iterator[str]:
    for inner in node.body:
        if isinstance(inner, ast.Assign):
            yield from (name for target in inner.targets for name in _names(target))
    for each in ast.walk(node):
        if isinstance(each, ast.Assign):
            for target in each.targets:
                yield from (part.attr for part in ast.walk(target) if isinstance(part, ast.Attribute)
                            and isinstance(part.value, ast.Name) and part.value.id == "self")


def _merged(orders: list[list[Class | Unknown]]) -> list[Class | Unknown]:
    """Python's own merging of bases' orders (C3)."""
    merged: list[Class | Unknown] = []
    while orders := [order for order in orders if order]:
        head = next(order[0] for order in orders
                    if not any(order[0].name == each.name for other in orders for each in other[1:]))
        merged.append(head)
        orders = [[each for each in order if each.name != head.name] for order in orders]
    return merged
