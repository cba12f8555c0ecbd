"""Links that optional features add: tabs of an account's pages, buttons and links of a decision's page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from features.feature import hook_items
from review.access import Right


class MenuPlace(StrEnum):
    """Where a link stands; links beside a decision's candidate lead to pages of its account.

    Those of the agreement page lead to pages of every account that the person leads.
    """

    ACCOUNT = "account"
    AGREEMENT = "agreement"
    DECISION = "decision"
    DECISION_CANDIDATE = "decision_candidate"
    DECISION_REVIEW = "decision_review"


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuEntry:
    """A link to a page of the account or the decision that is shown.

    Attributes:
        route: name of the page.
        title: marked for translation.
        right: on the account.
        only: of a link below the review of a decision, the outcome that the decision must have.
    """

    place: MenuPlace
    route: str
    title: str
    right: Right
    only: str = ""


def menu(place: str) -> tuple[MenuEntry, ...]:
    """The entries of a place, of the features in force."""
    return tuple(each for each in hook_items("menu") if each.place == place)
