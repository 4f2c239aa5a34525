"""The JSON Schema of study files, for editors, from the tables that study.py reads by; docs/study.schema.json holds it.

It knows keys, types and closed lists of words; what keys say together (a claim's kind and its thresholds, a grid and a
task, a row and its columns) only study.py refuses. `python -m runner.study.schema > docs/study.schema.json` writes it
anew.
"""

import json
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from runner import strict_toml
from runner.study import claims, claims_file, file, inheritance, quantities, rows
from runner.study.claims import Claim
from runner.study.node import FORM
from runner.study.published import STATISTICS, Published
from runner.study.told import Told
from workloads.spec import cell as cells
from workloads.spec.tasks import NAMES

Schema = dict[str, Any]
_TEXT = {"type": "string", "minLength": 1}
_NAMES = {"type": "array", "items": _TEXT, "minItems": 1}
_SUBJECT = {"anyOf": [_TEXT, {"$ref": "#/$defs/subject"}]}       # by its name in [subjects], or as it is
_MODEL = {"anyOf": [_TEXT, _NAMES]}
_CELL = {"$ref": "#/$defs/cell"}
_QUANTITY = {"enum": list(quantities.QUANTITIES)}
_WHERE = {"$ref": "#/$defs/where"}
# fields whose words or shape the annotation does not tell
_CLAIM: dict[str, Schema] = {
    "kind": {"enum": list(claims.KINDS)}, "quantity": _QUANTITY, "where": _WHERE, "of": _SUBJECT,
    "to": _SUBJECT, "order": {"type": "array", "items": _SUBJECT}, "holds_for": {"enum": list(claims.HOLDS_FOR)},
    "direction": {"enum": list(claims.DIRECTIONS)}, "turned_for": {"type": "array", "items": _CELL},
    "than": {"type": "array", "items": _SUBJECT, "minItems": 2, "maxItems": 2}, "at": _CELL,
}
_PUBLISHED: dict[str, Schema] = {
    "quantity": _QUANTITY, "unit": {"enum": [*quantities.UNITS, rows.MORE]}, "where": _WHERE, "of": _SUBJECT,
    "to": _SUBJECT, "value": {"type": "number"},
    "statistic": {"enum": list(STATISTICS)},
}
_ROWS: dict[str, Schema] = {
    "columns": {"type": "array", "items": {"type": ["string", "object"]}, "minItems": 1},
    "rows": {"type": "array", "items": {"type": "array", "minItems": 1}},
    "notes": {"type": "object", "additionalProperties": {"type": "object"}},
    "model": _MODEL, "all": {"type": "object"},
}
_EXPERIMENT: dict[str, Schema] = {
    "id": _TEXT, "title": {"type": "string"}, "stacks": _NAMES, "node": {"type": "string", "pattern": FORM},
    "subjects": {"type": "array", "items": _SUBJECT},
    "cases": {"type": "array", "items": {"anyOf": [_TEXT, {"$ref": "#/$defs/case"}]}}, "grid": {"$ref": "#/$defs/grid"},
    "except": {"type": "array", "items": {"type": "object", "required": ["why"]}},
    "assumed": {"type": "object", "additionalProperties": _TEXT},
    "scale": {"type": "object", "additionalProperties": {"anyOf": [_TEXT, {"$ref": "#/$defs/scaled"}]}},
}
_LISTS = ("experiment", "published", "claim", "told")


def json_schema() -> Schema:
    """The schema of a study file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A study of evenbench",
        **_table({"study": {"$ref": "#/$defs/study"}, "cells": {"$ref": "#/$defs/cells"},
                  "subjects": {"type": "object", "additionalProperties": {"$ref": "#/$defs/subject"}},
                  "models": {"type": "object", "additionalProperties": {"anyOf": [_NAMES, {"$ref": "#/$defs/case"}]}},
                  **{name: {"type": "array", "items": {"$ref": f"#/$defs/{name}"}} for name in _LISTS}},
                 ("study", "experiment")),
        "$defs": {**_heads(), **_of_cells(),
                  "published": _of_fields(Published, _PUBLISHED,
                                          ("id", "source", "quantity", "of", "value", "unit"), _ROWS,
                                          left_out=claims_file.MADE),
                  "claim": _of_fields(Claim, _CLAIM, ("id", "text", "kind", "quantity"),
                                      {**_ROWS, "number": _TEXT, "printed": _TEXT}, left_out=claims_file.MADE),
                  "told": _of_fields(Told, {}, Told._fields, _ROWS)},
    }


def _heads() -> dict[str, Schema]:
    """The tables [study] and [cells], an experiment's, and what it has at a scale."""
    shared = {name: _EXPERIMENT[name] for name in inheritance.SHARED}
    return {
        "study": _table({name: _annotated(hint) for name, hint in get_type_hints(file.Head, include_extras=True).items()
                         }, ("id", "title")),
        "cells": _table(shared | _cell_fields()),
        "experiment": _table({name: _EXPERIMENT[name] for name in file.EXPERIMENT_KEYS}
                             | {"same": _TEXT} | _cell_fields(), ("id",)),
        "scaled": _table({name: _EXPERIMENT[name] for name in file.SCALED} | _cell_fields()),
    }


def _of_cells() -> dict[str, Schema]:
    """Tables of a cell's fields: one value, one or several, or a list."""
    lists = {name: {"type": "array", "items": field, "minItems": 1} for name, field in _cell_fields().items()}
    either = {name: {"anyOf": [field, lists[name]]} for name, field in _cell_fields().items()}
    return {
        "cell": _table(_cell_fields()), "grid": _table(lists), "where": _table(either),
        "case": {**_table({"model": _MODEL, **either}), "additionalProperties": {"$ref": "#/$defs/where"}},
        "subject": _table({"stack": _TEXT, **_cell_fields()}, ("stack",)),
    }


def _table(properties: dict[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """A table that has these keys and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _cell_fields() -> dict[str, Schema]:
    """A cell's fields that a study may set, as study.py and cell.checked know them."""
    return {name: _cell_field(name) for name in strict_toml.settable()}


def _cell_field(name: str) -> Schema:
    if name == "task":
        return {"enum": list(NAMES)}
    if name in cells.CHOICES:
        return {"enum": list(cells.CHOICES[name])}
    kind = {str: "string", int: "integer", float: "number"}[cells.FIELDS[name]]
    limits = (("minimum", cells.LEAST), ("maximum", cells.MOST))
    return {"type": kind, **{word: values[name] for word, values in limits if name in values}}


def _of_fields(kind: Any, known: dict[str, Schema], required: tuple[str, ...], more: dict[str, Schema],
               left_out: tuple[str, ...] = ()) -> Schema:
    """The table of a NamedTuple's fields; those that are not known here have their annotation's schema.

    It has the required ones itself, or columns and rows that may.
    """
    hints = get_type_hints(kind, include_extras=True)
    fields = {name: known.get(name) or _annotated(hint) for name, hint in hints.items() if name not in left_out}
    return {**_table({**fields, **more}), "anyOf": [{"required": list(required)}, {"required": ["columns", "rows"]}]}


def _annotated(hint: Any) -> Schema:
    """The schema of an annotation; what may be absent may not be null, which TOML does not have."""
    schema: Schema = TypeAdapter(hint).json_schema()
    some = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    return some[0] if len(some) == 1 else schema


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
