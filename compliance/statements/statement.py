"""Statements of reasons, with the field names of the API of the DSA Transparency Database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from review.languages import mark
from worker.reasons import Reason
from worker.statement_grounds import DecisionGround, StatementGround

CAUTION: Final = mark(
    "A bot that says nothing does not restrict anything: a statement of reasons is due only where the message"
    " itself was removed, hidden, demoted or otherwise restricted. Give a ground only to reasons after which"
    " your platform does that."
)
"""For command, page and documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestrictedMessage:
    """A decision for which a statement is made.

    Attributes:
        puid: unique within the platform: the id of the decision.
        language: of the message, as a code of two or three letters; empty when unknown.
        written_on: when the message was written.
        lifted_on: when a reviewer overturned the decision; None when it stands.
        seen_by_person: a person has confirmed or overturned the decision.
    """

    puid: str
    reason: Reason
    language: str
    written_on: date
    decided_on: date
    lifted_on: date | None
    seen_by_person: bool


def statement(
    message: RestrictedMessage, ground: StatementGround, countries: tuple[str, ...]
) -> dict[str, Any]:
    """One statement, without personal data: its facts are about the reason, not about the message."""
    illegal = ground.ground is DecisionGround.ILLEGAL
    language = message.language.upper() if len(message.language) == 2 else None
    return {
        "decision_visibility": [ground.visibility.value],
        "end_date_visibility_restriction": message.lifted_on.isoformat() if message.lifted_on else None,
        "decision_ground": ground.ground.value,
        "illegal_content_legal_ground": ground.reference if illegal else None,
        "illegal_content_explanation": ground.explanation if illegal else None,
        "incompatible_content_ground": None if illegal else ground.reference,
        "incompatible_content_explanation": None if illegal else ground.explanation,
        "content_type": ["CONTENT_TYPE_TEXT"],
        "category": ground.category.value,
        "territorial_scope": [each.upper() for each in countries],
        "content_language": language,
        "content_date": message.written_on.isoformat(),
        "application_date": message.decided_on.isoformat(),
        "decision_facts": _facts(message),
        "source_type": "SOURCE_VOLUNTARY",
        "automated_detection": "Yes",
        "automated_decision": (
            "AUTOMATED_DECISION_PARTIALLY" if message.seen_by_person else "AUTOMATED_DECISION_FULLY"
        ),
        "puid": message.puid,
    }


FIELDS: Final = (
    "decision_visibility",
    "end_date_visibility_restriction",
    "decision_ground",
    "illegal_content_legal_ground",
    "illegal_content_explanation",
    "incompatible_content_ground",
    "incompatible_content_explanation",
    "content_type",
    "category",
    "territorial_scope",
    "content_language",
    "content_date",
    "application_date",
    "decision_facts",
    "source_type",
    "automated_detection",
    "automated_decision",
    "puid",
)
"""The fields of ``statement``, in the order of a file."""


def _facts(message: RestrictedMessage) -> str:
    how = f"An automated check ended the handling of the message: {message.reason.spec.label}."
    if message.lifted_on is not None:
        return f"{how} A person later overturned the decision."
    return f"{how} A person confirmed the decision." if message.seen_by_person else how
