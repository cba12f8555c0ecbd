"""A form that was sent after the session had ended: what was typed survives the sign-in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.routing import Match, Route

MOST_FIELDS: Final = 100
MOST_CHARS: Final = 60_000
"""Of all names and values together: a long note, not a document."""
LONG_CHARS: Final = 80
NEVER: Final = frozenset({"csrf", "password", "current", "new", "again", "token"})
"""Fields that are not handed around: secrets, and what belongs to a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a form."""

    name: str
    value: str

    @property
    def typed(self) -> bool:
        """Whether it looks like something a person wrote and may want to edit."""
        return self.name in {"note", "text"} or len(self.value) > LONG_CHARS or " " in self.value.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """Where a form was going, and its fields."""

    path: str
    fields: tuple[Field, ...]

    def as_text(self) -> str:
        """For a hidden field of the sign-in form."""
        return json.dumps({"path": self.path, "fields": [[each.name, each.value] for each in self.fields]})


def of_request(request: Request, form: FormData) -> Carried | None:
    """What somebody without a session has sent, when it is worth keeping."""
    pairs = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    return _made(request, request.url.path, pairs)


def from_text(request: Request, text: object) -> Carried | None:
    """What a sign-in form carries; None unless it leads to a form of ours. The text may be anybody's."""
    if not isinstance(text, str) or not text or len(text) > 4 * MOST_CHARS:
        return None
    try:
        found = json.loads(text)
        return _made(
            request, str(found["path"]), [(str(name), str(value)) for name, value in found["fields"]]
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _made(request: Request, path: str, pairs: list[tuple[str, str]]) -> Carried | None:
    fields = tuple(Field(name=name, value=value) for name, value in pairs if name not in NEVER)
    if any(not _storable(each.name + each.value) for each in fields):
        return None
    size = sum(len(each.name) + len(each.value) for each in fields)
    worth = bool(fields) and len(fields) <= MOST_FIELDS and size <= MOST_CHARS
    return Carried(path=path, fields=fields) if worth and _is_ours(request, path) else None


def _storable(text: str) -> bool:
    """Whether pages and Postgres can hold a text: JSON can smuggle in NUL and halves of characters."""
    return not any(each == "\0" or "\ud800" <= each <= "\udfff" for each in text)


def _is_ours(request: Request, path: str) -> bool:
    """Whether a form may be sent to this path: one of the route table, for people who are signed in."""
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": path, "root_path": "", "headers": []}
    routes = (route for route in request.app.routes if isinstance(route, Route))
    first = next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)
    return first is not None and first.name in request.app.state.forms
