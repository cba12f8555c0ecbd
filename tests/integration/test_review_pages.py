"""Reviewing as people do it, page by page, without a browser."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from httpx2 import Response

from db.people.records import Role
from tests.support.audited import NOW, blocked, escalated, history, ignored, record, replied, rows
from tests.support.queues import hand_queue
from tests.support.reviewing import Visitor, Visitors, fill_queues, person_at
from worker.model import Decision

SEEN = re.compile(r'name="seen" value="([^"]*)"')


def one(url: str, **more: Any) -> Decision:
    """A recorded decision."""
    decided = ignored(**more)
    record(url, decided)
    return decided


def path(decided: Decision) -> str:
    """Where its review form is."""
    return f"/decisions/{decided.decision_id}/review"


def send(visitor: Visitor, decided: Decision, page: Response, **fields: str) -> Response:
    """Send the form of a page."""
    found = SEEN.search(page.text)
    assert found is not None
    return visitor.post(path(decided), seen=found[1], **fields)


def test_two_who_had_the_same_page_see_both_versions(visitors: Visitors, database_url: str) -> None:
    """The slower one gets 409, keeps what they typed, and can store theirs beside the other."""
    decided = one(database_url)
    fast, _ = person_at(visitors, database_url)
    slow, person = person_at(visitors, database_url)
    pages = [each.get(path(decided)) for each in (fast, slow)]
    send(fast, decided, pages[0], ruling="agree", note="looks right to me")
    met = send(
        slow, decided, pages[1], ruling="overturn", reason="SHOULD_ESCALATE", note="no: <b>it is not</b>"
    )
    again = send(slow, decided, met, ruling="overturn", reason="SHOULD_ESCALATE", note="still not")
    state = rows(database_url, "SELECT state FROM review_states WHERE decision_id = %s", decided.decision_id)

    assert met.status_code == 409
    assert "looks right to me" in met.text
    assert "no: &lt;b&gt;it is not&lt;/b&gt;</textarea>" in met.text
    assert person.login in met.text
    assert again.status_code == 303
    assert state == [{"state": "disputed"}]


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({}, 400, "ruling: expected agree, overturn, unsure, got nothing"),
        ({"ruling": "maybe"}, 400, "ruling: expected"),
        ({"ruling": "overturn"}, 400, "reason: expected a reason code"),
        ({"ruling": "agree", "reason": "BECAUSE"}, 400, "reason: expected"),
        ({"ruling": "agree", "remedy": "restore"}, 409, "possible without it"),
    ],
)
def test_a_form_that_cannot_be_stored_comes_back_with_what_was_typed(
    visitors: Visitors, database_url: str, fields: dict[str, str], status: int, message: str
) -> None:
    """And says why."""
    decided = one(database_url)
    visitor, _ = person_at(visitors, database_url)
    page = visitor.get(path(decided))
    answer = send(visitor, decided, page, note="my long thoughts", **fields)

    assert answer.status_code == status
    assert message in answer.text
    assert "my long thoughts</textarea>" in answer.text


def test_a_decision_erased_meanwhile_gives_the_note_back(visitors: Visitors, database_url: str) -> None:
    """It is gone, what was typed is not."""
    decided = one(database_url)
    visitor, _ = person_at(visitors, database_url)
    page = visitor.get(path(decided))
    erase(database_url, decided)
    answer = send(visitor, decided, page, ruling="agree", note="worth keeping")

    assert answer.status_code == 410
    assert "worth keeping" in answer.text
    assert visitor.get(path(decided)).status_code == 410


def erase(url: str, decided: Decision) -> None:
    """Take a decision out of the audit, as on request."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL hushgate.erasing = on")
        connection.execute("DELETE FROM ai_decisions WHERE id = %s", (decided.decision_id,))


