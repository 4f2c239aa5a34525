"""The JSON Schema (2020-12) of summary.json, from its models.

Attributes' docstrings are read here and not by pydantic, which would parse the models' file once for each of them,
whenever a command starts.
"""

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from textwrap import dedent
from typing import Any

from runner.analysis import summary_format
from runner.analysis.summary_format import Summary

Schema = dict[str, Any]


def json_schema() -> Schema:
    """The schema of a Summary; every key is required, no other one allowed."""
    schema = Summary.model_json_schema(by_alias=True, mode="serialization")
    models = {**schema["$defs"], Summary.__name__: schema}
    for name, properties in models.items():
        for attribute, text in _docstrings(getattr(summary_format, name, None)):
            described = properties["properties"][attribute.rstrip("_")]                  # schema_ is the key schema
            described.update(description=text)
            properties["properties"][attribute.rstrip("_")] = dict(sorted(described.items()))    # as pydantic has them
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _docstrings(model: Any) -> Iterator[tuple[str, str]]:
    """Each documented attribute of a model and its bases, with its docstring."""
    for kind in (each for each in getattr(model, "__mro__", ()) if each.__module__.startswith("runner.")):
        (definition,) = ast.parse(dedent(inspect.getsource(kind))).body
        for statement, after in pairwise(definition.body if isinstance(definition, ast.ClassDef) else ()):
            match statement, after:
                case ast.AnnAssign(target=ast.Name(id=attribute)), ast.Expr(value=ast.Constant(value=str(text))):
                    yield attribute, inspect.cleandoc(text)
