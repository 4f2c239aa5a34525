"""Fuzzing of the parsers guided by coverage, with atheris: what it finds ends it with the input that did it.

    pip install -e '.[dev,fuzz]' && python -m tests.fuzz.guided study -runs=100000

Targets: study, stack, cell, line, result, pickle, archive. The words after the target are libFuzzer's. Inputs that led
to new code, and those that failed, are kept in the folder for temporary files; the next run goes on from there.
"""

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports():
    from runner.analysis import summary
    from runner.datasets.archives import unpack
    from runner.errors import BenchError
    from runner.paths import STACKS, STUDIES
    from runner.results import contract, store
    from runner.results.rows import measurements
    from runner.stacks import definition
    from runner.study import file
    from tests.fuzz import test_data, test_results
    from workloads.inputs import pickled
    from workloads.process.errors import DataError
    from workloads.spec import cell

from tests.fuzz.mutations import json_lines

HERE = Path(tempfile.gettempdir()) / "evenbench-fuzz"
Target = Callable[[bytes], object]


def _in_a_file(name: str, read: Callable[[Path], object]) -> Target:
    """A target that reads a file or its folder."""
    path = HERE / "input" / name
    path.parent.mkdir(parents=True, exist_ok=True)

    def target(content: bytes) -> object:
        path.write_bytes(content)
        return read(path)

    return target


def _unpacked(archive: Path) -> None:
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        unpack(archive, Path(folder), 10_000)


def _told(line: bytes) -> None:
    with contextlib.suppress(contract.NotAnEvent):
        contract.parsed(line)


TARGETS: dict[str, tuple[Target, list[bytes]]] = {
    "study": (lambda content: file.parse(content, "s.toml"),        # large ones take seconds each
              [path.read_bytes() for path in STUDIES.glob("*.toml") if path.stat().st_size < 2000]),
    "stack": (_in_a_file("s/stack.toml", lambda path: definition.read(path.parent)),
              [path.read_bytes() for path in STACKS.glob("*/stack.toml")]),
    "cell": (lambda content: cell.loads(content.decode(errors="surrogateescape")),
             [json.dumps(cell.Cell("a", "lenet5", "train")._asdict()).encode()]),
    "line": (_told, [b'{"event": "steps", "first": 0, "seconds": [0.1], "loss": [1.0]}']),
    "result": (_in_a_file("r/events.jsonl", lambda path: summary.summary_of(measurements(store.read(path.parent)))),
               [json_lines(test_results.WHOLE)]),
    "pickle": (_in_a_file("p/batch", lambda path: pickled.batch(str(path), b"labels")),
               [test_data.pickled(), test_data.pickled(4)]),
    "archive": (_in_a_file("a/archive", _unpacked), [test_data.tar(), test_data.zipped()]),
}


def main(name: str, words: list[str]) -> None:
    """Fuzz a target until libFuzzer's words end it."""
    target, real = TARGETS[name]
    corpus = HERE / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(real):
        (corpus / f"real-{number}").write_bytes(content)

    def one(content: bytes) -> None:
        with contextlib.suppress(BenchError, DataError, cell.CellError):
            target(content)

    atheris.Setup([sys.argv[0], f"-artifact_prefix={HERE}/", *words, str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
