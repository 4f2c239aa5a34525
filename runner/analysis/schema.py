"""The JSON Schema (2020-12) of summary.json, from its models; docs/summary.schema.json holds it.

`python -m runner.analysis.schema > docs/summary.schema.json` writes it anew. Attributes' docstrings are read here and
not by pydantic, which would parse the models' file once for each of them, whenever a command starts.
"""

import ast
import inspect
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from runner.analysis import summary_format
from runner.analysis.summary_format import Summary


def json_schema() -> dict[str, Any]:
    """The schema of a Summary; every key is required, no other one allowed."""
    schema = Summary.model_json_schema(by_alias=True, mode="serialization")
    models = {**schema["$defs"], Summary.__name__: schema}
    for model, attribute, text in _docstrings():
        key = getattr(summary_format, model).model_fields[attribute].alias or attribute
        attributes = models[model]["properties"]
        attributes[key] = dict(sorted({**attributes[key], "description": text}.items()))        # as pydantic has them
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _docstrings() -> Iterator[tuple[str, str, str]]:
    """Each documented attribute: its model, its name, and its docstring."""
    for model in ast.parse(inspect.getsource(summary_format)).body:
        if not isinstance(model, ast.ClassDef):
            continue
        for statement, after in pairwise(model.body):
            match statement, after:
                case ast.AnnAssign(target=ast.Name(id=attribute)), ast.Expr(value=ast.Constant(value=str(text))):
                    yield model.name, attribute, inspect.cleandoc(text)


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
