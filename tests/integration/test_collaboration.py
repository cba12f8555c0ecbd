"""Pages of authors and conversations, comments with mentions, and assignments."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
import pytest

from db.people import records
from db.people.records import Person, Role
from review.http.identifiers import path_segment
from review.http.visit import SESSION_COOKIE
from tests.support.audited import blocked, escalated, record, replied
from tests.support.queues import hand_queue
from tests.support.review_world import World
from tests.support.reviewing import Visitor, stored
from tests.support.samples import event
from tests.support.waiting import waiting_for_locks
from worker.model import Decision

NUMBERS = count(1)
CHANGE = re.compile(r'name="change" value="([0-9a-f-]{36})"')


def signed_in(visitors: Any, url: str, role: Role, *, account: str) -> tuple[Visitor, Person]:
    """A person with a session, without the time that a password takes."""
    with World(url, account) as world:
        person_id = world.person((account, role.value), name=f"Name of {role.value} {account}")
        token = world.session(person_id)
    visitor: Visitor = visitors()
    visitor.client.cookies.set(SESSION_COOKIE, token, domain="127.0.0.1")
    person = stored(url, lambda connection: records.get_person(connection, person_id))
    assert person is not None
    return visitor, person


def decided(url: str, account: str, make: Any = replied, **of_event: str) -> tuple[Decision, str]:
    """A stored decision of an account, and the address of its page."""
    number = f"e{next(NUMBERS)}"
    made = make(event=event(user_id=account, event_id=number, message_id=number, **of_event))
    record(url, made)
    return made, f"/decisions/{made.decision_id}"


def log_of(url: str, action: str, account: str) -> list[tuple[str, Any]]:
    """Who did what, by the access log."""
    query = "SELECT person, detail FROM access_log WHERE action = %s AND user_id = %s ORDER BY id"
    with psycopg.connect(url) as connection:
        return list(connection.execute(query, (action, account)))


def test_an_author_has_a_page_with_history_notes_and_tags(visitors: Any, database_url: str) -> None:
    """Messages newest first with counts, what reviewers wrote, and each change in the access log."""
    author = "https://chat.example/users/7?x=1"
    first, _ = decided(database_url, "notes", blocked, author_id=author, text="the first message")
    second, _ = decided(database_url, "notes", author_id=author, text="the second message")
    reviewer, person = signed_in(visitors, database_url, Role.REVIEWER, account="notes")
    address = f"/accounts/notes/authors/{path_segment(author)}"
    reviewer.get(address)
    note = reviewer.post(address, form="note", note="writes at <b>night</b>")
    reviewer.post(address, form="tag", tag=" big   customer ")
    reviewer.post(address, form="tag", tag="wrong")
    reviewer.post(address, form="untag", tag="wrong")
    page = reviewer.get(address).text
    link = f'href="{address}"'

    assert (note.status_code, note.headers["location"]) == (303, f"{address}?done=note")
    assert 0 < page.index(str(second.decision_id)) < page.index(str(first.decision_id))
    assert "writes at &lt;b&gt;night&lt;/b&gt;" in page
    assert ">big customer</bdi>" in page
    assert ">wrong</bdi>" not in page
    assert [detail["change"] for who, detail in log_of(database_url, "note", "notes")] == [
        "note added", "tag added", "tag added", "tag removed",
    ]  # fmt: skip
    assert {who for who, _ in log_of(database_url, "note", "notes")} == {person.login}
    assert link in reviewer.get(f"/decisions/{first.decision_id}").text


@pytest.mark.parametrize(("form", "status"), [("note", 422), ("tag", 422), ("other", 400)])
def test_an_empty_note_or_tag_is_refused(visitors: Any, database_url: str, form: str, status: int) -> None:
    """Also one that is too long; an unknown author has no page to write on."""
    decided(database_url, "empties", author_id="a7")
    reviewer, _ = signed_in(visitors, database_url, Role.REVIEWER, account="empties")
    reviewer.get("/accounts/empties/authors/a7")

    assert reviewer.post("/accounts/empties/authors/a7", form=form, note=" ", tag=" ").status_code == status
    assert reviewer.post("/accounts/empties/authors/a8", form="note", note="x").status_code == 404
    assert reviewer.get("/accounts/empties/authors/a8").status_code == 404


def test_a_conversation_has_a_page_with_escalations_and_its_owner(visitors: Any, database_url: str) -> None:
    """A reviewer takes the conversation there and comes back to it."""
    made, _ = decided(database_url, "talks", escalated, conversation_id="chat/7")
    reviewer, _ = signed_in(visitors, database_url, Role.REVIEWER, account="talks")
    address = f"/accounts/talks/conversations/{path_segment('chat/7')}"
    before = reviewer.get(address).text
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("DELETE FROM conversations WHERE user_id = 'talks'")
    fields = {"account": "talks", "conversation": "chat/7", "back": "conversation"}
    taken = reviewer.post("/conversations/take", **fields)
    after = reviewer.get(address).text

    assert str(made.decision_id) in before
    assert "Answers of people" not in before
    assert (taken.status_code, taken.headers["location"]) == (303, address)
    assert "Release to the AI" in after
    assert f'href="{address}"' in reviewer.get("/conversations").text


def test_a_mention_reaches_only_people_who_may_see_the_account(visitors: Any, database_url: str) -> None:
    """Strangers are no suggestion, cannot be told from unknown people, and find nothing in their inbox."""
    _, address = decided(database_url, "mentions")
    writer, author = signed_in(visitors, database_url, Role.REVIEWER, account="mentions")
    reader, named = signed_in(visitors, database_url, Role.VIEWER, account="mentions")
    stranger, other = signed_in(visitors, database_url, Role.LEAD, account="elsewhere")
    page = writer.get(address).text
    writer.post(f"{address}/comments", comment=f"@{named.login}, see this. @{other.login} @nobody", notify="")
    refused = [
        writer.post(f"{address}/comments", comment="x", notify=login) for login in (other.login, "nobody")
    ]
    inbox, menu = reader.get("/inbox").text, reader.get("/views").text
    opened = reader.get(address).text
    reader.post("/inbox", decision=address.rsplit("/", 1)[1])

    assert f'value="{named.login}"' in page
    assert other.login not in page
    assert [each.status_code for each in refused] == [422, 422]
    named_page, unknown_page = (re.sub(r' data-now="[^"]*"', "", each.text) for each in refused)
    assert named_page.replace(other.login, "") == unknown_page.replace("nobody", "")
    assert "</bdi> mentioned you" in inbox
    assert address in inbox
    assert "see this" not in inbox
    assert "unread-count" in menu
    assert 'hx-trigger="load' in opened
    assert "unread-count" not in reader.get("/views").text
    assert "</bdi> mentioned you" not in stranger.get("/inbox").text
    assert "</bdi> mentioned you" not in writer.get("/inbox").text
    details = [detail for who, detail in log_of(database_url, "comment", "mentions") if who == author.login]
    assert details == [{"change": "written", "mentioned": 1}]


def test_a_comment_is_withdrawn_by_its_author_alone(visitors: Any, database_url: str) -> None:
    """Its text and its mentions go; its place stays."""
    _, address = decided(database_url, "withdrawn")
    writer, _ = signed_in(visitors, database_url, Role.REVIEWER, account="withdrawn")
    reader, named = signed_in(visitors, database_url, Role.REVIEWER, account="withdrawn")
    writer.get(address)
    writer.post(f"{address}/comments", comment="a hasty word", notify=named.login)
    comment = re.search(r'id="c([0-9a-f-]{36})"', writer.get(address).text)
    assert comment is not None
    reader.get(address)
    of_another = reader.post(f"{address}/comments/{comment[1]}/withdraw").status_code
    before = reader.get(address).text
    withdrawn = writer.post(f"{address}/comments/{comment[1]}/withdraw").status_code
    after = reader.get(address).text

    assert (of_another, withdrawn) == (404, 303)
    assert f"@{named.login} a hasty word" in before
    assert "a hasty word" not in after
    assert "withdrawn" in after
    assert "</bdi> mentioned you" not in reader.get("/inbox").text


def held(url: str, reviewer: Visitor, made: Decision) -> UUID:
    """A queue whose only item, this decision, the person has taken."""
    queue = hand_queue(url, f"of {made.decision_id}", {made.decision_id: made.decided_at})
    reviewer.get("/queues")
    reviewer.post(f"/queues/{queue}/next")
    return queue


def test_a_reader_of_a_queue_sees_neither_comments_nor_assignment(visitors: Any, database_url: str) -> None:
    """What colleagues wrote would not leave the reading independent; nothing can be assigned meanwhile."""
    made, address = decided(database_url, "blind")
    writer, _ = signed_in(visitors, database_url, Role.REVIEWER, account="blind")
    reader, person = signed_in(visitors, database_url, Role.REVIEWER, account="blind")
    writer.get(address)
    writer.post(f"{address}/comments", comment="surely wrong")
    writer.post(f"{address}/assign", login=person.login)
    held(database_url, reader, made)
    page = reader.get(address).text
    refused = reader.post(f"{address}/assign", act="mine").status_code
    in_hands_of_another = writer.post(f"{address}/assign", act="mine").status_code

    assert "surely wrong" not in page
    assert "Assigned to" not in page
    assert (refused, in_hands_of_another) == (409, 409)
    assert reader.post(f"{address}/comments", comment="x").status_code == 409


def test_an_assigned_item_is_dealt_to_that_person_alone(visitors: Any, database_url: str) -> None:
    """Reassigning, undoing and the review all change who gets it, and whose inbox it is in."""
    made, address = decided(database_url, "assigned")
    lead, _ = signed_in(visitors, database_url, Role.REVIEWER, account="assigned")
    kim, first = signed_in(visitors, database_url, Role.REVIEWER, account="assigned")
    lee, second = signed_in(visitors, database_url, Role.REVIEWER, account="assigned")
    queue = hand_queue(database_url, "assigned", {made.decision_id: made.decided_at})
    lead.get(address)
    assert lead.post(f"{address}/assign", login=first.login).status_code == 303
    assert lead.post(f"{address}/assign", login=second.login.upper()).status_code == 303
    reassigned = [address in each.get("/inbox").text for each in (kim, lee)]
    page = lead.get(address).text
    change = CHANGE.search(page)
    assert change is not None
    undone = lead.post(f"{address}/assign/undo", change=change[1]).status_code
    again = lead.post(f"{address}/assign/undo", change=change[1]).status_code
    returned = [address in each.get("/inbox").text for each in (kim, lee)]
    lee.get("/queues")
    to_lee = lee.post(f"/queues/{queue}/next").headers["location"]
    kim.get("/queues")
    to_kim = kim.post(f"/queues/{queue}/next").headers["location"]

    assert reassigned == [False, True]
    assert second.name in page
    assert (undone, again) == (303, 409)
    assert returned == [True, False]
    assert str(made.decision_id) not in to_lee
    assert str(made.decision_id) in to_kim
    assert address in kim.get(f"/decisions?assignee={first.login}&since=all").text
    kim.get(address)
    assert kim.post(f"{address}/review", ruling="agree", seen=str(made.decision_id)).status_code == 303
    assert address not in kim.get("/inbox").text
    review = stored_review(database_url, made)
    assert kim.post(f"/reviews/{review}/undo").status_code == 303
    assert address in kim.get("/inbox").text


def test_an_assignment_does_not_wait_for_the_review_that_waits_for_it(
    visitors: Any, database_url: str
) -> None:
    """The review of a reader whose lease is over ends the assignment that a lead changes."""
    made, address = decided(database_url, "at-once")
    lead, _ = signed_in(visitors, database_url, Role.REVIEWER, account="at-once")
    kim, person = signed_in(visitors, database_url, Role.REVIEWER, account="at-once")
    queue = hand_queue(database_url, "at once", {made.decision_id: made.decided_at})
    lead.get(address)
    lead.post(f"{address}/assign", login=person.login)
    kim.get("/queues")
    kim.post(f"/queues/{queue}/next")
    with psycopg.connect(database_url) as owner:
        owner.execute("UPDATE queue_items SET claimed_until = now() - interval '1 s'")

    async def at_once() -> list[int]:
        with psycopg.connect(database_url) as owner:
            owner.execute("LOCK TABLE review_states IN EXCLUSIVE MODE")
            review = partial(kim.post, f"{address}/review", ruling="agree", seen="")
            reviewed = asyncio.ensure_future(asyncio.to_thread(review))
            await waiting_for_locks(database_url, 1)
            assign = partial(lead.post, f"{address}/assign", login=person.login)
            assigned = asyncio.ensure_future(asyncio.to_thread(assign))
            await waiting_for_locks(database_url, 2)
        return [each.status_code for each in await asyncio.gather(reviewed, assigned)]

    assert asyncio.run(at_once()) == [303, 303]


def stored_review(url: str, made: Decision) -> UUID:
    """The only review of a decision."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT id FROM decision_reviews WHERE decision_id = %s", (made.decision_id,)
        ).fetchone()
    assert row is not None
    found: UUID = row[0]
    return found


