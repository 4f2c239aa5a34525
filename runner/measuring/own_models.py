"""Models of the user's own: Python files to a study of lanes, which are proved equal before anything is timed.

A file is read here as text, and parsed to see what kind it is; workers alone run it. A lane is a column: to the plan a
stack of its own, to the launcher the pinned stack that has what it needs.
"""

import ast
import functools
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from runner import paths
from runner.analysis.agreement import Sent, Verdict, apart, compare
from runner.errors import BenchError, InputError, unknown
from runner.launchers.watchdog import Ending
from runner.measuring import equality
from runner.measuring.equality import Check
from runner.planning.plan import Plan
from runner.processes import Say
from runner.stacks import extended
from runner.stacks.definition import PinnedStack, Stack
from runner.study.file import Experiment, Study
from runner.study.tables import scalar
from workloads.spec import frameworks
from workloads.spec.cell import Cell
from workloads.spec.models import own_model
from workloads.spec.models.own_model import BY_NAME, LANES, WISHED, Lane, Model

# fields of --set that mean something for a file that brings its model and its batch
SETTINGS = ("batch", "steps", "warmup", "warm", "seconds", "cpus", "memory_bytes", "seed", "learning_rate", "optimizer",
            "weight_decay", "precision", "measure", "loop")
_OF_ROWS = {"float32": "float32", "bf16": "amp"}       # what --set precision= may say, and a cell's word for it
PRECISIONS = ("float64", "float32")          # the wider first
_OF_PRECISION = re.compile("dtype|double|float64", re.IGNORECASE)     # why a wider one alone may fail
_BATCH = 32
_MEASURES = {"train": "Training", "infer": "Inference of", "step": "Steps of"}
CODE = "code"                # the kind of a file that is timed as it stands
ONNX = "onnx"                # of one that is no Python: a graph with its weights
_KINDS = {"torch": "model() of a torch.nn.Module", "jax": "init(key) and apply(parameters, inputs)",
          "keras": "model() of a keras.Model", CODE: "step() alone, which is timed as it stands"}

Options = Mapping[str, tuple[Any, ...]]
_GIVEN = ("rng", "size", "data")     # what a file's functions are given in any case


class Differs(BenchError):
    """Lanes that were meant to be the same model are not: nothing is timed."""


class Read(NamedTuple):
    """A file of the user's, unrun."""

    path: Path
    text: str                    # "" of a graph, whose digest stands for it
    kind: str
    takes: frozenset[str]        # the parameters of batch(), or of setup() where it is code
    beside: dict[str, str]       # texts of the modules that it imports from its own folder, by their place there
    packages: tuple[str, ...]    # that these import, but where they try to


class Named(NamedTuple):
    """A lane of a file: the column's name, and what it runs."""

    name: str
    lane: Lane
    file: str
    packages: tuple[str, ...] = ()       # that the file imports
    stack: str = ""                      # what it runs in, where that was asked for; "": the lane's own

    @property
    def where(self) -> str:
        """The stack that it runs in."""
        return self.stack or self.lane.stack


def is_file(name: str) -> bool:
    """Whether a command's word names a file of the user's rather than a study."""
    return name.endswith((".py", f".{ONNX}"))


def data_of(names: Sequence[str], data: str | None) -> str | None:
    """What --data says for the files: of a graph its own folder, where its weights may be, too. Raises InputError."""
    folders = {paths.named(name).absolute().parent for name in names if name.endswith(f".{ONNX}")}
    if folders and (data or len(folders) > 1):
        found = f"--data {data}" if data else "files of several folders"
        raise InputError(f"{', '.join(names)}: found {found}, expected graphs of one folder, which is what is read")
    return f"{own_model.DATA}={folders.pop()}" if folders else data


