"""Digests: ordered on a page, sent once by mail or webhook, with counts and links alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from pydantic import SecretStr

from db.connection import Connection
from db.people import records
from db.people.records import Person, Role
from db.review_store import Store
from review.digests import content, run
from review.digests.content import DigestCounts
from review.digests.run import send_due
from review.http.templating import Templates
from review.http.visit import Site
from tests.integration.test_collaboration import decided, signed_in
from tests.support.mail import MailServer, mail_server
from tests.support.reviewing import add_person, settings_at, site
from tests.support.webhooks import SECRET, Receiver, receiving
from worker.webhooks.signing import signed_headers

NOW = datetime.now(UTC)
ORDER = """
    INSERT INTO digests (person_id, period, channel, address, secret, due_at)
    VALUES (%s, 'daily', %s, %s, %s, %s)
"""


@pytest.fixture
async def server(database_url: str) -> AsyncIterator[Site]:
    """What the review server knows, without its pages."""
    settings = settings_at(database_url, HUSHGATE_WEBHOOK_LOOPBACK="true")
    async with Store(database_url, size=4) as store:
        yield Site(settings=settings, store=store, templates=Templates(), now=lambda: NOW)


@pytest.fixture(scope="module")
def visitors(database_url: str) -> Iterator[Any]:
    """The application; call it for one more visitor."""
    with site(database_url) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def mentioned(visitors: Any, database_url: str) -> UUID:
    """A person whom a comment mentions, and to whom its decision is assigned."""
    _, address = decided(database_url, "digests", text="a text of a customer")
    writer, _ = signed_in(visitors, database_url, Role.REVIEWER, account="digests")
    _, person = signed_in(visitors, database_url, Role.REVIEWER, account="digests")
    writer.get(address)
    writer.post(f"{address}/comments", comment="a text of a colleague", notify=person.login)
    writer.post(f"{address}/assign", login=person.login)
    return person.person_id


@pytest.fixture(scope="module")
def calm(visitors: Any, database_url: str) -> UUID:
    """A person for whom nothing waits."""
    return signed_in(visitors, database_url, Role.VIEWER, account="calm")[1].person_id


@pytest.fixture(scope="module")
def gone(database_url: str) -> UUID:
    """A person who is deleted before their digest is sent."""
    return add_person(database_url, Role.VIEWER).person_id


def order(url: str, person: UUID, channel: str, address: str) -> None:
    """The person's digest is due now."""
    with psycopg.connect(url) as owner:
        owner.execute("DELETE FROM digests")
        owner.execute(ORDER, (person, channel, address, SECRET, NOW - timedelta(minutes=1)))


def state(url: str) -> dict[str, Any]:
    """The only stored digest."""
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as owner:
        row = owner.execute("SELECT * FROM digests").fetchone()
    assert row is not None
    return row


def with_mail(server: Site, mail: MailServer) -> Site:
    """The review server with a mail server."""
    changes = {"smtp_url": SecretStr(f"{mail.url}?from=hushgate@example.org")}
    return replace(server, settings=server.settings.model_copy(update=changes))


async def test_a_digest_by_mail_is_sent_once_by_any_number_of_servers(
    server: Site, database_url: str, mentioned: UUID
) -> None:
    """Counts and links, no text of a customer or colleague; the next one is due on the next morning."""
    with mail_server() as mail:
        order(database_url, mentioned, "mail", "kim@example.org")
        site_with_mail = with_mail(server, mail)
        sent = await asyncio.gather(*(send_due(site_with_mail) for _ in range(4)))
        sent_later = await send_due(site_with_mail)
    (found,) = mail.mails
    text = found.get_content()

    assert sorted(sent) == [0, 0, 0, 1]
    assert sent_later == 0
    assert (found["To"], found["Subject"]) == ("kim@example.org", "Hushgate: 2 items wait for you")
    assert "1 unread mention: https://127.0.0.1/inbox" in text
    assert "1 decision" in text
    assert "a text of" not in text
    assert NOW < state(database_url)["due_at"] <= NOW + timedelta(days=1)
    assert state(database_url)["sent_at"] is not None


