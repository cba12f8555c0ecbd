"""Lines of the access log in words; the database and the JSON API keep codes and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from db.access_log import LoggedAction
from review.languages import gettext, mark

ACTIONS: Final[Mapping[LoggedAction, str]] = {
    LoggedAction.SIGN_IN: mark("Signed in"),
    LoggedAction.SIGN_IN_REFUSED: mark("Was refused at sign-in"),
    LoggedAction.SIGN_OUT: mark("Signed out"),
    LoggedAction.REFUSED: mark("Was refused a page"),
    LoggedAction.LIST: mark("Listed decisions or conversations"),
    LoggedAction.SEARCH: mark("Searched texts"),
    LoggedAction.READ: mark("Read a decision or its texts"),
    LoggedAction.REVEAL: mark("Uncovered a text"),
    LoggedAction.EXPORT: mark("Requested an export"),
    LoggedAction.DOWNLOAD: mark("Downloaded a file"),
    LoggedAction.REVIEW: mark("Reviewed a decision"),
    LoggedAction.UNDO: mark("Undid a review"),
    LoggedAction.BULK_REVIEW: mark("Began a bulk review"),
    LoggedAction.QUEUE: mark("Opened, closed or filled a queue"),
    LoggedAction.CLAIM: mark("Took a decision from a queue"),
    LoggedAction.KNOWN_ANSWER: mark("Gave or withdrew a known answer"),
    LoggedAction.FIGURES: mark("Read figures"),
    LoggedAction.RULES: mark("Changed rules"),
    LoggedAction.DOCUMENTS: mark("Changed documents"),
    LoggedAction.SETTINGS: mark("Changed settings"),
    LoggedAction.PEOPLE: mark("Changed people or their sign-in"),
    LoggedAction.TOKEN: mark("Made or revoked an API token"),
    LoggedAction.AUDIT: mark("Read this log"),
    LoggedAction.CONVERSATION: mark("Took or released a conversation"),
    LoggedAction.FAILED_OPEN: mark("Let a text pass without a check"),
    LoggedAction.WEBHOOK: mark("Managed webhooks or read a delivery"),
    LoggedAction.ANSWER: mark("Answered a message"),
    LoggedAction.HOLD: mark("Placed or released a legal hold"),
    LoggedAction.ERASURE: mark("Requested, confirmed or cancelled an erasure"),
    LoggedAction.NOTE: mark("Wrote a note, or added or removed a tag"),
    LoggedAction.COMMENT: mark("Wrote or withdrew a comment"),
    LoggedAction.ASSIGN: mark("Assigned a decision"),
    LoggedAction.APPEAL: mark("Took or decided an appeal, or made a link for one"),
    LoggedAction.DEAD_LETTER: mark("Read, published again or dropped a dead letter"),
    LoggedAction.LATE_MODERATION: mark("Flagged a text that had passed without moderation"),
    LoggedAction.REPAIR: mark("Repaired stored data at the command line"),
}
"""Total: an action without words fails a test."""

DETAILS: Final[Mapping[str, str]] = {"golden_set": mark("golden set")}
"""Names in details that are no codes."""


def action_wording(code: str) -> str:
    """The action in words; the code of another release unchanged."""
    return gettext(ACTIONS[LoggedAction(code)]) if code in set(LoggedAction) else code


def detail_wording(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Names and values of a line's detail for a page, without empty ones."""
    return tuple(
        (_name_in_words(name), _in_words(value)) for name, value in values.items() if value not in ("", [])
    )


def _name_in_words(name: str) -> str:
    return gettext(DETAILS[name]) if name in DETAILS else name.replace("_", " ")


def _in_words(value: Any) -> str:
    match value:
        case bool():
            return gettext("yes") if value else gettext("no")
        case None:
            return gettext("none")
        case str() | int() | float():
            return str(value)
        case list() if all(isinstance(each, str | int | float) for each in value):
            return ", ".join(str(each) for each in value)
        case _:
            return orjson.dumps(value).decode()
