"""What Sentry may collect, held against the installed SDK's own types."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any, Final

import pytest
from sentry_sdk.data_collection import _resolve_data_collection

from tasks.process.telemetry import DATA_COLLECTION, SENT, allowed

OFF: Final[Any] = {"mode": "off"}


def typed_dicts() -> dict[str, dict[str, str]]:
    """Class -> key -> annotation of every TypedDict in the SDK; they exist for type checkers only."""
    spec = importlib.util.find_spec("sentry_sdk._types")
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text())
    return {
        node.name: {
            line.target.id: ast.unparse(line.annotation).strip("'\"")
            for line in node.body
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        }
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def missing(ours: Any, name: str, path: str = "") -> list[str]:
    """Dotted keys that the SDK knows and we do not set; the terms of a closed collection do not count."""
    found: list[str] = []
    for key, annotation in typed_dicts()[name].items():
        where = f"{path}{key}"
        if key not in ours:
            found.append(where)
        elif isinstance(ours[key], dict) and annotation in typed_dicts():
            found += missing(ours[key], annotation, f"{where}.")
    return [where for where in found if not where.endswith(".terms")]


def test_every_key_of_the_sdk_is_set() -> None:
    """A key that a new SDK adds is on by default; then this test fails."""
    known = typed_dicts()["DataCollectionUserOptions"]

    assert missing(DATA_COLLECTION, "DataCollectionUserOptions") == []
    assert DATA_COLLECTION.keys() == known.keys()


def test_a_forgotten_key_is_found() -> None:
    """The comparison sees a missing key, at the top and one level down."""
    less = {key: value for key, value in DATA_COLLECTION.items() if key != "queues"}
    less["gen_ai"] = {"inputs": False}

    assert missing(less, "DataCollectionUserOptions") == ["gen_ai.outputs", "queues"]


def test_every_collection_is_off_as_the_sdk_reads_it() -> None:
    """After the SDK filled in its defaults, nothing is collected."""
    resolved = _resolve_data_collection({"data_collection": DATA_COLLECTION})

    assert resolved == {
        "provided_by_user": True,
        "user_info": False,
        "cookies": OFF,
        "http_headers": {"request": OFF},
        "http_bodies": [],
        "url_query_params": OFF,
        "graphql": {"document": False, "variables": False},
        "gen_ai": {"inputs": False, "outputs": False},
        "database_query_data": False,
        "queues": False,
        "stack_frame_variables": False,
        "frame_context_lines": 0,
    }


@pytest.mark.parametrize("key", ["message", "logentry", "extra", "breadcrumbs", "user", "request", "new_key"])
def test_event_keeps_only_what_is_known_to_be_harmless(key: str) -> None:
    """All other fields that an SDK adds to an event are dropped."""
    kept = allowed({"event_id": "1", key: {"values": ["what a user wrote"]}}, None)

    assert key not in SENT
    assert kept == {"event_id": "1"}


def test_exception_keeps_its_type_and_frames_only() -> None:
    """No message, no locals, no source lines, no mechanism data."""
    frame = {"filename": "a.py", "function": "f", "lineno": 3, "vars": {"text": "x"}, "context_line": "x"}
    raised = {
        "type": "ValueError",
        "module": "builtins",
        "value": "what a user wrote",
        "mechanism": {"type": "generic", "handled": True, "data": {"text": "x"}},
        "stacktrace": {"frames": [frame], "registers": {}},
    }
    kept = allowed({"exception": {"values": [raised]}}, None)

    assert kept["exception"]["values"] == [
        {
            "type": "ValueError",
            "module": "builtins",
            "mechanism": {"type": "generic", "handled": True},
            "stacktrace": {"frames": [{"filename": "a.py", "function": "f", "lineno": 3}]},
        }
    ]
