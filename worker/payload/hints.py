"""The optional fields of an event: what of them can be used. None of them makes a dead letter."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from worker.payload.characters import whole_text
from worker.payload.schema import ID_BYTES, LANGUAGE, is_id

DEPTH: Final = 32
"""Most levels of nesting in an event."""
LOCALE: Final = re.compile(r"([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*)(?:[.@,;].*)?", re.ASCII | re.DOTALL)
"""A language as POSIX, Java, iOS and HTTP write it.

Such as ``en_US.UTF-8``, ``zh_Hans_CN``, ``de@euro`` and ``de, en;q=0.8``.
"""
NAMED_LOCALES: Final = frozenset({"posix", "root", "und"})
OPTIONAL: Final = (
    "event_id",
    "type",
    "role",
    "text",
    "feedback",
    *("parent_id", "language", "attachments", "metadata"),
)
"""Fields for which ``null`` means the same as no field."""
NoteUnusable = Callable[[str, str, object], None]
"""Notes a value that is left out: path, what was expected, what came."""


def usable_hints(body: Mapping[str, Any], note: NoteUnusable) -> dict[str, Any]:
    """The event's fields without unusable hints, each of which is noted."""
    fields = {name: value for name, value in body.items() if value is not None or name not in OPTIONAL}
    for name, usable in HINTS.items():
        if name in fields:
            found = usable(fields.pop(name), note)
            if found is not None:
                fields[name] = found
    if isinstance(text := fields.get("text"), str) and (whole := whole_text(text)) != text:
        note("text", "text without NUL", "NUL, now U+FFFD")
        fields["text"] = whole
    return fields


def _language(value: object, note: NoteUnusable) -> str | None:
    found = LOCALE.fullmatch(value.strip()) if isinstance(value, str) else None
    tag = found[1].replace("_", "-") if found else ""
    if re.fullmatch(LANGUAGE, tag) and tag.lower() not in NAMED_LOCALES:
        return tag
    note("language", "a BCP 47 tag", value)
    return None


def _parent(value: object, note: NoteUnusable) -> str | None:
    if isinstance(value, str) and is_id(value):
        return value
    note("parent_id", f"a text of 1 to {ID_BYTES} bytes in UTF-8", value)
    return None


def _metadata(value: object, note: NoteUnusable) -> dict[str, Any] | None:
    if isinstance(value, dict):
        found = _storable(value, "metadata", note, 2)
        assert isinstance(found, dict)
        return found
    note("metadata", "a JSON object", value)
    return None


def _storable(node: Any, path: str, note: NoteUnusable, level: int) -> Any:
    """A value without what Postgres cannot store, or some readers cannot read."""
    if isinstance(node, dict | list) and level > DEPTH:
        note(path, f"at most {DEPTH} levels of nesting", "more levels")
        return None
    match node:
        case dict():
            return {
                whole_text(key): _storable(each, f"{path}.{key}", note, level + 1)
                for key, each in node.items()
            }
        case list():
            return [_storable(each, f"{path}.{at}", note, level + 1) for at, each in enumerate(node)]
        case str() if "\0" in node:
            note(path, "text without NUL", "NUL, now U+FFFD")
            return whole_text(node)
        case int() | float() if not _is_number(node):
            note(path, "a number of 64 bits", "another")
            return None
    return node


def _is_number(value: float) -> bool:
    """Whether Postgres and every reader can hold it."""
    return -(2**63) <= value < 2**64 if isinstance(value, int) else math.isfinite(value)


HINTS: Final[Mapping[str, Callable[[object, NoteUnusable], Any]]] = {
    "language": _language,
    "parent_id": _parent,
    "metadata": _metadata,
}