def test_only_reviewers_of_the_account_are_assigned_and_assign(visitors: Any, database_url: str) -> None:
    """A viewer does neither."""
    _, address = decided(database_url, "rights")
    reviewer, _ = signed_in(visitors, database_url, Role.REVIEWER, account="rights")
    viewer, person = signed_in(visitors, database_url, Role.VIEWER, account="rights")
    page = viewer.get(address).text
    reviewer.get(address)

    assert "/assign" not in page
    assert viewer.post(f"{address}/assign", act="mine").status_code == 403
    assert reviewer.post(f"{address}/assign", login=person.login).status_code == 422


def test_mentions_on_an_account_that_a_person_left_are_not_counted(visitors: Any, database_url: str) -> None:
    """Another person's role on the account does not count for them."""
    _, address = decided(database_url, "left")
    writer, _ = signed_in(visitors, database_url, Role.REVIEWER, account="left")
    _, person = signed_in(visitors, database_url, Role.REVIEWER, account="left")
    writer.get(address)
    writer.post(f"{address}/comments", comment="Please look.", notify=person.login)
    before = stored(database_url, lambda connection: records.get_person(connection, person.person_id))
    with psycopg.connect(database_url) as connection:
        connection.execute("DELETE FROM person_roles WHERE person_id = %s", (person.person_id,))
    after = stored(database_url, lambda connection: records.get_person(connection, person.person_id))

    assert before is not None
    assert after is not None
    assert (before.unread, after.unread) == (1, 0)
