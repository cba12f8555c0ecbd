"""What trials show on pages of the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from db.connection import Connection
from review.decision.panels import PanelSubject
from review.http.visit import Visit
from review.panels import Panel
from trials.pages.change_preview import preview_change
from trials.pages.suggestions_page import missing_document
from trials.pages.wording import TITLES
from trials.store.differences import differences_of_decision
from trials.store.golden_sets import set_names
from worker.model import Account


async def shadows_panel(connection: Connection, subject: PanelSubject) -> Panel:
    """What candidates in shadow would have done; without their replies for people who may not read them."""
    found = await differences_of_decision(connection, subject.row["id"])
    if not found:
        return Panel()
    if not subject.may_review:
        found = tuple(replace(each, reply=None) for each in found)
    replies = sum(each.reply is not None for each in found)
    html = subject.visit.fragment(
        "learn/_decision_shadows.html", account=subject.row["user_id"], found=found, groups=TITLES
    )
    return Panel(html=html, detail={"shadow_replies": replies} if replies else {})


async def golden_panel(connection: Connection, subject: PanelSubject) -> Panel:
    """The form that adds a decision to a golden set of its account; the page shows it to leads."""
    names = await set_names(connection, subject.row["user_id"])
    if not names:
        return Panel()
    html = subject.visit.fragment("learn/_decision_golden.html", decision_id=subject.row["id"], sets=names)
    return Panel(html=html)


async def change_panel(visit: Visit, account: Account) -> Panel:
    """What changed settings would have done to the newest decisions."""
    return Panel(html=visit.fragment("learn/_preview.html", preview=await preview_change(visit, account)))


PANELS: Final[Mapping[str, tuple[Any, ...]]] = {
    "decision": (shadows_panel,),
    "decision_review": (golden_panel,),
    "change": (change_panel,),
    "document": (missing_document,),
}
