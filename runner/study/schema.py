"""The JSON Schema of study files, for editors, from the tables that study.py reads by; docs/study.schema.json holds it.

It knows keys, types and closed lists of words; what keys say together (a claim's kind and its thresholds, a grid and a
task) only study.py refuses. `python -m runner.study.schema > docs/study.schema.json` writes it anew.
"""

import json
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from runner import strict_toml
from runner.study import claims, file, quantities
from runner.study.claims import Claim
from runner.study.published import STATISTICS, Published
from workloads.spec import cell as cells
from workloads.spec.tasks import NAMES

Schema = dict[str, Any]
_TEXT = {"type": "string", "minLength": 1}
_NAMES = {"type": "array", "items": _TEXT, "minItems": 1}
_SUBJECT = {"$ref": "#/$defs/subject"}
_WHERE = {"$ref": "#/$defs/grid"}
_CELL = {"$ref": "#/$defs/cell"}
_QUANTITY = {"enum": list(quantities.QUANTITIES)}
# fields whose words or shape the annotation does not tell
_CLAIM: dict[str, Schema] = {
    "kind": {"enum": list(claims.KINDS)}, "quantity": _QUANTITY, "where": _WHERE, "of": _SUBJECT,
    "to": _SUBJECT, "order": {"type": "array", "items": _SUBJECT}, "holds_for": {"enum": list(claims.HOLDS_FOR)},
    "direction": {"enum": list(claims.DIRECTIONS)}, "turned_for": {"type": "array", "items": _CELL},
}
_PUBLISHED: dict[str, Schema] = {
    "quantity": _QUANTITY, "unit": {"enum": list(quantities.UNITS)}, "where": _WHERE, "of": _SUBJECT,
    "to": _SUBJECT, "value": {"type": "number"},
    "statistic": {"enum": list(STATISTICS)},
}
_EXPERIMENT: dict[str, Schema] = {
    "id": _TEXT, "title": {"type": "string"}, "stacks": _NAMES,
    "subjects": {"type": "array", "items": _SUBJECT},
    "cases": {"type": "array", "items": _CELL}, "grid": {"$ref": "#/$defs/grid"},
    "except": {"type": "array", "items": {"type": "object", "required": ["why"]}},
    "assumed": {"type": "object", "additionalProperties": _TEXT},
    "scale": {"type": "object", "additionalProperties": {"$ref": "#/$defs/scaled"}},
}


def json_schema() -> Schema:
    """The schema of a study file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A study of evenbench",
        **_table({"study": {"$ref": "#/$defs/study"}, **{name: {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}
                                                         for name in ("experiment", "published", "claim")}},
                 ("study", "experiment")),
        "$defs": {
            "study": _table({"id": {"type": "string", "pattern": file.IDENTIFIER}, "title": _TEXT,
                             "rounds": _rounds(), "baseline": {"type": "string"}, "scales": _NAMES,
                             "default_scale": _TEXT,
                             "forms": {"type": "object", "additionalProperties": _NAMES}},
                            ("id", "title")),
            "experiment": _table({name: _EXPERIMENT[name] for name in file.EXPERIMENT_KEYS} | _cell_fields(),
                                 ("id",)),
            "scaled": _table({name: _EXPERIMENT[name] for name in file.SCALED} | _cell_fields()),
            "cell": _table(_cell_fields()),
            "grid": _table({name: {"type": "array", "items": field, "minItems": 1}
                            for name, field in _cell_fields().items()}),
            "subject": _table({"stack": _TEXT, **_cell_fields()}, ("stack",)),
            "published": _of_fields(Published, _PUBLISHED, ("id", "source", "quantity", "of", "value", "unit")),
            "claim": _of_fields(Claim, _CLAIM, ("id", "text", "kind", "quantity"), left_out=("cases",)),
        },
    }


def _table(properties: dict[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """A table that has these keys and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _rounds() -> Schema:
    number = {"type": "integer", "minimum": 1, "maximum": 1000}
    return {"anyOf": [number, {"type": "object", "additionalProperties": number}]}


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


def _of_fields(kind: Any, known: dict[str, Schema], required: tuple[str, ...], left_out: tuple[str, ...] = ()
               ) -> Schema:
    """The table of a NamedTuple's fields; those that are not known here have their annotation's schema."""
    hints = get_type_hints(kind, include_extras=True)
    return _table({name: known.get(name) or _annotated(hint) for name, hint in hints.items() if name not in left_out},
                  required)


def _annotated(hint: Any) -> Schema:
    """The schema of an annotation; what may be absent may not be null, which TOML does not have."""
    found: Schema = TypeAdapter(hint).json_schema()
    some = [each for each in found.get("anyOf", []) if each != {"type": "null"}]
    return some[0] if len(some) == 1 else found


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