async def test_a_digest_that_was_not_taken_is_sent_again_later(
    server: Site, database_url: str, mentioned: UUID
) -> None:
    """With the same id, after a pause; its problem is stored as a code."""
    with mail_server() as mail:
        mail.refuse = True
        order(database_url, mentioned, "mail", "kim@example.org")
        first = await send_due(with_mail(server, mail))
        failed, mail.refuse = state(database_url), False
        at_once = await send_due(with_mail(server, mail))
        later = replace(with_mail(server, mail), now=lambda: NOW + timedelta(minutes=3))
        at_last = await send_due(later)

    assert (first, at_once, at_last) == (0, 0, 1)
    assert failed["problem"] == "SMTPSenderRefused"
    assert len(mail.mails) == 1
    assert state(database_url)["problem"] is None


async def test_a_deleted_recipient_and_a_bug_delay_no_other_digest(  # noqa: PLR0917  # fixtures
    server: Site, database_url: str, mentioned: UUID, calm: UUID, gone: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digests of the others are sent in the same round."""
    broken, load = calm, records.get_person

    async def missing(connection: Connection, person_id: UUID) -> Person | None:
        return None if person_id == gone else await load(connection, person_id)

    async def counts(store: Store, person: Person, *times: datetime) -> DigestCounts:
        if person.person_id == broken:
            raise KeyError("a bug")
        return await content.load_counts(store, person, *times)

    monkeypatch.setattr(records, "get_person", missing)
    monkeypatch.setattr(run, "load_counts", counts)
    with mail_server() as mail:
        order(database_url, mentioned, "mail", "kim@example.org")
        with psycopg.connect(database_url) as owner:
            for number, person in enumerate((gone, broken), start=1):
                due = NOW - timedelta(hours=number)
                owner.execute(ORDER, (person, "mail", "other@example.org", None, due))
        sent = await send_due(with_mail(server, mail))

    assert (sent, len(mail.mails)) == (1, 1)


async def test_a_digest_by_webhook_is_signed(server: Site, database_url: str, mentioned: UUID) -> None:
    """As other webhooks; the body has counts and links."""
    receiver: Receiver
    async with receiving() as receiver:
        order(database_url, mentioned, "webhook", receiver.url)
        assert await send_due(server) == 1
    (request,) = receiver.requests
    at = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
    signed = signed_headers(request.body, identifier=request.headers["webhook-id"], secrets=[SECRET], now=at)

    assert request.headers["webhook-signature"] == signed["webhook-signature"]
    assert request.json["data"]["mentions"] == 1
    assert request.json["data"]["assigned"] == 1
    assert "a text of" not in request.body.decode()


async def test_nothing_is_sent_when_nothing_waits(server: Site, database_url: str, calm: UUID) -> None:
    """The next one is due all the same."""
    order(database_url, calm, "webhook", "http://127.0.0.1:9/")

    assert await send_due(server) == 0
    assert state(database_url)["due_at"] > NOW
    assert state(database_url)["sent_at"] is None


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"period": "daily", "channel": "mail", "address": "kim@example.org"}, 422),
        ({"period": "daily", "channel": "webhook", "address": "http://example.org/"}, 422),
        ({"period": "daily", "channel": "webhook", "address": "https://169.254.169.254/"}, 422),
        ({"period": "often", "channel": "webhook", "address": "https://example.org/"}, 400),
        ({"period": "weekly", "channel": "webhook", "address": "https://localhost/"}, 422),
        ({"period": "weekly", "channel": "webhook", "address": "https://10.0.0.1/"}, 422),
        ({"period": "weekly", "channel": "webhook", "address": "https://example.org/"}, 200),
    ],
)
def test_a_digest_is_ordered_on_a_page(
    visitors: Any, database_url: str, fields: dict[str, str], status: int
) -> None:
    """Without a mail server only to a webhook on the public internet; its secret is shown once."""
    visitor, _ = signed_in(visitors, database_url, Role.VIEWER, account="orders")
    visitor.get("/profile/digest")
    saved = visitor.post("/profile/digest", **fields)
    page = visitor.get("/profile/digest").text

    assert saved.status_code == status
    assert ("whsec_" in saved.text) == (status == 200)
    assert "whsec_" not in page