def read(name: str) -> Read:
    """The file, parsed and not run; a graph is not even read. Raises InputError."""
    if name.endswith(f".{ONNX}"):
        path = paths.named(name)
        if not path.is_file():
            raise InputError(f"{path}: No such file, expected a graph that a framework has exported")
        return Read(path, "", ONNX, frozenset(), {}, ())
    path, text, tree = _parsed(name)
    functions = _bound(tree)
    beside, imported = _beside(path, tree)
    kind = "jax" if {"init", "apply"} <= functions else "" if "model" not in functions else _of_model(tree, imported)
    if not kind and "step" in functions:
        kind = CODE
    if kind == "torch" and "tensorflow" in imported:
        raise InputError(f"{path}: found tensorflow imported, expected `import keras`: all backends have Keras 3")
    if not kind or (kind != CODE and "batch" not in functions):
        raise InputError(f"{path}: found {', '.join(sorted(functions)) or 'nothing'} at its top, expected "
                         f"batch(rng, size) and {', or '.join(_KINDS[each] for each in _KINDS if each != CODE)}, or "
                         f"{_KINDS[CODE]}: `evenbench init torch` writes one to begin with")
    function = "setup" if kind == CODE else "batch"
    takes = frozenset(
        each.arg for found in tree.body if isinstance(found, ast.FunctionDef) and found.name == function
        for each in (*found.args.posonlyargs, *found.args.args, *found.args.kwonlyargs))
    return Read(path, text, kind, takes, beside, tuple(sorted(imported - sys.stdlib_module_names)))


def _parsed(name: str, option: str = "") -> tuple[Path, str, ast.Module]:
    path = paths.named(name)
    try:
        text = paths.text_of(path.read_bytes(), f"{option}{path}")
        with warnings.catch_warnings(action="ignore"):           # of its escapes, which are its worker's to tell
            return path, text, ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"{option}{path}: line {error.lineno}: {error.msg}") from error
    except (RecursionError, MemoryError) as error:
        raise InputError(f"{option}{path}: found an expression that is nested too deeply for Python's parser, "
                         "expected a loop or a table instead") from error
    except (OSError, ValueError) as error:
        is_missing = isinstance(error, FileNotFoundError) and not option
        raise InputError(f"{option}{path}: {getattr(error, 'strerror', None) or error}"
                         + (": `evenbench init torch` writes one to begin with" if is_missing else "")) from error


def _imports(tree: ast.AST) -> dict[str, str]:
    """The top packages that a file imports, by the names that it binds; those that it only tries are left out."""
    tried = {id(inside) for each in ast.walk(tree) if isinstance(each, ast.Try) for inside in ast.walk(each)}
    found: dict[str, str] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.Import) and id(each) not in tried:
            found |= {alias.asname or top: top for alias in each.names for top in [alias.name.partition(".")[0]]}
        elif isinstance(each, ast.ImportFrom) and each.module and not each.level and id(each) not in tried:
            found |= {alias.asname or alias.name: each.module.partition(".")[0] for alias in each.names}
    return found


def _beside(path: Path, tree: ast.Module) -> tuple[dict[str, str], set[str]]:
    """(texts of the modules that a file imports from its own folder, the packages that it and they import)."""
    folder, texts, packages = path.parent, dict[str, str](), set[str]()
    left = list(dict.fromkeys(_imports(tree).values()))
    while left:
        name = left.pop()
        inside = sorted(folder.joinpath(name).rglob("*.py")) or [folder / f"{name}.py"]
        if name in own_model.NOT_BESIDE or not inside[0].is_file():
            packages.add(name)
            continue
        for each in inside:
            place = each.relative_to(folder).as_posix()
            if place not in texts and each != path:
                _, texts[place], parsed = _parsed(str(each))
                left += set(_imports(parsed).values())
    return texts, packages


def _of_model(tree: ast.Module, imported: set[str]) -> str:
    """keras or torch: of a file that imports both, what model() reaches; the worker looks at the class it returns."""
    if not {"keras", "torch"} <= imported:
        return "keras" if "keras" in imported else "torch"
    packages, reached, left = _imports(tree), set[str](), {"model"}
    defined = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    while left:
        name = left.pop()
        reached.add(name)
        left |= {each.id for each in ast.walk(defined.get(name, ast.Pass())) if isinstance(each, ast.Name)} - reached
    of_packages = {packages[name] for name in reached & packages.keys()}
    return "torch" if "torch" in of_packages and "keras" not in of_packages else "keras"


def _bound(tree: ast.Module) -> set[str]:
    """The names that a file binds at its top: functions, classes, imported and assigned ones."""
    names: set[str] = set()
    for each in tree.body:
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            names.add(each.name)
        elif isinstance(each, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in each.names)
        elif isinstance(each, ast.Assign):
            names.update(target.id for target in each.targets if isinstance(target, ast.Name))
    return names


