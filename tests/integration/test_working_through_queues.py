"""What a reader sees from the first item of a queue to the last one, and after taking an answer back."""

from __future__ import annotations

import re
from html import unescape
from itertools import count
from typing import Final
from uuid import UUID

import pytest
from httpx2 import Response

from db.people.records import Role
from db.reviews import queues
from db.reviews.queues import QueueKind
from review.languages.choice import ZONE_COOKIE
from tests.support.audited import ignored, record, rows
from tests.support.queues import hand_queue
from tests.support.reviewing import Visitor, Visitors, person_at, stored, zone_at
from worker.model import Decision

NUMBERS: Final = count(1)
SEEN: Final = re.compile(r'name="seen" value="([^"]*)"')
UNDO: Final = re.compile(r'action="(/reviews/[^"]+/undo)"')
STORED: Final = "You can undo it until"
CELL: Final = r'data-label="{}">(\d+)<'


@pytest.fixture
def reader(visitors: Visitors, database_url: str) -> Visitor:
    """A reviewer at the pages."""
    visitor, _ = person_at(visitors, database_url, Role.REVIEWER)
    visitor.get("/queues")
    return visitor


def queue_of(url: str, size: int, **shares: float) -> tuple[UUID, str, list[Decision]]:
    """A queue with so many new decisions in it: its id, its name and the decisions, oldest first."""
    made = [ignored() for _ in range(size)]
    record(url, *made)
    name = f"work {next(NUMBERS)}"
    picked = {each.decision_id: each.decided_at for each in made}
    return hand_queue(url, name, picked, **shares), name, made


def path(decided: Decision) -> str:
    """A decision's page."""
    return f"/decisions/{decided.decision_id}"


def answer(visitor: Visitor, decided: Decision, ruling: str = "agree", **fields: str) -> str:
    """Answer an item; the address that follows."""
    seen = SEEN.search(visitor.get(path(decided)).text)
    assert seen is not None
    response = visitor.post(f"{path(decided)}/review", seen=seen[1], ruling=ruling, **fields)
    assert response.status_code == 303, response.text
    return response.headers["location"]


def undo(visitor: Visitor, page: Response) -> str:
    """Press Undo on a page; the address that follows."""
    found = UNDO.search(page.text)
    assert found is not None
    return visitor.post(found[1]).headers["location"]


def test_a_queue_ends_with_a_page_that_has_no_form_and_leads_on(reader: Visitor, database_url: str) -> None:
    """It counts the reader's work, can take the last answer back, and offers the next queue."""
    of, name, (only,) = queue_of(database_url, 1)
    queue_of(database_url, 2)
    reader.post(f"/queues/{of}/next")
    address = answer(reader, only)
    after = reader.get(address)

    assert address == f"/queues/{of}/done"
    assert "Done, 1 item today" in after.text
    assert f"Nothing else in <strong>{name}</strong> waits for you" in after.text
    assert STORED in after.text
    assert 'name="ruling"' not in after.text
    assert "Continue with" in after.text
    assert undo(reader, after) == f"{path(only)}#review"


def test_an_answered_decision_has_no_open_form(reader: Visitor, database_url: str) -> None:
    """The form opens with a press, in the list that the reader came from; its review replaces the first."""
    of, _, (only,) = queue_of(database_url, 1)
    reader.post(f"/queues/{of}/next")
    answer(reader, only)
    closed, opened = (
        reader.get(f"{path(only)}?from=since%3Dall").text,
        reader.get(f"{path(only)}?again=1").text,
    )
    (link,) = re.findall(r'href="([^"]*)">Review it again', closed)

    assert unescape(link) == "?again=1&from=since%3Dall#review"
    assert 'name="ruling"' not in closed
    assert 'name="ruling"' in opened


def test_the_form_of_an_item_is_stored_once(reader: Visitor, database_url: str) -> None:
    """Sent again after the item was answered, such as from the browser's history."""
    of, _, (only,) = queue_of(database_url, 1)
    reader.post(f"/queues/{of}/next")
    answer(reader, only, item="1")
    again = reader.post(
        f"{path(only)}/review", seen="", ruling="overturn", reason="SHOULD_ESCALATE", item="1"
    )

    assert again.status_code == 400
    assert "You no longer hold this item" in again.text
    assert (
        len(rows(database_url, "SELECT id FROM decision_reviews WHERE decision_id = %s", only.decision_id))
        == 1
    )