def test_a_block_is_overturned_restored_and_undone(visitors: Visitors, database_url: str) -> None:
    """The page offers it, does it, and takes it back."""
    sealed = blocked(conversation_id="pages", rejected_draft="Hm.")
    record(database_url, sealed)
    visitor, _ = person_at(visitors, database_url)
    page = visitor.get(path(sealed))
    fields = {"ruling": "overturn", "reason": "RULE_TOO_BROAD", "remedy": "restore_message"}
    send(visitor, sealed, page, **fields)
    restored = history(database_url, "pages")
    after = visitor.get(path(sealed))
    undo = re.search(r'action="(/reviews/[^"]+/undo)"', after.text)
    assert undo is not None
    back = visitor.post(undo[1])

    assert "restore the author's message" in page.text
    assert "never sent" in page.text
    assert restored == [("user", "is this spam?")]
    assert "You can undo it until" in after.text
    assert back.status_code == 303
    assert history(database_url, "pages") == []


def test_a_queue_leads_from_one_decision_to_the_next(visitors: Visitors, database_url: str) -> None:
    """Claimed, answered, skipped, until nothing waits."""
    made = [one(database_url) for _ in range(3)]
    visitor, person = person_at(visitors, database_url)
    of = hand_queue(database_url, "pages", {each.decision_id: each.decided_at for each in made})
    visitor.get("/queues")
    first = visitor.post(f"/queues/{of}/next")
    page = visitor.get(path(made[0]))
    listed = visitor.get("/queues")
    second = send(visitor, made[0], page, ruling="agree")
    item = second.headers["location"].partition("item=")[2]
    renewed = visitor.post(f"/items/{item}/renew", decision=str(made[1].decision_id))
    third = visitor.post(f"/items/{item}/skip")
    visitor.post(f"/items/{third.headers['location'].partition('item=')[2]}/release")
    lost = visitor.post(f"/items/{item}/skip")
    visitor.get("/queues")

    assert first.headers["location"].startswith(f"/decisions/{made[0].decision_id}?item=")
    assert "From the queue <strong>pages</strong>" in page.text
    assert person.name in listed.text
    assert second.headers["location"].startswith(f"/decisions/{made[1].decision_id}?item=")
    assert renewed.headers["location"] == f"/decisions/{made[1].decision_id}#held"
    assert third.headers["location"].startswith(f"/decisions/{made[2].decision_id}?item=")
    assert lost.status_code == 409


def test_a_blind_reader_sees_nothing_of_the_first_reading(visitors: Visitors, database_url: str) -> None:
    """Not on any page that shows reviews, and all of it after the answer."""
    decided = one(database_url)
    first, _ = person_at(visitors, database_url)
    second, _ = person_at(visitors, database_url)
    of = hand_queue(database_url, "blind", {decided.decision_id: decided.decided_at}, second_share=1.0)
    first.post(f"/queues/{of}/next")
    send(
        first,
        decided,
        first.get(path(decided)),
        ruling="overturn",
        reason="SHOULD_ESCALATE",
        note="SECRET opinion",
    )
    readings = rows(database_url, "SELECT id FROM queues WHERE kind = 'second'")[0]["id"]
    second.post(f"/queues/{readings}/next")
    before = second.get(path(decided))
    lists = [
        second.get(f"/decisions?conversation={decided.event.conversation_id}&since=7d{more}").text
        for more in ("", "&review=overturn")
    ]
    send(second, decided, before, ruling="agree")
    after = second.get(path(decided))

    assert "SECRET" not in before.text
    assert "are shown after your answer" in before.text
    assert "State: <strong>" not in before.text
    assert str(decided.decision_id) in lists[0]
    assert '<td class="review">open<' in lists[0]
    assert str(decided.decision_id) not in lists[1]
    assert "SECRET opinion" in after.text
    assert "disputed" in after.text


