"""What a second reader could learn of the first reading, from where the exchange is by now."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from db import queues
from db.people import Role
from db.queues import Kind
from tests.integration.audited import blocked, history, record, replied, rows
from tests.integration.test_review_attacks import hand_queue, signed_in
from tests.reviewing import Visitor, site, stored
from worker.model import Decision

VARIES: Final = re.compile(
    r'[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d[^<"]*|\d+ [A-Z][a-z]+[^<"]*\d\d:\d\d|\d\d:\d\d(:\d\d)?'
    r'|\(\d+ s\)|name="csrf" value="[^"]*"|twin-\w+|(person|event|m)-\d+|\d+-0<',
    re.IGNORECASE,
)
"""What differs between any two decisions and any two readers."""
LEFT, REMOVED = ({"verdict": "overturn"}, {"verdict": "overturn", "remedy": "remove"})
RESTORED = tuple({"verdict": "overturn", "remedy": each} for each in ("restore", "restore_message"))
AGREED: Final = {"verdict": "agree"}


@pytest.fixture
def visitors(database_url: str) -> Iterator[Any]:
    """The application; call it for one more visitor."""
    with site(database_url) as visitor:
        yield visitor


@pytest.fixture
def read_first(visitors: Any, database_url: str) -> Callable[[Decision, dict[str, str]], tuple[Visitor, str]]:
    """Somebody rules on a decision; a second reader, and the address they were dealt."""

    def run(decided: Decision, said: dict[str, str]) -> tuple[Visitor, str]:
        first, _ = signed_in(visitors, database_url, Role.REVIEWER)
        second, _ = signed_in(visitors, database_url, Role.REVIEWER)
        picked = {decided.decision_id: decided.decided_at}
        of = hand_queue(database_url, f"of {decided.decision_id}", picked, second_share=1.0)
        first.get("/queues")
        first.post(f"/queues/{of}/next")
        address = f"/decisions/{decided.decision_id}"
        given = first.post(f"{address}/review", **({"reason": "OTHER", "seen": "", "note": "No."} | said))
        again = next(each for each in stored(database_url, queues.all_open) if each.kind is Kind.SECOND)
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
        answer = {"verdict": "overturn", "reason": "OTHER", "seen": ""}
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
    """The lines of a page, without what differs anyway."""
    return VARIES.sub("", page).splitlines()
