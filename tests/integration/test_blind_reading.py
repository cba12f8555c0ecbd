"""What a second reader could learn of the first reading, from where the exchange is by now."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Callable
from typing import Any, Final

import psycopg
import pytest

from db.people.records import Role
from db.reviews import queues
from db.reviews.queues import QueueKind
from db.reviews.rulings import Review, Reviewer
from db.reviews.withdrawal import withdraw_review
from tests.support.audited import blocked, history, record, replied, rows
from tests.support.queues import hand_queue
from tests.support.reviewing import Visitor, person_at, stored
from tests.support.waiting import waiting_for_locks
from worker.model import Decision

SUGGESTED: Final = re.compile(r"<datalist.*?</datalist>", re.DOTALL)
VARIES: Final = re.compile(
    r'[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d[^<"]*|\d+ [A-Z][a-z]+[^<"]*\d\d:\d\d|\d\d:\d\d(:\d\d)?'
    r'|\(\d+ s\)|name="csrf" value="[^"]*"|twin-\w+|\d+ (sec|min|hr) ago|(person|event|m)-\d+|\d+-0<',
    re.IGNORECASE,
)
"""What differs between any two decisions and any two readers."""
SEEN: Final = re.compile(r'name="seen" value="([^"]*)"')
LEFT, REMOVED = ({"ruling": "overturn"}, {"ruling": "overturn", "remedy": "remove"})
RESTORED = tuple({"ruling": "overturn", "remedy": each} for each in ("restore", "restore_message"))
AGREED: Final = {"ruling": "agree"}


@pytest.fixture
def read_first(visitors: Any, database_url: str) -> Callable[[Decision, dict[str, str]], tuple[Visitor, str]]:
    """Somebody rules on a decision; a second reader, and the address they were dealt."""

    def run(decided: Decision, said: dict[str, str]) -> tuple[Visitor, str]:
        first, _ = person_at(visitors, database_url, Role.REVIEWER)
        second, _ = person_at(visitors, database_url, Role.REVIEWER)
        picked = {decided.decision_id: decided.decided_at}
        of = hand_queue(database_url, f"of {decided.decision_id}", picked, second_share=1.0)
        first.get("/queues")
        first.post(f"/queues/{of}/next")
        address = f"/decisions/{decided.decision_id}"
        given = first.post(
            f"{address}/review", **({"reason": "SHOULD_ESCALATE", "seen": "", "note": "No."} | said)
        )
        again = next(
            each for each in stored(database_url, queues.list_open_queues) if each.kind is QueueKind.SECOND
        )
        second.get("/queues")
        dealt = second.post(f"/queues/{again.id}/next").headers["location"]
        assert (given.status_code, dealt.startswith(address)) == (303, True)
        return second, dealt

    return run


@pytest.mark.parametrize(
    ("make", "readings", "delivered"),
    [
        pytest.param(blocked, (AGREED, LEFT, *RESTORED), False, id="block"),
        pytest.param(replied, (AGREED, LEFT, REMOVED), False, id="waiting reply"),
        pytest.param(replied, (AGREED, LEFT, REMOVED), True, id="delivered reply"),
    ],
)
def test_where_an_exchange_is_tells_nothing_of_the_first_reading(
    read_first: Any,
    database_url: str,
    make: Callable[..., Decision],
    readings: tuple[dict[str, str], ...],
    delivered: bool,
) -> None:
    """Sealed, restored, held back or retracted: the pages are the same, and every answer can be given."""
    pages, beside, left = [], [], []
    for number, said in enumerate(readings):
        conversation = f"twin-{make.__name__}{number}{delivered}"
        text = f"{conversation}: " + "a long message " * 40
        more = {"rejected_draft": "Never sent."} if make is blocked else {}
        decided, neighbour = (make(conversation_id=conversation, text=text, **more) for _ in range(2))
        record(database_url, decided, neighbour)
        if delivered:
            rows(database_url, "UPDATE outbox SET delivered_at = now()")
        second, dealt = read_first(decided, said)
        pages.append(plain(second.get(dealt).text))
        beside.append(plain(second.get(f"/decisions/{neighbour.decision_id}").text))
        answer = {"ruling": "overturn", "reason": "SHOULD_ESCALATE", "seen": ""}
        answer["remedy"] = "restore" if make is blocked else "remove"
        answered = second.post(f"/decisions/{decided.decision_id}/review", **answer)
        assert answered.status_code == 303, answered.text
        left.append([role for role, _ in history(database_url, conversation)])

    for shown in (pages, beside):
        for page in shown[1:]:
            assert not list(difflib.unified_diff(shown[0], page, lineterm="", n=0))
    assert left == left[:1] * len(left)
    assert any('name="remedy"' in line for line in pages[0])


def plain(page: str) -> list[str]:
    """The lines of a page, without what differs anyway; each test adds people whom it suggests."""
    return VARIES.sub("", SUGGESTED.sub("", page)).splitlines()


def test_a_form_does_not_tell_whether_its_decision_was_reviewed(visitors: Any, database_url: str) -> None:
    """A golden item often was, others of its queue were not; and a colleague is still not overwritten."""
    lead, reader = (person_at(visitors, database_url, role)[0] for role in (Role.LEAD, Role.REVIEWER))
    fresh, old = replied(), replied()
    record(database_url, fresh, old)
    first, second = (f"/decisions/{each.decision_id}" for each in (fresh, old))
    lead.get(second)
    lead.post(f"{second}/review", ruling="agree", seen="", note="")
    of = hand_queue(database_url, "both", {each.decision_id: each.decided_at for each in (fresh, old)})
    reader.get("/queues")
    pages = {}
    for _ in range(2):
        dealt = reader.post(f"/queues/{of}/next").headers["location"].partition("?")[0]
        pages[dealt] = SEEN.findall(reader.get(dealt).text)[0]
        if dealt == second:
            stored_first = reader.post(f"{dealt}/review", ruling="agree", seen=pages[dealt], note="")
        else:
            lead.post(f"{dealt}/review", ruling="unsure", seen="", note="")
            refused = reader.post(f"{dealt}/review", ruling="agree", seen=pages[dealt], note="mine")
            reader.post(f"/items/{fresh.decision_id}/skip")

    assert set(pages) == {first, second}
    assert all(each[14] == "7" for each in pages.values())
    assert stored_first.status_code == 303
    assert refused.status_code == 409
    assert "mine" in refused.text


def test_an_undo_does_not_wait_for_the_second_reading_that_waits_for_it(
    read_first: Any, database_url: str
) -> None:
    """The undo closes the item of the second reading, whose answer counts in the same review state."""
    decided = replied()
    record(database_url, decided)
    second, dealt = read_first(decided, LEFT)
    (first,) = rows(
        database_url, "SELECT * FROM decision_reviews WHERE decision_id = %s", decided.decision_id
    )
    by = Reviewer(person_id=first["person_id"], login=first["person"])

    def undo() -> Review:
        now = first["created_at"]
        return stored(database_url, lambda connection: withdraw_review(connection, first["id"], by, now))

    def answer() -> Any:
        address = dealt.partition("?")[0]
        return second.post(f"{address}/review", ruling="agree", seen="", note="")

    async def at_once() -> tuple[Review, Any]:
        with psycopg.connect(database_url) as owner:
            owner.execute("SELECT FROM review_states FOR UPDATE")
            undone = asyncio.ensure_future(asyncio.to_thread(undo))
            await waiting_for_locks(database_url, 1)
            answered = asyncio.ensure_future(asyncio.to_thread(answer))
            await waiting_for_locks(database_url, 2)
        return await undone, await answered

    undone, answered = asyncio.run(at_once())

    assert (undone.ruling, answered.status_code) == ("withdrawn", 409)