def words_of(names: Sequence[str], stacks: Sequence[str]) -> list[str]:
    """The words of --stack, those of environments with the framework that the first file is for."""
    without = f"#{frameworks.WITHOUT}"
    package = {"torch": "#torch", "jax": "#jax", ONNX: without, CODE: without}.get(read(names[0]).kind, "")
    return [word + package if "=" in word and "#" not in word else word for word in stacks]


def study(names: Sequence[str], same: str = "", lanes: Sequence[str] = (), loops: Sequence[str] = (),
          measure: str = "", stacks: Sequence[Stack] = (), say: Say = lambda line: None,
          options: Options = MappingProxyType({})) -> tuple[Study, dict[str, Named]]:
    """The study of the files, training and inference, or the steps of code, with its lanes by their columns' names.

    lanes, loops: the columns that are measured; without either all but those of the loop step. measure: the one alone.
    stacks: where each lane runs that has what it needs there; without any in the lane's own. options: values that the
    files' functions are given by name, each combination in rows of its own. Raises InputError.
    """
    files = [read(name) for name in names]
    measures = _measures(files, same, measure, bool(stacks))
    if len({each.path.name for each in files}) < len(files):
        raise InputError(f"{', '.join(names)}: found a name twice, expected files of different names")
    weights = _same(same) if same else ""
    modes: Sequence[str] = ()                    # of torch.compile, where no file has a parameter of that name
    if not any("mode" in each.takes for each in files):
        modes, options = options.get("mode", ()), {name: each for name, each in options.items() if name != "mode"}
    chosen = _chosen(files, lanes, loops, modes)
    chosen = _placed(chosen, stacks, say) if stacks else chosen
    texts = {each.path.name: own_model.digest(str(each.path.absolute())) if each.kind == ONNX else each.text
             for each in files}
    along: dict[str, str] = {}
    for each in files:
        for place, text in each.beside.items():
            if {**texts, **along}.get(place, text) != text:
                raise InputError(f"{each.path}: it imports {place}, and another file has one of that name with another "
                                 "text: rename one of them")
        along |= each.beside
    given = [dict(zip(options, values, strict=True)) for values in itertools.product(*options.values())]
    try:
        models = {each.name: [own_model.dumps(Model(each.file, each.lane.name, {**texts, **along}, weights, some))
                              for some in given] for each in chosen}
    except own_model.ModelError as error:
        raise InputError(f"{', '.join((*names, *along))}: {error}; larger modules come by --data own=FOLDER"
                         ) from error
    title = " and ".join(texts)
    batch = _BATCH if any(each.kind != CODE or "size" in each.takes for each in files) else 1
    shared = {"task": "+".join(texts), "batch": batch, "input": "synthetic", "warm": "steady", "warmup": 10,
              "seconds": 1.0, "steps": 50}
    experiments = tuple(Experiment(
        each, f"{words} {title}", tuple(one.name for one in able), {**shared, "measure": each}, ({},), {},
        {}, variants={one.name: tuple({"loop": one.lane.loop, "source": text} for text in models[one.name])
                      for one in able})
        for each, words in measures.items()
        if (able := [one for one in chosen if each == "infer" or not frameworks.only_infers(one.lane.framework)]))
    identifier = "".join(each if each.isalnum() or each in "._-" else "-" for each in "+".join(texts))[:64]
    return (Study(identifier, title, 5, chosen[0].name, "own", experiments), {each.name: each for each in chosen})


def _measures(files: Sequence[Read], same: str, measure: str, has_stacks: bool) -> dict[str, str]:
    """What is measured of the files, with the words that a title begins with. Raises InputError."""
    code = [each.path for each in files if each.kind == CODE]
    kinds = [each.kind for each in files]
    known = {name: words for name, words in _MEASURES.items()
             if (name == "step") == bool(code) and (name == "infer" or ONNX not in kinds)}
    for kind, why in ((CODE, "code and has no weights that are known"), (ONNX, "a graph and has its own weights")):
        if kind in kinds and (other := next((each for each in files if each.kind != kind), None)):
            raise InputError(f"{files[kinds.index(kind)].path} is {why}, and {other.path} a model of {other.kind}: "
                             "expected files of one sort")
        if kind in kinds and same:
            raise InputError(f"--same {same}: found it with {files[kinds.index(kind)].path}, which is {why}")
    if code and not has_stacks:
        raise InputError(f"{code[0]}: found code without --stack, expected the environments that it runs in: "
                         f"--stack old=PATH --stack new=PATH, or --stack mine={sys.prefix}")
    if measure and measure not in known:
        raise unknown("--set measure", measure, known)
    return {name: words for name, words in known.items() if measure in ("", name)}