def test_the_reader_of_a_known_answer_learns_it_afterwards(visitors: Visitors, database_url: str) -> None:
    """Before the answer the page is like any other."""
    asked, plain = one(database_url), one(database_url)
    lead, _ = person_at(visitors, database_url, Role.LEAD)
    reader, _ = person_at(visitors, database_url)
    lead.get(path(asked))
    lead.post(f"/decisions/{asked.decision_id}/known", ruling="agree", note="plain as day", act="mark")
    lead.get("/queues")
    opened = lead.post("/queues", name="with golden", kind="hand", golden="100")
    of = rows(database_url, "SELECT id FROM queues WHERE name = 'with golden'")[0]["id"]
    lead.get(path(plain))
    lead.post(f"/decisions/{plain.decision_id}/pick", queue=str(of), login="")
    reader.post(f"/queues/{of}/next")
    before = reader.get(path(asked))
    answered = send(reader, asked, before, ruling="overturn", reason="SHOULD_ESCALATE")
    after = reader.get(path(asked))

    assert opened.status_code == 303
    assert "plain as day" not in before.text
    assert "known answer" not in before.text
    assert answered.headers["location"] == f"/decisions/{asked.decision_id}#review"
    assert "plain as day" in after.text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "sample", "amount": "lots", "how": "share"}, "amount: Write a percentage from 0 to 100"),
        ({"kind": "sample", "amount": "5", "how": "each", "per": "colour"}, "per: expected"),
        ({"kind": "heap"}, "kind: expected"),
        ({"kind": "hand", "name": " "}, "name: expected 1 to 100 characters"),
        ({"kind": "hand", "lease": "5"}, "claim duration: expected 10 to 86400 s"),
    ],
)
def test_a_queue_that_cannot_be_opened_says_why(
    visitors: Visitors, database_url: str, fields: dict[str, str], message: str
) -> None:
    """And the form is still there."""
    lead, _ = person_at(visitors, database_url, Role.LEAD)
    lead.get("/queues")
    answer = lead.post("/queues", **{"name": "wrong"} | fields)

    assert answer.status_code == 400
    assert message in answer.text


def test_only_a_lead_of_every_account_closes_what_others_work_in(
    visitors: Visitors, database_url: str
) -> None:
    """A lead of one account closes their own queues."""
    lead, _ = person_at(visitors, database_url, Role.LEAD, account="acme")
    lead.get("/queues")
    escalations = rows(database_url, "SELECT id FROM queues WHERE kind = 'escalations'")[0]["id"]
    refused = lead.post(f"/queues/{escalations}/close")
    lead.get("/queues")
    lead.post("/queues", name="my own", kind="hand")
    own = rows(database_url, "SELECT id FROM queues WHERE name = 'my own'")[0]["id"]

    assert refused.status_code == 403
    assert lead.get(f"/queues/{escalations}/close").status_code == 403
    assert lead.post(f"/queues/{own}/close").status_code == 303


def test_a_queue_is_closed_after_a_question_and_that_it_was_is_said(
    visitors: Visitors, database_url: str
) -> None:
    """The page before says what becomes of what waits; the one after names the queue."""
    lead, _ = person_at(visitors, database_url, Role.LEAD)
    lead.get("/queues")
    lead.post("/queues", name="to be closed", kind="hand")
    of = rows(database_url, "SELECT id FROM queues WHERE name = 'to be closed'")[0]["id"]
    decided = one(database_url)
    lead.post(f"/decisions/{decided.decision_id}/pick", queue=str(of))
    asked = lead.get(f"/queues/{of}/close")
    still_open = rows(database_url, "SELECT closed_at FROM queues WHERE id = %s", of)
    after = lead.get(lead.post(f"/queues/{of}/close").headers["location"])

    assert f'href="/queues/{of}/close"' not in after.text
    assert "<strong>1</strong> decision waits in the queue" in asked.text
    assert still_open == [{"closed_at": None}]
    assert "<strong>to be closed</strong> is closed." in after.text
    assert lead.get(f"/queues/{of}/close").status_code == 409


def test_a_viewer_sees_no_way_to_work_on_decisions(visitors: Visitors, database_url: str) -> None:
    """Neither review nor takeover nor queues; a reviewer sees all three."""
    decided = one(database_url)
    offered = ("Store review", "Take over", "Items waiting for you")
    shown = {}
    for role in (Role.VIEWER, Role.REVIEWER):
        visitor, _ = person_at(visitors, database_url, role)
        pages = [visitor.get(each).text for each in (path(decided), f"/decisions/{decided.decision_id}", "/")]
        shown[role] = [any(words in page for page in pages) for words in offered]

    assert shown == {Role.VIEWER: [False] * 3, Role.REVIEWER: [True] * 3}


