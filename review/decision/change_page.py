"""The page on which a person changes what kept the AI from answering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from review.access import Right
from review.languages import mark
from worker.model import Json
from worker.reasons import Reason, ReasonFamily


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePage:
    """A link to a page of the account, or of the models; ``setting`` is the one that the page changes."""

    route: str
    title: str = ""
    right: Right = Right.EDIT_RULES
    setting: str = ""


RULES: Final = ChangePage(route="rules", title=mark("Rules"))
DOCUMENTS: Final = ChangePage(route="documents", title=mark("Add a document"))
MODELS: Final = ChangePage(route="connect", title=mark("Connect a model"), right=Right.ADMIN)
SETTINGS: Final[Mapping[Reason, str]] = {
    Reason.UNKNOWN_ACCOUNT: "ai_control_enabled",
    Reason.AI_DISABLED: "ai_control_enabled",
    Reason.CHATS_DISABLED: "ai_enabled_for_chats",
    Reason.COMMENTS_DISABLED: "ai_enabled_for_comments",
    Reason.BUDGET_SPENT: "budget_day_usd",
    Reason.TOO_LATE: "reply_max_age_s",
    Reason.SHED: "shedding",
    Reason.FLAGGED_RULE: "injection_check",
    Reason.MODERATION_FLAGGED: "moderation_thresholds",
    Reason.REPLY_FLAGGED_RULE: "rules_on_reply",
    Reason.REPLY_MODERATION_FLAGGED: "moderation_thresholds",
    Reason.REPLY_UNSAFE: "reply_links",
    Reason.HELD_FOR_APPROVAL: "reply_mode",
    Reason.HELD_FOR_BUDGET: "budget_day_usd",
}
OF_MODELS: Final = (ReasonFamily.MODERATION_FAILED, ReasonFamily.MODEL_FAILED, ReasonFamily.HELD)


def change_page(row: Mapping[str, Json]) -> ChangePage | None:
    """The page for the reason of a decision; None where nothing needs a change, or no page changes it."""
    code = str(row["reason_code"])
    if code not in Reason.__members__:  # of a newer release
        return None
    if str(row["matched_rule"] or "").startswith("flagged_"):
        return RULES
    if setting := SETTINGS.get(Reason(code)):
        return ChangePage(route="settings", right=Right.ADMIN, setting=setting)
    family = Reason(code).spec.family
    if family is ReasonFamily.NOT_TRUSTED or code == Reason.LOW_CONFIDENCE_ESCALATED:
        return DOCUMENTS
    return MODELS if family in OF_MODELS else None