def options_of(name: str, pairs: Sequence[str]) -> tuple[list[str], dict[str, tuple[Any, ...]]]:
    """(the pairs of --set that are of cells, the values by name that the file's functions take). Raises InputError."""
    if not pairs:
        return [], {}
    file = read(name)
    has_modes = any(lane.mode for lane in LANES if lane.kind == file.kind)
    takes = file.takes - {*SETTINGS, *_GIVEN} | ({"mode"} if has_modes else set())
    takes |= {pair.partition("=")[0] for pair in pairs if file.kind == ONNX} - {*SETTINGS}    # sizes of its dimensions
    mine = [pair for pair in pairs if pair.partition("=")[0] in takes and "=" in pair]
    options: dict[str, tuple[Any, ...]] = {}
    for pair in mine:
        key, _, text = pair.partition("=")
        if key in options:
            raise InputError(f"--set {pair}: found {key} twice, expected it once; {key}=A,B measures both")
        options[key] = tuple(dict.fromkeys(map(scalar, text.split(","))))
    if wrong := next((pair for pair in pairs if pair not in mine and pair.partition("=")[0] not in SETTINGS), ""):
        function = "setup()" if file.kind == CODE else "batch()"
        raise InputError(f"--set {wrong}: expected KEY=VALUE with KEY one of {', '.join((*SETTINGS, *sorted(takes)))}; "
                         f"others are parameters of {function} in {file.path.name}")
    if file.kind == CODE and "size" not in file.takes and any(pair.startswith("batch=") for pair in pairs):
        raise InputError(f"--set batch: found it with {file.path.name}, whose setup() has no parameter size")
    return [f"precision={_precisions(file, pair)}" if pair.startswith("precision=") else pair
            for pair in pairs if pair not in mine], options


def _precisions(file: Read, pair: str) -> str:
    """A pair's precisions in a cell's words. Raises InputError."""
    asked = pair.partition("=")[2].split(",")
    if file.kind in (CODE, ONNX) or not _OF_ROWS.keys() >= {*asked}:
        raise InputError(f"--set {pair}: found it with {file.path.name}, expected {' or '.join(_OF_ROWS)}, of a model "
                         "in torch, jax or keras")
    return ",".join(_OF_ROWS[each] for each in asked)


def _same(name: str) -> str:
    path, text, tree = _parsed(name, "--same ")
    if "arrays" not in _bound(tree):
        raise InputError(f"--same {path}: found no arrays(rng), expected it to give the weights as {{name: array}}")
    return text


def columns(names: Sequence[str]) -> list[str]:
    """The names of all lanes of the files. Raises InputError."""
    return [each.name for each in _every([read(name) for name in names])]


def _every(files: Sequence[Read]) -> list[Named]:
    of_kinds = [each.kind for each in files]
    return [Named(lane.name if of_kinds.count(lane.kind) == 1 else each.path.stem if lane.kind == CODE
                  else f"{each.path.stem}-{lane.name}", lane, each.path.name, each.packages)
            for each in files for lane in LANES if lane.kind == each.kind]


def _chosen(files: Sequence[Read], lanes: Sequence[str], loops: Sequence[str], modes: Sequence[str]) -> list[Named]:
    """The lanes of all files, or those that were asked for. Raises InputError."""
    every = _every(files)
    for what, asked, known in (("--lane", lanes, [each.name for each in every]),
                               ("--set loop", loops, sorted({each.lane.loop for each in every})),
                               ("--set mode", modes, sorted({each.lane.mode for each in every} - {""}))):
        for name in asked:
            if name not in known:
                raise unknown(what, name, known)
    chosen = [each for each in every if (each.lane.loop in loops if loops else lanes or each.lane.loop != WISHED)
              and (not lanes or each.name in lanes or each.lane.mode in modes)
              and (not each.lane.mode or each.lane.mode in modes or each.name in lanes)]
    if not chosen:
        with_loop = [each.name for each in every if each.lane.loop in loops]
        raise InputError(f"--lane {','.join(lanes)}: found --set loop={','.join(loops)} with it, expected one of "
                         f"{', '.join(with_loop)}")
    return chosen


