"""Rows that make the pages look as in use; the same in every run, but for times and ids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from db.identifiers import uuid_at
from db.people.records import Person, Role
from tests.support import review_world
from tests.support.audited import record
from tests.support.review_world import World
from tests.support.reviewing import add_person, fill_queues
from tests.support.samples import assessment
from worker.model import Action, Decision, DecisionKind
from worker.reasons import Reason

ACCOUNT: Final = "lamp-shop"
ASKED: Final = (
    ("Do you ship to Norway, and what does it cost?", DecisionKind.IGNORE, Reason.NO_EVIDENCE),
    ("My lamp arrived broken. I want my money back.", DecisionKind.ESCALATE, Reason.MODEL_ESCALATED),
    ("Is the green shade washable?", DecisionKind.IGNORE, Reason.LOW_CONFIDENCE),
    ("Buy cheap followers, click here", DecisionKind.IGNORE, Reason.FLAGGED_RULE),
)
DECISIONS: Final = 30
CLOSE_SAMPLES: Final = "UPDATE queues SET closed_at = now() WHERE kind = 'sample' RETURNING id"
"""What a random sample draws is not the same in every run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """People to look with, and the addresses of the pages to look at.

    Attributes:
        paths: name of a page -> its path.
    """

    lead: Person
    owner: Person
    paths: dict[str, str]


def seed(url: str) -> Seeded:
    """Fill an empty database."""
    lead = add_person(url, *Role, login="lena")
    owner = add_person(url, Role.OWNER, account=ACCOUNT, login="olga")
    with World(url, ACCOUNT, _text) as world:
        review_world.version(world, lead.person_id)
        review_world.document(world, lead.person_id)
        item = review_world.item(world, lead.person_id)
        author = review_world.author(world, lead.person_id)
        record(url, *_decisions(world.decision))
        world.one(CLOSE_SAMPLES)
    fill_queues(url)
    return Seeded(lead=lead, owner=owner, paths=_paths(str(item), author))


def _paths(item: str, author: str) -> dict[str, str]:
    return {
        "start": "/",
        "list": "/decisions?since=all",
        "decision": f"/decisions/{item}",
        "queues": "/queues",
        "dashboard": "/dashboard",
        "rules": f"/accounts/{ACCOUNT}/rules",
        "author": f"/accounts/{ACCOUNT}/authors/{author}",
        "owner home": f"/accounts/{ACCOUNT}/home",
        "owner settings": f"/accounts/{ACCOUNT}/settings",
        "connect": "/connect",
        "channels": f"/accounts/{ACCOUNT}/channels",
    }


def _text(field: str) -> str:
    """What a field has, without a number or a time."""
    return f"a {field}"


def _decisions(like: Decision) -> list[Decision]:
    made = []
    for number in range(DECISIONS):
        text, kind, reason = ASKED[number % len(ASKED)]
        at = like.decided_at - timedelta(minutes=7 * (number + 1))
        asked = replace(
            like.event,
            event_id=f"asked {number}",
            entry_id=f"{number + 1}-1",
            conversation_id=f"c{number}",
            message_id=f"m{number}",
            text=text,
        )
        flagged = reason is Reason.FLAGGED_RULE
        made.append(
            replace(
                like,
                decision_id=uuid_at(at),
                decided_at=at,
                event=asked,
                kind=kind,
                reason_code=reason,
                matched_rule=like.matched_rule if flagged else None,
                findings=like.findings if flagged else (),
                quarantine=False,
                rejected_draft=None,
                assessment=assessment(action=Action.SILENCE),
            )
        )
    return made