def test_a_second_review_leaves_a_blind_reading(
    visitors: Visitors, reader: Visitor, database_url: str
) -> None:
    """Both stand: the reading for the comparison of readers, the review for the state of the decision."""
    of, _, (decided,) = queue_of(database_url, 1, second_share=1.0)
    first, _ = person_at(visitors, database_url, Role.REVIEWER)
    first.post(f"/queues/{of}/next")
    answer(first, decided)
    second = next(
        each for each in stored(database_url, queues.list_open_queues) if each.kind is QueueKind.SECOND
    )
    reader.post(f"/queues/{second.id}/next")
    answer(reader, decided, "unsure")
    *_, seen = SEEN.findall(reader.get(f"{path(decided)}?again=1").text)
    sent = reader.post(f"{path(decided)}/review", seen=seen, ruling="overturn", reason="SHOULD_ESCALATE")
    found = rows(
        database_url,
        "SELECT ruling, source FROM decision_reviews WHERE decision_id = %s ORDER BY id",
        decided.decision_id,
    )
    state = rows(database_url, "SELECT state FROM review_states WHERE decision_id = %s", decided.decision_id)

    assert sent.status_code == 303
    assert [(each["ruling"], each["source"]) for each in found][1:] == [
        ("unsure", "blind"),
        ("overturn", "page"),
    ]
    assert state == [{"state": "disputed"}]


def test_the_undo_stays_on_the_list_of_queues(reader: Visitor, database_url: str) -> None:
    """A reader who skips the last item after an answer can still take that answer back."""
    of, _, (first, last) = queue_of(database_url, 2)
    reader.post(f"/queues/{of}/next")
    answer(reader, first)
    listed = reader.get(reader.post(f"/items/{last.decision_id}/skip").headers["location"])

    assert str(listed.url).endswith(f"/queues?empty={of}")
    assert STORED in listed.text
    assert undo(reader, listed) == f"{path(first)}#review"


def test_a_blind_reader_sees_the_first_ruling_after_the_last_item(
    visitors: Visitors, database_url: str, reader: Visitor
) -> None:
    """The end of the queue leads to the decision, which shows both readings."""
    of, _, (decided,) = queue_of(database_url, 1, second_share=1.0)
    first, _ = person_at(visitors, database_url, Role.REVIEWER)
    first.post(f"/queues/{of}/next")
    answer(first, decided, "overturn", reason="SHOULD_ESCALATE", note="the first opinion")
    second = next(
        each for each in stored(database_url, queues.list_open_queues) if each.kind is QueueKind.SECOND
    )
    reader.post(f"/queues/{second.id}/next")
    before = reader.get(path(decided))
    end = reader.get(answer(reader, decided))
    after = reader.get(path(decided))

    assert "the first opinion" not in before.text
    assert "the first opinion" in after.text
    assert STORED in end.text
    assert path(decided) in end.text


def test_an_undo_gives_the_item_back_and_frees_the_next_one(
    visitors: Visitors, reader: Visitor, database_url: str
) -> None:
    """The reader holds one item of the queue again; another reader is dealt the one that came after it."""
    of, name, (first, second) = queue_of(database_url, 2)
    reader.post(f"/queues/{of}/next")
    next_page = reader.get(answer(reader, first))
    back = reader.get(undo(reader, next_page))
    home = reader.get("/").text
    other, _ = person_at(visitors, database_url, Role.REVIEWER)
    dealt = other.post(f"/queues/{of}/next").headers["location"]

    assert str(first.decision_id) in str(back.url)
    assert f"From the queue <strong>{name}</strong>" in back.text
    assert "Store and continue" in back.text
    assert path(first) in home
    assert path(second) not in home
    assert dealt.startswith(path(second))


def test_an_undone_item_is_followed_by_the_one_that_was_given_up(reader: Visitor, database_url: str) -> None:
    """If no other person claimed it meanwhile, the reviewer holds it again."""
    of, _, (first, second) = queue_of(database_url, 2)
    reader.post(f"/queues/{of}/next")
    undo(reader, reader.get(answer(reader, first)))
    hidden = reader.get(path(second)).text

    assert "are shown after your answer" in hidden
    assert answer(reader, first, "unsure").startswith(path(second))


def test_an_undone_blind_reading_leaves_the_reader_in_the_queue(
    visitors: Visitors, reader: Visitor, database_url: str
) -> None:
    """Another reviewer is dealt the decision; this one stays at the next item, and the page says so."""
    of, _, made = queue_of(database_url, 2, second_share=1.0)
    first, _ = person_at(visitors, database_url, Role.REVIEWER)
    first.post(f"/queues/{of}/next")
    for each in made:
        answer(first, each)
    second = next(
        each for each in stored(database_url, queues.list_open_queues) if each.kind is QueueKind.SECOND
    )
    reader.post(f"/queues/{second.id}/next")
    next_page = reader.get(answer(reader, made[0]))
    back = reader.get(undo(reader, next_page))

    assert str(made[1].decision_id) in str(back.url)
    assert "was withdrawn. Another reviewer will get it." in back.text
    assert f"From the queue <strong>{second.name}</strong>" in back.text


