"""The grounds of an account's statements of reasons, in the values of the DSA Transparency Database.

https://transparency.dsa.ec.europa.eu/page/api-documentation, as of July 2025. An account says by a setting
which of its reasons are restrictions at all, and on which ground: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from worker.model import DecisionKind
from worker.reasons import Reason

SEPARATOR: Final = "|"
PARTS: Final = ("visibility", "ground", "category", "reference", "explanation")
EXAMPLE: Final = (
    "DECISION_VISIBILITY_CONTENT_DISABLED | DECISION_GROUND_INCOMPATIBLE_CONTENT |"
    " STATEMENT_CATEGORY_CYBER_VIOLENCE | Terms of use, section 4 | Insults are not allowed."
)
REFERENCE_CHARS: Final = 500
EXPLANATION_CHARS: Final = 2000
COUNTRIES: Final = frozenset([
    "at", "be", "bg", "cy", "cz", "de", "dk", "ee", "es", "fi", "fr", "gr", "hr", "hu", "ie", "is",
    "it", "li", "lt", "lu", "lv", "mt", "nl", "no", "pl", "pt", "ro", "se", "si", "sk",
])  # fmt: skip
"""The countries that ``territorial_scope`` may name: EU and EEA, in lower case."""


class DecisionVisibility(StrEnum):
    """What was done with the message itself."""

    REMOVED = "DECISION_VISIBILITY_CONTENT_REMOVED"
    DISABLED = "DECISION_VISIBILITY_CONTENT_DISABLED"
    DEMOTED = "DECISION_VISIBILITY_CONTENT_DEMOTED"
    AGE_RESTRICTED = "DECISION_VISIBILITY_CONTENT_AGE_RESTRICTED"
    INTERACTION_RESTRICTED = "DECISION_VISIBILITY_CONTENT_INTERACTION_RESTRICTED"
    LABELLED = "DECISION_VISIBILITY_CONTENT_LABELLED"


class DecisionGround(StrEnum):
    """The basis of a restriction."""

    ILLEGAL = "DECISION_GROUND_ILLEGAL_CONTENT"
    INCOMPATIBLE = "DECISION_GROUND_INCOMPATIBLE_CONTENT"


class StatementCategory(StrEnum):
    """What the message was restricted for."""

    ANIMAL_WELFARE = "STATEMENT_CATEGORY_ANIMAL_WELFARE"
    CONSUMER_INFORMATION = "STATEMENT_CATEGORY_CONSUMER_INFORMATION"
    CYBER_VIOLENCE = "STATEMENT_CATEGORY_CYBER_VIOLENCE"
    CYBER_VIOLENCE_AGAINST_WOMEN = "STATEMENT_CATEGORY_CYBER_VIOLENCE_AGAINST_WOMEN"
    DATA_PROTECTION = "STATEMENT_CATEGORY_DATA_PROTECTION_AND_PRIVACY_VIOLATIONS"
    HARMFUL_SPEECH = "STATEMENT_CATEGORY_ILLEGAL_OR_HARMFUL_SPEECH"
    INTELLECTUAL_PROPERTY = "STATEMENT_CATEGORY_INTELLECTUAL_PROPERTY_INFRINGEMENTS"
    CIVIC_DISCOURSE = "STATEMENT_CATEGORY_NEGATIVE_EFFECTS_ON_CIVIC_DISCOURSE_OR_ELECTIONS"
    NOT_SPECIFIED = "STATEMENT_CATEGORY_NOT_SPECIFIED_NOTICE"
    OTHER_VIOLATION = "STATEMENT_CATEGORY_OTHER_VIOLATION_TC"
    PROTECTION_OF_MINORS = "STATEMENT_CATEGORY_PROTECTION_OF_MINORS"
    PUBLIC_SECURITY = "STATEMENT_CATEGORY_RISK_FOR_PUBLIC_SECURITY"
    SCAMS = "STATEMENT_CATEGORY_SCAMS_AND_FRAUD"
    SELF_HARM = "STATEMENT_CATEGORY_SELF_HARM"
    PRODUCTS = "STATEMENT_CATEGORY_UNSAFE_AND_PROHIBITED_PRODUCTS"
    VIOLENCE = "STATEMENT_CATEGORY_VIOLENCE"


CLOSED: Final = (tuple(DecisionVisibility), tuple(DecisionGround), tuple(StatementCategory))
"""The values of the first three ``PARTS``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementGround:
    """What an account says about the endings with one reason.

    Attributes:
        reference: the law, or the section of the account's terms.
        explanation: why messages with this reason fall under it; no personal data.
    """

    visibility: DecisionVisibility
    ground: DecisionGround
    category: StatementCategory
    reference: str
    explanation: str


def parse_ground(text: str) -> StatementGround:
    """The parts of a setting's value.

    Raises:
        ValueError: a part is missing, unknown or too long.
    """
    parts = [part.strip() for part in text.split(SEPARATOR)]
    if len(parts) != len(PARTS):
        raise ValueError(f"expected {f' {SEPARATOR} '.join(PARTS)}, such as {EXAMPLE}")
    visibility, ground, category, reference, explanation = parts
    for known, name in zip(CLOSED, (visibility, ground, category), strict=True):
        if name not in known:
            raise ValueError(f"expected one of {', '.join(known)}")
    if not (0 < len(reference) <= REFERENCE_CHARS and 0 < len(explanation) <= EXPLANATION_CHARS):
        raise ValueError(
            f"expected 1 to {REFERENCE_CHARS} characters of reference, and 1 to {EXPLANATION_CHARS} of"
            " explanation"
        )
    return StatementGround(
        visibility=DecisionVisibility(visibility),
        ground=DecisionGround(ground),
        category=StatementCategory(category),
        reference=reference,
        explanation=explanation,
    )


def checked_grounds(grounds: dict[str, str]) -> dict[str, str]:
    """The grounds; raises ``ValueError`` for a key that is no reason of a silent ending, or a wrong value."""
    for key, text in grounds.items():
        if key not in Reason.__members__ or Reason(key).spec.decision is not DecisionKind.IGNORE:
            raise ValueError("expected reason codes of endings without a reply")
        parse_ground(text)
    return grounds


def checked_country(code: str) -> str:
    """The code; raises ``ValueError`` unless it names a country of the EU or EEA."""
    if code not in COUNTRIES:
        raise ValueError(f"expected one of {', '.join(sorted(COUNTRIES))}")
    return code


def parse_grounds(grounds: Mapping[str, str]) -> dict[Reason, StatementGround]:
    """The grounds of a stored setting, without grounds that this release cannot read."""
    found: dict[Reason, StatementGround] = {}
    for key, text in grounds.items():
        with suppress(ValueError):
            found[Reason(key)] = parse_ground(text)
    return found
