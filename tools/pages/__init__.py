"""Pages and schemas that are made from code and data, in docs/: git keeps the schema that studies name alone."""

import json
from collections.abc import Callable
from pathlib import Path

from runner import paths
from runner.results.lines import EVENTS
from runner.stacks.definition import read_all
from tools.pages import gpu_machines, schemas, studies

FOLDER = paths.ROOT / "docs"
# by its path in docs/
PAGES: dict[str, Callable[[], str]] = {
    "study.schema.json": lambda: _json(schemas.of_study()),
    "summary.schema.json": lambda: _json(schemas.of_summary()),
    "worker-lines.schema.json": lambda: _json({name: event.model_json_schema() for name, event in EVENTS.items()}),
    "gpu-machines.md": lambda: "\n".join(gpu_machines.lines(read_all(paths.STACKS))) + "\n",
    **{f"studies/{name}.md": lambda name=name: studies.page(name)          # type: ignore[misc]
       for name in studies.published_studies()},
}


def write(folder: Path = FOLDER) -> list[Path]:
    """Write all of them; their paths."""
    (folder / "studies").mkdir(parents=True, exist_ok=True)
    for name, text in PAGES.items():
        (folder / name).write_text(text(), encoding="utf-8")
    return [folder / name for name in PAGES]


def _json(schema: schemas.Schema) -> str:
    return json.dumps(schema, indent=2) + "\n"