def test_a_lease_that_ended_is_not_renewed_by_the_undo_of_a_colleague(
    visitors: Visitors, reader: Visitor, database_url: str
) -> None:
    """Who let their time run out does not hold the item again because another review was taken back."""
    of, _, (decided,) = queue_of(database_url, 1)
    reader.post(f"/queues/{of}/next")
    rows(
        database_url,
        "UPDATE queue_items SET claimed_until = now() - interval '1 minute' WHERE queue_id = %s",
        of,
    )
    colleague, _ = person_at(visitors, database_url, Role.REVIEWER)
    page = colleague.get(answer(colleague, decided))
    undo(colleague, page)
    held = rows(
        database_url, "SELECT claimed_until > now() AS held, done_at FROM queue_items WHERE queue_id = %s", of
    )

    assert held == [{"held": False, "done_at": None}]


def test_what_waits_for_a_reader_is_counted_apart_from_what_waits_for_others(
    reader: Visitor, database_url: str
) -> None:
    """A skipped item and one that is assigned to another person wait, and not for this reader."""
    of, name, (skipped, assigned, _) = queue_of(database_url, 3)
    rows(
        database_url,
        "UPDATE queue_items SET assigned_to = gen_random_uuid() WHERE decision_id = %s",
        assigned.decision_id,
    )
    reader.post(f"/queues/{of}/next")
    reader.post(f"/items/{skipped.decision_id}/skip")
    reader.post(f"/queues/{of}/next")
    held = re.search(r"/decisions/([0-9a-f-]{36})", reader.get("/").text)
    assert held is not None
    reader.post(f"/items/{held[1]}/release")
    counted = [_counts(reader.get(address).text, name) for address in ("/", "/queues")]
    reader.post(f"/queues/{of}/next")
    reader.post(f"/items/{held[1]}/skip")
    empty = reader.get(f"/queues?empty={of}").text

    assert counted == [("1", "2"), ("1", "2")]
    assert _counts(empty, name) == ("0", "3")
    assert re.search(
        r"waits for you now\. You skipped 2 items\. 1 item waits for other reviewers only\.", empty
    )


def test_a_queue_offers_what_the_reader_can_take_or_goes_on_with(reader: Visitor, database_url: str) -> None:
    """Not the next one of a queue in which nothing waits for the reader."""
    of, _, _ = queue_of(database_url, 1)
    action = f'action="/queues/{of}/next"'
    offered = []
    for step in (f"/queues/{of}/next", "", f"/queues/{of}/next"):
        offered += [action in reader.get(address).text for address in ("/", "/queues")]
        if step:
            reader.post(step)
    held = re.search(r"/decisions/([0-9a-f-]{36})", reader.get("/").text)
    assert held is not None
    reader.post(f"/items/{held[1]}/skip")
    offered += [action in reader.get(address).text for address in ("/", "/queues")]

    assert offered == [True] * 6 + [False] * 2


def test_done_today_is_a_day_of_the_readers_time_zone(reader: Visitor, database_url: str) -> None:
    """Two hours ago is today where it is late, and yesterday after midnight."""
    of, name, (made,) = queue_of(database_url, 1)
    reader.post(f"/queues/{of}/next")
    answer(reader, made)
    ago = "UPDATE queue_items SET done_at = now() - interval '2 hours' WHERE queue_id = %s"
    rows(database_url, ago, of)
    counted = []
    for hour in (23, 0):
        reader.client.cookies.set(ZONE_COOKIE, zone_at(hour))
        row = reader.get("/queues").text.partition(f"<bdi>{name}<")[2].partition("</tr>")[0]
        counted += re.findall(CELL.format("Done today"), row)

    assert counted == ["1", "0"]


def _counts(page: str, name: str) -> tuple[str, str]:
    """What a table says of a queue: waiting for the reader, for others only."""
    plain = page.replace("<bdi>", "")
    row = plain.partition(f'<th scope="row">{name}<')[2].partition("</tr>")[0]
    mine, others = (re.search(CELL.format(label), row) for label in ("Waiting for you", "For others only"))
    assert mine is not None
    assert others is not None
    return mine[1], others[1]


def test_taking_an_item_is_not_logged_as_opening_a_queue(
    visitors: Visitors, reader: Visitor, database_url: str
) -> None:
    """The access log names the claim; a known answer is named as such too."""
    of, _, (decided,) = queue_of(database_url, 1)
    reader.post(f"/queues/{of}/next")
    lead, _ = person_at(visitors, database_url, Role.LEAD)
    lead.get(path(decided))
    lead.post(f"{path(decided)}/known", ruling="agree", act="mark")
    logged = rows(
        database_url,
        "SELECT action FROM access_log WHERE decision_id = %s AND action <> 'read' ORDER BY id",
        decided.decision_id,
    )

    assert [each["action"] for each in logged] == ["claim", "known_answer"]
