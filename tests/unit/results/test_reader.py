"""What workers say: docs/worker.md, the tables behind it, the readers; tests/sent.py holds what is sent to the same."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from runner.results import contract
from runner.results.lines import EVENTS, End
from tests.fuzz.test_workers import EVENTS as READ
from tests.sent import strays

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "worker.md").read_text()


def test_the_page_says_what_each_ending_means_and_who_says_it() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (worker|host) \| (.+) \|$", PAGE, flags=re.MULTILINE)

    said_by_worker = get_args(End.model_fields["status"].annotation)
    assert rows == [(word, "worker" if word in said_by_worker else "host", meaning)
                    for word, meaning in contract.ENDINGS.items()]


def sendings() -> Iterator[tuple[str, str, list[str]]]:
    """Each place in workloads/ that sends an event: where, which one, and the keys that stand there."""
    for path in sorted((ROOT / "workloads").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in ("emit", "_emit", "send") and isinstance(node.args[0].value, str):
                    yield (f"{path.relative_to(ROOT)}:{node.lineno}", node.args[0].value,
                           [keyword.arg for keyword in node.keywords if keyword.arg])


def test_the_workloads_send_only_events_and_keys_that_the_contract_has() -> None:
    sent = list(sendings())
    known = {name: set(event.model_fields) for name, event in EVENTS.items()}

    assert {event for _, event, _ in sent} == set(EVENTS)
    assert [] == [(where, event, keys) for where, event, keys in sent if not set(keys) <= known[event]]


@pytest.mark.parametrize("line", READ, ids=lambda line: line["event"])
def test_a_line_that_readers_take_has_no_key_that_the_contract_lacks(line: dict[str, Any]) -> None:
    assert [] == [stray for stray in strays(line) if "missing" not in stray]


@pytest.mark.parametrize(("line", "found"), [
    ({"event": "beat", "place": "node0"}, set()), ({"event": "dance"}, {"event 'dance' is unknown"}),
    ({"event": "weights", "md5": "b"}, {"key md5 is unknown", "key sha256: missing"}),
    ({"event": "start", "facts": {"threads": "two", "colour": 1}},
     {"key colour is unknown", "key threads: int_type", "key python: missing"})])
def test_what_a_line_or_its_facts_have_beyond_the_contract_is_named(line: dict[str, Any], found: set[str]) -> None:
    assert found <= set(strays(line)) and bool(found) == bool(strays(line))
