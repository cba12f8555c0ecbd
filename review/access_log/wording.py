"""Lines of the access log in words; the database and the JSON API keep codes and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from db.access_log import LoggedAction

ACTIONS: Final[Mapping[LoggedAction, str]] = {
    LoggedAction.SIGN_IN: "Signed in",
    LoggedAction.SIGN_IN_REFUSED: "Was refused at sign-in",
    LoggedAction.SIGN_OUT: "Signed out",
    LoggedAction.REFUSED: "Was refused a page",
    LoggedAction.LIST: "Listed decisions or conversations",
    LoggedAction.SEARCH: "Searched texts",
    LoggedAction.READ: "Read a decision or its texts",
    LoggedAction.REVEAL: "Uncovered a text",
    LoggedAction.EXPORT: "Requested an export",
    LoggedAction.DOWNLOAD: "Downloaded a file",
    LoggedAction.REVIEW: "Reviewed a decision",
    LoggedAction.UNDO: "Undid a review",
    LoggedAction.BULK_REVIEW: "Began a bulk review",
    LoggedAction.QUEUE: "Opened, closed or filled a queue",
    LoggedAction.CLAIM: "Took a decision from a queue",
    LoggedAction.KNOWN_ANSWER: "Gave or withdrew a known answer",
    LoggedAction.FIGURES: "Read figures",
    LoggedAction.RULES: "Changed rules",
    LoggedAction.DOCUMENTS: "Changed documents",
    LoggedAction.SETTINGS: "Changed settings",
    LoggedAction.PEOPLE: "Changed people or their sign-in",
    LoggedAction.TOKEN: "Made or revoked an API token",
    LoggedAction.AUDIT: "Read this log",
    LoggedAction.CONVERSATION: "Took or released a conversation",
    LoggedAction.WEBHOOK: "Managed webhooks or read a delivery",
    LoggedAction.ANSWER: "Answered a message",
    LoggedAction.HOLD: "Placed or released a legal hold",
    LoggedAction.ERASURE: "Requested, confirmed or cancelled an erasure",
}
"""Total: an action without words fails a test."""


def action_wording(code: str) -> str:
    """The action in words; the code of another release unchanged."""
    return ACTIONS[LoggedAction(code)] if code in set(LoggedAction) else code


def detail_wording(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Names and values of a line's detail for a page, without empty ones."""
    return tuple(
        (name.replace("_", " "), _in_words(value)) for name, value in values.items() if value not in ("", [])
    )


def _in_words(value: Any) -> str:
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
