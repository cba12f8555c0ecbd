"""The page on which a person changes what kept the AI from answering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from review.access import Right
from review.languages import mark
from review.shell.menu import MenuEntry, MenuPlace
from worker.model import Json
from worker.reasons import Reason, ReasonFamily


def _page(route: str, title: str, right: Right) -> MenuEntry:
    return MenuEntry(place=MenuPlace.DECISION, route=route, title=title, right=right)


RULES: Final = _page("rules", mark("Rules"), Right.EDIT_RULES)
SETTINGS: Final = _page("settings", mark("Settings"), Right.ADMIN)
DOCUMENTS: Final = _page("documents", mark("Add a document"), Right.EDIT_RULES)
MODELS: Final = _page("connect", mark("Connect a model"), Right.ADMIN)
OF_FAMILY: Final[Mapping[ReasonFamily, MenuEntry]] = {
    ReasonFamily.SETTINGS: SETTINGS,
    ReasonFamily.TOO_LATE: SETTINGS,
    ReasonFamily.BLOCKED: SETTINGS,
    ReasonFamily.MODERATION_FAILED: MODELS,
    ReasonFamily.MODEL_FAILED: MODELS,
    ReasonFamily.NOT_TRUSTED: DOCUMENTS,
    ReasonFamily.HELD: SETTINGS,
}
OF_REASON: Final[Mapping[Reason, MenuEntry]] = {
    Reason.LOW_CONFIDENCE_ESCALATED: DOCUMENTS,
    Reason.REPLY_UNSAFE: SETTINGS,
    Reason.HELD_UNREAD: MODELS,
}


def remedy(row: Mapping[str, Json]) -> MenuEntry | None:
    """The page for the reason of a decision; None where nothing needs a change, or no page changes it."""
    if str(row["matched_rule"] or "").startswith("flagged_"):
        return RULES
    reason = str(row["reason_code"])
    if reason not in Reason.__members__:  # of a newer release
        return None
    return OF_REASON.get(Reason(reason)) or OF_FAMILY.get(Reason(reason).spec.family)
