"""A form sent after the session ended: its fields survive the sign-in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.routing import Match, Route

MOST_FIELDS: Final = 100
MOST_CHARS: Final = 60_000
"""All names and values together: enough for a long note, not for a document."""
LONG_CHARS: Final = 80
SECRET_FIELDS: Final = frozenset({"csrf", "password", "current", "new", "again", "token"})
"""Fields that are never kept: secrets, and the session's token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One field of a form."""

    name: str
    value: str

    @property
    def editable(self) -> bool:
        """Whether a person probably wrote the value and may want to edit it."""
        return self.name in {"note", "text"} or len(self.value) > LONG_CHARS or " " in self.value.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptForm:
    """A form's path and fields."""

    path: str
    fields: tuple[FormField, ...]

    def as_text(self) -> str:
        """The form as JSON, for a hidden field of the sign-in form."""
        return json.dumps({"path": self.path, "fields": [[each.name, each.value] for each in self.fields]})


def keep_form(request: Request, form: FormData) -> KeptForm | None:
    """The form that a visitor without a session sent, or None when it is not kept."""
    pairs = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    return _kept_form(request, request.url.path, pairs)


def read_form(request: Request, text: object) -> KeptForm | None:
    """The form that a sign-in form carries; None unless its path is a form of this site. Untrusted text."""
    if not isinstance(text, str) or not text or len(text) > 4 * MOST_CHARS:
        return None
    try:
        found = json.loads(text)
        return _kept_form(
            request, str(found["path"]), [(str(name), str(value)) for name, value in found["fields"]]
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _kept_form(request: Request, path: str, pairs: list[tuple[str, str]]) -> KeptForm | None:
    fields = tuple(FormField(name=name, value=value) for name, value in pairs if name not in SECRET_FIELDS)
    if any(not _storable(each.name + each.value) for each in fields):
        return None
    size = sum(len(each.name) + len(each.value) for each in fields)
    keep = bool(fields) and len(fields) <= MOST_FIELDS and size <= MOST_CHARS
    return KeptForm(path=path, fields=fields) if keep and _is_ours(request, path) else None


def _storable(text: str) -> bool:
    """Whether pages and Postgres can hold a text: JSON can contain NUL and lone surrogates."""
    return not any(each == "\0" or "\ud800" <= each <= "\udfff" for each in text)


def _is_ours(request: Request, path: str) -> bool:
    """Whether the route table has a form at this path, for people who are signed in."""
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": path, "root_path": "", "headers": []}
    routes = (route for route in request.app.routes if isinstance(route, Route))
    first = next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)
    return first is not None and first.name in request.app.state.forms