def _placed(chosen: Sequence[Named], stacks: Sequence[Stack], say: Say) -> list[Named]:
    """The lanes in each stack that has their packages; the others are said. Raises InputError where none has."""
    placed, lacking = [], []
    for stack in stacks:
        for each in chosen:
            if lacks := extended.lacking(stack, own_model.NEEDS[each.lane.kind, each.lane.framework]):
                lacking.append(f"{stack.name} has no column {each.name}: it lacks {', '.join(lacks)}")
            else:
                placed.append(each._replace(stack=stack.name))
    for line in lacking:
        say(line)
    if not placed:
        raise InputError(f"nothing can run here: {'; '.join(lacking)}")
    is_alone = len({each.name for each in placed}) == 1
    return [each._replace(name=each.stack if is_alone else f"{each.stack}/{each.name}") for each in placed]


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise InputError for a cell's field that says nothing of a user's own model."""
    for name in settings:
        if name not in SETTINGS:
            raise InputError(f"--set {name}: found it with a model of your own, expected one of {', '.join(SETTINGS)}")


def of_cells(cells: Sequence[Cell], stacks: Mapping[str, Stack] = MappingProxyType({})) -> dict[str, Named]:
    """The lanes of a record's cells by their columns' names; {} where they are of tasks. stacks: that there are."""
    models = {cell.stack: own_model.loads(cell.source) for cell in cells if cell.source}
    return {name: Named(name, BY_NAME[model.lane], model.file, stack=stack if stack in stacks else "")
            for name, model in models.items() for stack in [name.partition("/")[0]]}


def stacks_of(lanes: Mapping[str, Named], stacks: Mapping[str, Stack], packages: Sequence[str],
              say: Say) -> dict[str, Stack]:
    """What each lane runs in, with the packages that its files need besides. Raises InputError, BuildFailed."""
    extended.check(packages)
    held = {name: extended.made(stacks[name], packages, paths.cache_folder(), say)
            for name in dict.fromkeys(each.where for each in lanes.values())}
    lacking = {(each.file, package): each.where for each in lanes.values() if isinstance(held[each.where], PinnedStack)
               for package in extended.lacking(held[each.where], each.packages) if package not in own_model.TITLES}
    for (file, package), stack in lacking.items():
        say(f"{file} imports {package}, which {stack} lacks: --with {extended.distribution(package)}==VERSION adds it")
    return {name: held[each.where] for name, each in lanes.items()}


def shown(stack: Stack, named: Named) -> Stack:
    """A lane's stack as the plan and the checks see it: a runtime's rules are not its stack's framework's."""
    return stack.model_copy(update={"name": named.name, "framework": named.lane.framework})


def prove(plan: Plan, stacks: Mapping[str, Stack], check: Check, results: Path) -> Plan:
    """The plan without lanes that cannot run, once all others are shown to be the same model; verdicts are kept.

    A lane that computes something else in another environment is a finding, which is said; no proof of it is kept.
    Raises Differs where one is another.
    """
    plan, verdicts = checked(plan, stacks, check, results)
    lanes = of_cells([*(each.cell for each in plan.cells), *(each.cell for each in plan.skipped)])
    bad = []
    for verdict in verdicts:
        one, other = lanes[verdict.stack], lanes[verdict.reference]
        if verdict.passed or one.lane.kind == CODE:
            check.say(told(verdict))
        elif (one.lane, one.file) == (other.lane, other.file):          # in two environments
            check.say(f"{told(verdict)}: another version computes something else; it is timed all the same")
        else:
            bad.append(verdict)
    if bad:
        raise Differs(f"not the same model, so nothing is timed: {'; '.join(map(told, bad))}")
    if not plan.cells:
        raise BenchError(plan.skipped[-1].reason)
    return plan


def checked(plan: Plan, stacks: Mapping[str, Stack], check: Check, results: Path) -> tuple[Plan, list[Verdict]]:
    """The plan without lanes that cannot run, and the verdicts, which are kept, on each other lane against the first.

    Raises BenchError where none of a file's can run.
    """
    cells: dict[str, Cell] = {}
    for each in plan.cells:
        cells.setdefault(each.cell.stack, each.cell._replace(measure="check", warmup=0, warm="fixed", seconds=0.0))
    named = {name: each for name, each in of_cells([*cells.values()]).items() if name in stacks}

    @functools.cache
    def sent(name: str, precision: str) -> Sent | Ending:
        check.say(f"check: {name} in {precision}")
        return check.of_one(cells[name]._replace(precision=precision), stacks[name])

    widest = {name: _widest(each.lane, functools.partial(sent, name)) for name, each in named.items()}
    is_code = any(each.lane.kind == CODE for each in named.values())
    narrow = ["amp"] if any(each.cell.precision == "amp" for each in plan.cells) else []
    reasons = {name: ending.message for name, precision in widest.items() for each in (*narrow, precision)
               if isinstance(ending := sent(name, each), Ending)}
    there = [name for name in named if name not in reasons]
    if {named[name].file for name in there} < {each.file for each in named.values()}:      # what was asked for is gone
        raise BenchError("; ".join(f"{' and '.join(name for name in reasons if reasons[name] == reason)} cannot run: "
                                   f"{reason}" for reason in dict.fromkeys(reasons.values())))
    for name, reason in reasons.items():
        check.say(f"{name} is left out: {reason}")
    if there[1:] and not is_code:
        check.say("check: each with the same weights and batch; dropout is off in it")
    verdicts, place = [], {name: stacks[name].name if "/" in name else "" for name in there}
    for name in there[1:]:
        first = next(each for each in there if place[each] == place[name])      # of its environment
        first = there[0] if first == name else first
        for precision in (max(widest[first], widest[name], key=PRECISIONS.index), *narrow):
            verdict = compare(cells[name]._replace(precision=precision), sent(name, precision), sent(first, precision),
                              shown(stacks[name], named[name]), shown(stacks[first], named[first]))
            if verdict.problem and named[name].file != named[first].file and not own_model.loads(
                    cells[name].source).same:
                verdict = verdict._replace(problem=f"{verdict.problem}; --same FILE pairs what only has another name")
            verdicts.append(verdict._replace(loop="", proves=not is_code, is_own=True))
    equality.keep(verdicts, {name: check.launcher.fingerprint(stacks[name]) for name in there}, results)
    only_infer = {name: f"{named[name].file}: batch() gives no targets, so it only infers" for name in there
                  if isinstance(told_of := sent(name, widest[name]), dict) and not told_of.get("loss") and not is_code}
    return plan.without(reasons).without(only_infer, "train"), verdicts


def _widest(lane: Lane, sent: Callable[[str], Sent | Ending]) -> str:
    """The widest precision in which a lane's check runs; the narrowest where none does."""
    of_lane = PRECISIONS[1:] if lane.kind == CODE or frameworks.only_infers(lane.framework) else PRECISIONS
    first = sent(of_lane[0])
    if isinstance(first, Ending) and not _OF_PRECISION.search(first.message):        # it would fail again
        return of_lane[0]
    return next((each for each in of_lane if isinstance(sent(each), dict)), of_lane[-1])


def told(verdict: Verdict) -> str:
    """A verdict in a line: "jax is equal to pytorch: float64, loss 2e-16, gradient 3e-15"; of code how far apart."""
    pair = f"{verdict.stack} and {verdict.reference}"
    if not verdict.proves and verdict.is_own:
        return f"{pair}: your step, not proved equal; {apart(verdict)}"
    if verdict.problem:
        return f"{pair}: {verdict.problem}"
    worst = ", ".join(f"{kind} {value:.0e}" for kind, value in verdict.worst.items() if value or kind == "inferred")
    said = "are equal" if verdict.passed else f"differ first in {verdict.first}"
    precision = "bfloat16" if verdict.precision == "amp" else verdict.precision
    return f"{pair} {said} ({precision}, largest relative differences: {worst})"
