"""The JSON Schema (2020-12) of summary.json, from its models."""

from typing import Any

from runner.analysis.summary_format import Summary

Schema = dict[str, Any]


def json_schema() -> Schema:
    """The schema of a Summary; every key is required, no other one allowed."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema",
            **Summary.model_json_schema(by_alias=True, mode="serialization")}
