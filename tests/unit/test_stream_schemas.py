"""The schemas of stream entries and the AsyncAPI document: current, and complete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cli.deployment.config import DOCUMENTS
from tasks.asyncapi import DEFAULTS, asyncapi_document
from tasks.sending.entry_types import ENTRY_TYPES, EntryType

DOCS = Path(__file__).parents[2] / "docs"
STREAMS = ("stream", *sorted({each.setting for each in ENTRY_TYPES}))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_stored_document_is_the_generated_one(name: str) -> None:
    """The file in docs/ equals the output of `hushgate schema`; `make schema` writes it."""
    file = "asyncapi.json" if name == "asyncapi" else f"{name}.schema.json"

    assert DOCUMENTS[name]() == json.loads((DOCS / file).read_text())


@pytest.mark.parametrize("each", ENTRY_TYPES, ids=lambda each: each.name)
def test_a_schema_is_valid_and_describes_every_field(each: EntryType) -> None:
    """The schema is JSON Schema draft 2020-12; every field is required and has a description."""
    schema = each.schema()
    Draft202012Validator.check_schema(schema)
    properties = schema["properties"]

    assert [name for name, field in properties.items() if "description" not in field] == []
    assert set(schema["required"]) == set(properties)


def references(value: Any) -> Iterator[str]:
    """Every `$ref` inside a value."""
    match value:
        case dict():
            if isinstance(found := value.get("$ref"), str):
                yield found
            for each in value.values():
                yield from references(each)
        case list():
            for each in value:
                yield from references(each)


def resolved(document: dict[str, Any], reference: str) -> Any:
    """The value that a reference of the document names."""
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def test_every_reference_of_the_asyncapi_document_resolves() -> None:
    """Channels, messages and schemas that are named exist in the document."""
    document = asyncapi_document()
    named = set(references(document))

    assert named
    assert all(resolved(document, each) is not None for each in named)


def test_the_asyncapi_document_has_every_stream() -> None:
    """One channel for each stream of the settings, used by one operation with a message of the channel."""
    document = asyncapi_document()
    addresses = {each["address"] for each in document["channels"].values()}
    used = [
        (resolved(document, operation["channel"]["$ref"])["address"], operation["action"])
        for operation in document["operations"].values()
    ]
    inside = [
        message["$ref"].startswith(operation["channel"]["$ref"] + "/messages/")
        for operation in document["operations"].values()
        for message in operation["messages"]
    ]

    assert addresses == {getattr(DEFAULTS, name) for name in STREAMS}
    assert sorted(used) == [
        ("hushgate:escalations", "send"),
        ("hushgate:escalations", "send"),
        ("hushgate:events", "receive"),
        ("hushgate:replies", "send"),
        ("hushgate:retractions", "send"),
    ]
    assert all(inside)
