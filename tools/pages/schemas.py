"""The JSON Schemas (2020-12) of study files, for editors, and of summary.json, from the models that read them.

That of study files knows keys, types and closed lists of words; what keys say together (a claim's kind and its
thresholds, a grid and a task, and so on) only the reader refuses.
"""

from typing import Any, get_type_hints

from pydantic import TypeAdapter

from runner.analysis.summary_format import Summary
from runner.study import claims, claims_file, quantities
from runner.study.claims import Claim
from runner.study.claims_file import Place, Told
from runner.study.document import Document
from runner.study.published import STATISTICS, Published

Schema = dict[str, Any]
_DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
_QUANTITY = {"enum": list(quantities.QUANTITIES)}
# fields whose words the annotation does not tell
_CLAIM: dict[str, Schema] = {
    "kind": {"enum": list(claims.KINDS)}, "quantity": _QUANTITY, "holds_for": {"enum": list(claims.HOLDS_FOR)},
    "direction": {"enum": list(claims.DIRECTIONS)},
}
_PUBLISHED: dict[str, Schema] = {
    "quantity": _QUANTITY, "unit": {"enum": list(quantities.UNITS)},
    "statistic": {"enum": list(STATISTICS)},
}


def of_summary() -> Schema:
    """The schema of a Summary; every key is required, no other one allowed."""
    return _DIALECT | Summary.model_json_schema(by_alias=True, mode="serialization")


def of_study() -> Schema:
    """The schema of a study file."""
    whole = _plain(Document.model_json_schema(ref_template="#/$defs/{model}"))
    shared = whole["$defs"].pop("Entry")["properties"]
    for name, kind, known, required in (
            ("published", Published, _PUBLISHED, ("id", "source", "quantity", "of", "printed", "unit")),
            ("claim", Claim, _CLAIM, ("id", "text", "kind", "quantity")), ("told", Told, {}, tuple(Told.model_fields)),
            ("index", Place, {}, ("number", "title"))):
        hints = {field: hint for field, hint in get_type_hints(kind, include_extras=True).items()
                 if field not in claims_file.MADE and field not in shared}
        fields = {field: _plain(TypeAdapter(hint).json_schema()) for field, hint in hints.items()}
        for field in fields.values():
            field.pop("description", None)                   # which is of a summary's
        whole["$defs"][name] = {
            "type": "object", "additionalProperties": False, "required": list(required),
            "properties": {**{key: shared[key] for key in kind.model_fields if key in shared}, **fields, **known}}
        whole["properties"][name] = {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}
    return {**_DIALECT, **whole, "title": "A study of evenbench"}


def _plain(schema: Any) -> Any:
    """Without titles and defaults, and without null, which TOML does not have."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    some = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    if len(some) == 1:
        schema = {**{name: value for name, value in schema.items() if name != "anyOf"}, **some[0]}
    elif some:
        schema = {**schema, "anyOf": some}
    return {name: {key: _plain(each) for key, each in value.items()} if name in ("properties", "$defs") else
            _plain(value) for name, value in schema.items() if name not in ("title", "default")}
