"""Lines of the access log in words; codes and JSON stay in the database and on the JSON face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from db.access_log import Action

ACTIONS: Final[Mapping[Action, str]] = {
    Action.SIGN_IN: "Signed in",
    Action.SIGN_IN_REFUSED: "Was refused at sign-in",
    Action.SIGN_OUT: "Signed out",
    Action.REFUSED: "Was refused a page",
    Action.LIST: "Listed decisions",
    Action.SEARCH: "Searched texts",
    Action.READ: "Read a decision or its texts",
    Action.REVEAL: "Uncovered a text",
    Action.EXPORT: "Asked for an export",
    Action.DOWNLOAD: "Downloaded a file",
    Action.REVIEW: "Reviewed a decision",
    Action.UNDO: "Took a review back",
    Action.BULK_REVIEW: "Began a bulk review",
    Action.QUEUE: "Opened, closed or filled a queue",
    Action.FIGURES: "Looked at figures",
    Action.RULES: "Changed rules",
    Action.DOCUMENTS: "Changed documents",
    Action.SETTINGS: "Changed settings",
    Action.PEOPLE: "Changed people or their sign-in",
    Action.TOKEN: "Made or revoked an API token",
    Action.AUDIT: "Read this log",
}
"""Total: an action without words fails a test."""


def action(code: str) -> str:
    """What was done; the code of another release as it is."""
    return ACTIONS[Action(code)] if code in set(Action) else code


def detail(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Names and values of a line's detail, as a page shows them; what is empty is left out."""
    return tuple(
        (name.replace("_", " "), _said(value)) for name, value in values.items() if value not in ("", [])
    )


def _said(value: Any) -> str:  # noqa: ANN401  # JSON
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case str() | int() | float():
            return str(value)
        case list() if all(isinstance(each, str | int | float) for each in value):
            return ", ".join(str(each) for each in value)
        case _:
            return orjson.dumps(value).decode()
