"""What a digest says: how much waits for a person, with links, in the person's language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from db.answers import waiting
from db.collaboration import assignments, comments
from db.collaboration.digests import Digest
from db.people.records import Person
from db.review_store import Store
from db.reviews import queue_loads, queues
from features.feature import parts
from review.access import Right, accounts_with
from review.languages import gettext as _
from review.languages import ngettext

MOST_ESCALATIONS: Final = 100
"""Counted up to this number: more is "100 or more" for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestCounts:
    """How much waits for a person, by the page that lists it."""

    mentions: int
    assigned: int = 0
    escalations: int = 0
    queue_items: int = 0
    rollouts: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.mentions + self.assigned + self.escalations + self.queue_items + self.rollouts


async def load_counts(store: Store, person: Person, now: datetime, since: datetime) -> DigestCounts:
    """What waits for the person, within the person's rights; ``since``: the rollouts that were returned."""
    seen, reviewed = accounts_with(person, Right.VIEW), accounts_with(person, Right.REVIEW)
    async with store.reading() as connection:
        mentions = await comments.count_unread(connection, person.person_id, seen)
        further: dict[str, int] = {}
        for count in parts("digest_counts"):
            further |= await count(connection, accounts_with(person, Right.LEAD), since)
        if reviewed == ():
            return DigestCounts(mentions=mentions, **further)
        loads = await queue_loads.load_counts(
            connection, person_id=person.person_id, accounts=reviewed, now=now
        )
        opened = await queues.list_open_queues(connection)
        assigned = await assignments.count_own(connection, person.person_id, reviewed)
        listed = await waiting.list_waiting(connection, reviewed, now=now, limit=MOST_ESCALATIONS)
    mine = [loads[queue.id].for_you for queue in opened if queue.id in loads and queue.is_for(reviewed)]
    return DigestCounts(
        mentions=mentions,
        assigned=assigned,
        escalations=len(listed),
        queue_items=sum(mine),
        **further,
    )


def digest_subject(counts: DigestCounts) -> str:
    """The subject of a mail."""
    number = counts.total
    text = ngettext("Hushgate: %(num)s item waits for you", "Hushgate: %(num)s items wait for you", number)
    return text % {"num": number}


def digest_text(counts: DigestCounts, site: str) -> str:
    """The whole text; ``site`` is the address of the review pages."""
    shown = [f"{text}: {site}{path}" for text, path in _lines(counts)]
    last = _("Change or stop this summary: %(address)s") % {"address": f"{site}/profile/digest"}
    return "\n".join([*shown, "", last, ""])


def _lines(counts: DigestCounts) -> Iterator[tuple[str, str]]:
    """What waits, with the path of the page that lists it."""
    if number := counts.mentions:
        text = ngettext("%(num)s unread mention", "%(num)s unread mentions", number)
        yield text % {"num": number}, "/inbox"
    if number := counts.assigned:
        text = ngettext("%(num)s decision assigned to you", "%(num)s decisions assigned to you", number)
        yield text % {"num": number}, "/inbox"
    if number := counts.escalations:
        text = ngettext("%(num)s message waits for an answer", "%(num)s messages wait for an answer", number)
        yield text % {"num": number}, "/escalations"
    if number := counts.queue_items:
        text = ngettext("%(num)s item in queues", "%(num)s items in queues", number)
        yield text % {"num": number}, "/queues"
    if number := counts.rollouts:
        text = ngettext(
            "%(num)s rollout left its bounds and was returned",
            "%(num)s rollouts left their bounds and were returned",
            number,
        )
        yield text % {"num": number}, "/accounts"


def digest_body(counts: DigestCounts, digest: Digest, site: str) -> dict[str, Any]:
    """The body of a webhook; ``text`` is the whole of it for chats."""
    assert digest.due_at is not None  # only due ones are sent
    numbers = asdict(counts)
    links = {name: f"{site}/{name}" for name in ("inbox", "escalations", "queues", "accounts")}
    data = {"period": digest.period.value, **numbers, "links": links}
    text = f"{digest_subject(counts)}\n{digest_text(counts, site)}"
    return {"type": "digest", "timestamp": digest.due_at.isoformat(), "data": data, "text": text}