def test_the_start_page_says_what_waits_and_what_was_begun(visitors: Visitors, database_url: str) -> None:
    """The queue, the open claim, and the way back to it; once answered, it is gone."""
    decided = one(database_url)
    visitor, _ = person_at(visitors, database_url)
    of = hand_queue(database_url, "morning", {decided.decision_id: decided.decided_at})
    before = visitor.get("/?range=nonsense&since=never")
    visitor.post(f"/queues/{of}/next")
    during = visitor.get("/")
    send(visitor, decided, visitor.get(path(decided)), ruling="agree")
    after = visitor.get("/")

    assert before.status_code == 200
    assert "morning" in before.text
    assert "You hold" not in before.text
    assert f'<a href="/decisions/{decided.decision_id}">Open it</a>' in during.text
    assert "You hold" not in after.text


def test_whoever_came_from_a_list_stays_in_it(visitors: Visitors, database_url: str) -> None:
    """After storing, undoing, a mistake and a collision the way on is there."""
    one_more, decided = (one(database_url, conversation_id="a-list-of-two") for _ in range(2))
    visitor, _ = person_at(visitors, database_url)
    other, _ = person_at(visitors, database_url)
    query = "conversation=a-list-of-two&since=all"
    walked = visitor.get(f"/decisions/{decided.decision_id}?{urlencode({'from': query})}")
    sent = {"from": query, "note": ""}
    wrong = send(visitor, decided, walked, ruling="overturn", **sent)
    stored_page = visitor.get(send(visitor, decided, walked, ruling="agree", **sent).headers["location"])
    undo = re.search(r'action="(/reviews/[^"]+/undo)"', stored_page.text)
    assert undo is not None
    undone = visitor.get(visitor.post(undo[1], **sent).headers["location"])
    send(other, decided, other.get(path(decided)), ruling="unsure")
    collided = send(visitor, decided, undone, ruling="agree", **sent)
    pages = (walked, wrong, stored_page, undone, collided)

    assert [page.status_code for page in pages] == [200, 400, 200, 200, 409]
    for page in pages:
        assert f'name="from" value="{query.replace("&", "&amp;")}"' in page.text
    for page in pages[:4]:
        assert f"/decisions/{one_more.decision_id}?from=" in page.text
        assert decided.event.text in page.text


def test_a_delivered_reply_that_was_removed_is_not_called_unsent(
    visitors: Visitors, database_url: str
) -> None:
    """Its draft was sent; the page names what a restore would bring back."""
    replied_decision = replied()
    record(database_url, replied_decision)
    rows(
        database_url,
        "UPDATE outbox SET delivered_at = now() WHERE decision_id = %s",
        replied_decision.decision_id,
    )
    visitor, _ = person_at(visitors, database_url)
    send(
        visitor,
        replied_decision,
        visitor.get(path(replied_decision)),
        ruling="overturn",
        reason="SHOULD_ESCALATE",
        remedy="remove",
    )
    page = visitor.get(f"/decisions/{replied_decision.decision_id}?again=1").text

    assert "never sent" not in page
    assert "with the reply that the channel was asked to remove" in page


def test_the_start_page_counts_what_was_decided_a_moment_ago(visitors: Visitors, database_url: str) -> None:
    """By the clock as it runs, with nothing counted beforehand."""
    visitor, _ = person_at(visitors, database_url, Role.VIEWER, account="just-now")
    record(database_url, *(ignored(user_id="just-now", at=datetime.now(UTC)) for _ in range(3)))
    counts = [
        re.search(r"Decisions</dt>\s*<dd[^>]*>(?:<a[^>]*>)?(\d+)<", visitor.get(address).text)
        for address in ("/", "/dashboard")
    ]

    assert [found and found[1] for found in counts] == ["3", "3"]


def test_the_list_of_queues_says_how_long_they_have_waited(visitors: Visitors, database_url: str) -> None:
    """To who may review; a viewer has no queues."""
    old = escalated(at=NOW - timedelta(hours=5), user_id="waits-long")
    record(database_url, old)
    rows(database_url, "UPDATE queues SET filled_to = NULL WHERE kind = 'escalations'")  # others filled it
    reviewer, _ = person_at(visitors, database_url, Role.REVIEWER, account="waits-long")
    viewer, _ = person_at(visitors, database_url, Role.VIEWER, account="waits-long")
    fill_queues(database_url)
    page = " ".join(re.sub(r"<[^>]*>", " ", reviewer.get("/queues").text).split())

    assert re.search(r"handed to a person 1 0 0 0 5 hr ago", page), page
    assert viewer.get("/queues").status_code == 403
