"""Webhooks from Postgres to a receiver: schedule, endings, order, one voice; the clock is the test's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any
from uuid import UUID

import psycopg
import pytest
from aiohttp import ClientConnectorError
from standardwebhooks import Webhook

from db.pool import Pool, checkout, create_pool
from db.webhooks import deliveries, endings, endpoints
from db.webhooks.deliveries import WebhookDelivery
from db.webhooks.endpoints import NewEndpoint
from db.webhooks.queue import SHARE_QUEUE, QueueLimits
from tasks.retention.sweep import sweep
from tasks.webhooks.poller import PollerLimits, WebhookPoller
from tests.support.retention import keeping
from tests.support.waiting import waiting_for_locks
from tests.support.webhooks import (
    KEY,
    LOGGED,
    SECRET,
    Clock,
    Receiver,
    Request,
    add_endpoint,
    add_events,
    answer,
    hang,
    new_account,
    receiving,
    send_due,
)
from worker.adapters.webhook_sender import WebhookSender, look_up
from worker.cancellation import cancel_all
from worker.webhooks.schedule import ATTEMPTS, DELAYS_S
from worker.webhooks.signing import encode_secret
from worker.webhooks.types import MOST_ENDPOINTS

DAY_S = 86_400.0


@pytest.fixture
async def people(database_url: str) -> AsyncIterator[Pool]:
    """The review pages' connections."""
    async with create_pool(database_url, size=2, application="test", role="hushgate_reviewer") as opened:
        yield opened


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver that takes everything."""
    async with receiving() as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


@asynccontextmanager
async def poller(source: Pool, clock: Clock, **options: Any) -> AsyncIterator[WebhookPoller]:
    """A poller without jitter."""
    limits = options.pop("limits", PollerLimits())
    async with WebhookSender(loopback=options.pop("loopback", True), now=clock.now, **options) as sender:
        yield WebhookPoller(source, sender, now=clock.now, draw=lambda: 0.0, limits=limits)


async def drain(source: Pool, clock: Clock, **options: Any) -> None:
    """Everything that is due now is sent."""
    async with poller(source, clock, **options) as running:
        await send_due(running)


async def one(people: Pool, endpoint: UUID) -> WebhookDelivery:
    """The only delivery of an endpoint."""
    (found,) = await deliveries.list_deliveries(people, endpoint, limit=10)
    return found


async def test_an_event_arrives_signed(source: Pool, people: Pool, receiver: Receiver, clock: Clock) -> None:
    """The published library verifies it; the body is the recommended envelope; the delivery is a success."""
    account = new_account()
    endpoint = await add_endpoint(people, account, receiver.url)
    (key,) = await add_events(source, account, "c1")
    await drain(source, clock)
    (request,) = receiver.requests
    body = Webhook(SECRET).verify(request.body, request.headers)
    found = await one(people, endpoint)

    assert set(body) == {"type", "timestamp", "data"}
    assert body["type"] == "decision.made"
    assert body["data"] == {"number": key, "conversation_id": "c1"}
    assert request.headers["content-type"] == "application/json"
    assert (found.state, found.attempts, found.status, found.error) == ("succeeded", 1, 200, None)


async def test_endpoints_receive_what_they_subscribe_to(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """By account and type; the account * has the events of all; a new endpoint gets no earlier events."""
    mine, other = new_account(), new_account()
    wanted = [
        await add_endpoint(people, mine, receiver.url, "decision.made"),
        await add_endpoint(people, "*", receiver.url, "decision.made"),
    ]
    unwanted = [
        await add_endpoint(people, mine, receiver.url, "reply.created"),
        await add_endpoint(people, other, receiver.url, "decision.made"),
    ]
    await add_events(source, mine, "c1", at=clock.now())
    clock.pass_by(1)
    unwanted.append(await add_endpoint(people, mine, receiver.url, "decision.made", at=clock.now()))
    await drain(source, clock)
    counts = [len(await deliveries.list_deliveries(people, each, limit=9)) for each in (*wanted, *unwanted)]
    await endpoints.remove_endpoint(people, wanted[1], logged=LOGGED)

    assert counts == [1, 1, 0, 0, 0]
    assert len(receiver.ids()) == 1  # one event has one id for all endpoints


async def test_nothing_is_stored_without_a_subscription(source: Pool, people: Pool) -> None:
    """Also not for a disabled endpoint, or one of another type."""
    account = new_account()
    endpoint = await add_endpoint(people, account, "https://example.com", "decision.made")
    await add_endpoint(people, account, "https://example.com", "reply.created")
    await endpoints.set_enabled(people, endpoint, enabled=False, logged=LOGGED)
    await add_events(source, account, "c1")
    async with checkout(people) as connection:
        found = await connection.execute(
            "SELECT count(*) FROM outgoing_events WHERE user_id = %s", (account,)
        )
        row = await found.fetchone()

    assert row == (0,)


async def test_failures_follow_the_schedule_and_then_disable_the_endpoint(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """Ten attempts at the specified times, all with the same id and body; then the endpoint is disabled."""
    account, receiver.status = new_account(), 500
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "c1")
    counts = []
    for delay in DELAYS_S:
        clock.pass_by(delay * 0.99)
        await drain(source, clock)
        early = len(receiver.requests)
        clock.pass_by(delay * 0.01)
        await drain(source, clock)
        counts.append((early, len(receiver.requests)))
    clock.pass_by(10 * DAY_S)
    await drain(source, clock)
    found, ended = await one(people, endpoint), await endpoints.get_endpoint(people, endpoint)
    assert ended is not None

    assert counts[1:] == [(number, number + 1) for number in range(1, ATTEMPTS)]
    assert len(receiver.requests) == ATTEMPTS
    assert len({(each.identifier, each.body) for each in receiver.requests}) == 1
    assert (found.state, found.attempts, found.error, found.status) == ("failed", 10, "status", 500)
    assert (ended.state, ended.disabled_reason) == ("disabled", "failing")


async def test_an_endpoint_with_a_success_in_between_is_not_disabled(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """One conversation's event fails for days while others arrive."""

    async def says(request: Request) -> bytes:
        return answer(500 if request.json["data"]["conversation_id"] == "bad" else 200)

    account, receiver.says = new_account(), says
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "bad")
    for delay in DELAYS_S:
        clock.pass_by(delay)
        await add_events(source, account, "good", at=clock.now())
        await drain(source, clock)
    clock.pass_by(1)
    await drain(source, clock)
    states = [each.state for each in await deliveries.list_deliveries(people, endpoint, limit=20)]
    ended = await endpoints.get_endpoint(people, endpoint)

    assert sorted(states) == ["failed", *["succeeded"] * 10]
    assert ended is not None
    assert ended.state == "enabled"


async def test_410_disables_the_endpoint_at_once(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """Nothing more is sent, and waiting deliveries wait; enabled again, they are sent."""
    account, receiver.status = new_account(), 410
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "c1", "c1")
    await drain(source, clock)
    gone = await endpoints.get_endpoint(people, endpoint)
    seen, receiver.status = len(receiver.requests), 200
    clock.pass_by(DAY_S)
    await drain(source, clock)
    held = len(receiver.requests)
    await endpoints.set_enabled(people, endpoint, enabled=True, logged=LOGGED)
    await drain(source, clock)
    states = [each.state for each in await deliveries.list_deliveries(people, endpoint, limit=20)]

    assert gone is not None
    assert (gone.state, gone.disabled_reason, gone.waiting) == ("disabled", "gone", 1)
    assert (seen, held, len(receiver.requests)) == (1, 1, 2)
    assert states == ["succeeded", "failed"]


@pytest.mark.parametrize("refusal", [(429, "600"), (503, "600"), (503, "10m0s"), (500, "600")])
async def test_retry_after_pauses_the_endpoint(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock, refusal: tuple[int, str]
) -> None:
    """For every delivery, also of other conversations, until the time has passed; not with another status."""
    status, asked = refusal

    async def says(_: Request) -> bytes:
        return answer(status, Retry_After=asked)

    account, receiver.says = new_account(), says
    await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "c1")
    await drain(source, clock)
    receiver.says = None
    await add_events(source, account, "c2", at=clock.now())
    clock.pass_by(599)
    await drain(source, clock)
    paused = len(receiver.requests)
    clock.pass_by(1)
    await drain(source, clock)

    assert (paused, len(receiver.requests)) == (3 if status == 500 else 1, 3)


async def test_a_bug_in_an_attempt_ends_it_as_a_failure(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is repeated by the schedule, shown, and given up at its end, instead of once per lease for ever."""

    def buggy(*_: object) -> None:
        raise OverflowError("a date of the year 10^20")

    monkeypatch.setattr("worker.adapters.webhook_sender.retry_after_s", buggy)
    account = new_account()
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "c1")
    await drain(source, clock)
    first = await one(people, endpoint)
    for _ in range(40):
        clock.pass_by(31.0)
        await drain(source, clock)
    after_20_min = len(receiver.requests)
    for delay_s in (*DELAYS_S[3:], DAY_S):
        clock.pass_by(delay_s * 1.1 + 1)
        await drain(source, clock)
    last = await one(people, endpoint)

    assert (first.state, first.error) == ("waiting", "internal")
    assert 1 <= after_20_min <= 3
    assert (last.state, last.attempts, last.error) == ("failed", ATTEMPTS, "internal")


async def broken(_: Request) -> bytes:
    """No HTTP."""
    return b"\x00\x01 nothing\r\n\r\n"


async def cut(_: Request) -> bytes:
    """The connection ends before an answer."""
    return b""


async def redirects(_: Request) -> bytes:
    """To another server."""
    return answer(302, b"moved", Location="http://127.0.0.1:1/elsewhere")


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        (hang, ("timeout", None, True)),
        (broken, ("broken_off", None, True)),
        (cut, ("broken_off", None, True)),
        (redirects, ("redirect", 302, False)),
    ],
    ids=["hangs", "is no HTTP", "breaks off", "redirects"],
)
async def test_a_bad_receiver_has_a_named_error(  # noqa: PLR0917  # fixtures
    source: Pool, people: Pool, receiver: Receiver, clock: Clock, says: Any, expected: tuple[object, ...]
) -> None:
    """The delivery waits for its next attempt; a redirect is not followed."""
    account, receiver.says = new_account(), says
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "c1")
    await drain(source, clock, limit_s=0.3)
    found = await one(people, endpoint)

    assert len(receiver.requests) == 1
    assert (found.error, found.status, found.may_have_arrived) == expected
    assert found.state == "waiting"


async def hints_without_end(_: Request) -> bytes:
    """More interim answers than a head may have."""
    return b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 8_000


async def test_an_answer_without_end_is_broken_off(clock: Clock) -> None:
    """Before the limit of the attempt: parsing it would take all the time of the process."""
    endless = Receiver(says=hints_without_end, keeps_open=True)
    async with receiving(endless), WebhookSender(loopback=True, now=clock.now, limit_s=5) as sender:
        result = await sender.send(endless.url, b"{}", {})

    assert (result.error, result.status) == ("broken_off", None)


async def ends_in_its_head(_: Request) -> bytes:
    """The head never ends."""
    return b"HTTP/1.1 200 OK\r\nX-Policy: default-src"


async def never_ends_its_body(_: Request) -> bytes:
    """The body is announced and does not come."""
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def is_short_of_its_body(_: Request) -> bytes:
    """The body stops in its middle."""
    return b"HTTP/1.1 201 Created\r\nContent-Length: 500\r\n\r\n{"


async def has_an_interim_answer(_: Request) -> bytes:
    """Early hints come first; then a broken header."""
    return b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nBad header\r\n\r\n"


def head(status: str, *lines: str, body: bytes = b"") -> bytes:
    """An answer of these header lines."""
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


@pytest.mark.parametrize(
    ("says", "status"),
    [
        (head("200 OK", f"Content-Security-Policy: {'a' * 9_000}", "Content-Length: 0"), 200),
        (head("200 OK", f"Content-Security-Policy: {'a' * 34_000}", "Content-Length: 0"), 200),
        (head("200 OK", *(f"X-Header-{number}: x" for number in range(400)), "Content-Length: 0"), 200),
        (head(f"200 {'OK' * 5_000}", "Content-Length: 0"), 200),
        (head("204 No Content", "Content-Length: 5", body=b"hello"), 204),
        (head("204 No Content", "Transfer-Encoding: chunked", body=b"5\r\nhello\r\n0\r\n\r\n"), 204),
        (head("202 Accepted", "Content-Length: 2", "Content-Length: 3", body=b"ok"), 202),
        (head("200 OK", "Transfer-Encoding: chunked", body=b"nonsense\r\n"), 200),
        (head("200 OK", "Content-Encoding: gzip", "Content-Length: 3", body=b"abc"), 200),
        (head("200 OK", "No colon here", "Content-Length: 0"), 200),
        (ends_in_its_head, 200),
        (never_ends_its_body, 200),
        (is_short_of_its_body, 201),
        (has_an_interim_answer, 200),
    ],
)
async def test_the_status_decides_whatever_follows(  # noqa: PLR0917  # fixtures
    source: Pool, people: Pool, receiver: Receiver, clock: Clock, says: Any, status: int
) -> None:
    """An answer from 200 to 299 is a success whatever its headers and body are."""

    async def given(request: Request) -> bytes:
        return says if isinstance(says, bytes) else await says(request)

    account, receiver.says = new_account(), given
    receiver.keeps_open = not isinstance(says, bytes)
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "c1")
    await drain(source, clock, limit_s=0.5)
    found = await one(people, endpoint)

    assert (found.state, found.error, found.status) == ("succeeded", None, status)
    assert receiver.requests[0].headers["accept-encoding"] == "identity"


async def test_a_wait_in_an_unusable_answer_is_kept(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """The Retry-After of a 503 counts although another header of the answer is too long."""

    async def says(_: Request) -> bytes:
        return head("503 Busy", "Retry-After: 600", f"X-Trace: {'a' * 20_000}", "Content-Length: 0")

    account, receiver.says = new_account(), says
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "c1")
    await drain(source, clock)
    found = await one(people, endpoint)

    assert (found.error, found.status) == ("status", 503)
    clock.pass_by(599)
    await drain(source, clock)
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    ("named", "error"),
    [
        (("https://metadata.example/latest", "169.254.169.254"), "address_refused"),
        (("https://metadata.example/latest", "fd00:ec2::254"), "address_refused"),
        (("https://inside.example/", "10.1.2.3"), "address_refused"),
        (("https://mapped.example/", "::ffff:127.0.0.1"), "address_refused"),
        (("https://localhost:1/", ""), "address_refused"),
        (("https://nothing.invalid/", ""), "name_not_resolved"),
        (("https://two..dots/", ""), "name_not_resolved"),
    ],
)
async def test_a_name_of_a_forbidden_address_is_refused(
    source: Pool, people: Pool, clock: Clock, named: tuple[str, str], error: str
) -> None:
    """After the look-up of the name, before a connection; one forbidden address among others is enough."""

    def lookup(host: str, port: int) -> list[tuple[Any, ...]]:
        if not address:
            return look_up(host, port)
        return [(2, 1, 6, "", (each, port)) for each in ("93.184.216.34", address)]

    url, address = named
    account = new_account()
    endpoint = await add_endpoint(people, account, url)
    await add_events(source, account, "c1")
    await drain(source, clock, loopback=False, lookup=lookup, limit_s=5)
    found = await one(people, endpoint)

    assert (found.state, found.error, found.may_have_arrived) == ("waiting", error, False)


async def test_the_connection_itself_is_checked(receiver: Receiver, clock: Clock) -> None:
    """Also if the check of the look-up were passed: no socket to a forbidden address is opened."""
    async with WebhookSender(loopback=False, now=clock.now) as sender:
        with pytest.raises(OSError, match="public internet"):
            sender._open_socket((2, 1, 6, "", ("127.0.0.1", receiver.port)))
        with pytest.raises(ClientConnectorError) as caught:  # past the check of the URL
            await sender._exchange(receiver.url, b"{}", {})
        result = await sender.send(receiver.url.replace("http:", "https:"), b"{}", {})

    assert "public internet" in str(caught.value.os_error)
    assert result.error == "address_refused"
    assert receiver.requests == []


async def test_a_refused_connection_did_not_arrive(source: Pool, people: Pool, clock: Clock) -> None:
    """Nothing listens, and TLS with a server that speaks none: errors of their own."""

    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(400))
        writer.close()

    server, account = await asyncio.start_server(plain, "127.0.0.1", 0), new_account()
    async with server:
        port = server.sockets[0].getsockname()[1]
        urls = (f"https://127.0.0.1:{port}/", Receiver(port=1).url)
        made = [await add_endpoint(people, account, url) for url in urls]
        await add_events(source, account, "c1")
        await drain(source, clock, limit_s=5)
    found = [await one(people, each) for each in made]

    assert [each.error for each in found] == ["tls", "not_connected"]
    assert not any(each.may_have_arrived for each in found)


async def test_garbage_with_200_is_success_and_is_kept_safely(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """Of a long, unreadable answer the first KiB is stored, without bytes that Postgres refuses."""

    async def says(_: Request) -> bytes:
        return answer(200, b"\x00\xff<script>alert(1)</script>" * 100_000)

    account, receiver.says = new_account(), says
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "c1")
    await drain(source, clock)
    found = await deliveries.get_delivery(people, (await one(people, endpoint)).id)

    assert found is not None
    assert found.state == "succeeded"
    assert 200 < len(found.answer) <= 1024
    assert "\x00" not in found.answer


async def test_events_of_a_conversation_arrive_in_order(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """A later one waits until the earlier one succeeded; other conversations do not wait."""
    refused: set[str] = set()

    async def says(request: Request) -> bytes:
        return answer(500 if request.json["data"]["number"] in refused else 200)

    account, receiver.says = new_account(), says
    await add_endpoint(people, account, receiver.url)
    first = await add_events(source, account, "a", "a", "b", "a")
    refused.add(first[0])
    await drain(source, clock)
    clock.pass_by(1)
    later = await add_events(source, account, "a", "b", at=clock.now())
    await drain(source, clock)
    before = [each.json["data"]["number"] for each in receiver.requests]
    refused.clear()
    clock.pass_by(4)
    await drain(source, clock)
    order = [each.json["data"]["number"] for each in receiver.requests][len(before) :]

    assert sorted(before) == sorted([first[0], first[2], later[1]])
    assert order == [first[0], first[1], first[3], later[0]]


async def test_a_conversation_goes_on_after_an_event_was_given_up(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """The next event has the whole schedule of its own."""
    account, receiver.status = new_account(), 500
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "a", "a")
    for delay in DELAYS_S:
        clock.pass_by(delay)
        await drain(source, clock)
    receiver.status = 200
    await endpoints.set_enabled(people, endpoint, enabled=True, logged=LOGGED)
    await drain(source, clock)
    found = await deliveries.list_deliveries(people, endpoint, limit=9)

    assert [(each.state, each.attempts) for each in found] == [("succeeded", 1), ("failed", 10)]


async def test_a_conversation_goes_on_after_its_waiting_event_was_deleted(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock, database_url: str
) -> None:
    """By retention or on request: the sweep makes the next event due, never one behind it."""
    account, receiver.status = new_account(), 500
    endpoint = await add_endpoint(people, account, receiver.url)
    keys = await add_events(source, account, "a", "b", "a", "b", "a")
    await drain(source, clock)
    old, erased = clock.now() - timedelta(days=31), keys[1]
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("UPDATE outgoing_events SET created_at = %s WHERE key = %s", (old, keys[0]))
        owner.execute("DELETE FROM outgoing_events WHERE key = %s", (erased,))
    await sweep(source, keeping(), clock.now())
    await sweep(source, keeping(), clock.now())
    due = [
        each.key
        for each in await deliveries.list_deliveries(people, endpoint, limit=9)
        if each.next_attempt_at
    ]
    receiver.status = 200
    clock.pass_by(60)
    await drain(source, clock)
    order = [each.json["data"]["number"] for each in receiver.requests[2:]]

    assert sorted(due) == keys[2:4]
    assert sorted(order) == keys[2:]
    assert order.index(keys[2]) < order.index(keys[4])


async def test_both_secrets_sign_during_a_rotation(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """Until the time is over; then the new one alone."""
    account, new = new_account(), b"n" * 24
    endpoint = await add_endpoint(people, account, receiver.url)
    clock.pass_by(0)
    await endpoints.rotate_secret(people, endpoint, new, clock.now().replace(microsecond=0), logged=LOGGED)
    await add_events(source, account, "c1")
    await drain(source, clock)
    await endpoints.rotate_secret(people, endpoint, new, clock.now().replace(year=2099), logged=LOGGED)
    await add_events(source, account, "c1")
    await drain(source, clock)
    after, during = receiver.requests
    shown = await endpoints.get_endpoint(people, endpoint)

    Webhook(encode_secret(new)).verify(after.body, after.headers)
    assert len(after.headers["webhook-signature"].split()) == 1
    assert len(during.headers["webhook-signature"].split()) == 2
    assert shown is not None
    assert shown.secret_hint == "whsec_bm5u…"


async def test_pages_cannot_read_secrets(people: Pool) -> None:
    """The role of the review pages writes them only."""
    account = new_account()
    await add_endpoint(people, account, "https://example.com")
    for column in ("secret", "old_secret", "*"):
        with pytest.raises(Exception, match="permission denied"):
            async with checkout(people) as connection:
                await connection.execute(f"SELECT {column} FROM webhook_endpoints")


@contextmanager
def access_log_locked(database_url: str) -> Iterator[None]:
    """Changes of people wait amid their transaction while inside."""
    with psycopg.connect(database_url) as owner:
        owner.execute("LOCK TABLE access_log IN EXCLUSIVE MODE")
        yield


async def test_an_endpoint_that_is_removed_ends_no_look(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock, database_url: str
) -> None:
    """Its foreign key would refuse new deliveries, and the error would end the attempts under way."""
    account = new_account()
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "c1")
    with access_log_locked(database_url):
        removal = asyncio.ensure_future(endpoints.remove_endpoint(people, endpoint, logged=LOGGED))
        await waiting_for_locks(database_url, 1)
        look = asyncio.ensure_future(drain(source, clock))
        await waiting_for_locks(database_url, 2)

    assert await removal
    await look
    assert receiver.requests == []


async def test_an_endpoint_is_not_removed_amid_the_end_of_an_attempt(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock, database_url: str
) -> None:
    """Each would wait for a row of the other; Postgres would end one of them."""
    account = new_account()
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "c1")
    await drain(source, clock)
    async with checkout(source) as ending, ending.transaction():
        await ending.execute(SHARE_QUEUE)
        await ending.execute("SELECT FROM webhook_deliveries FOR UPDATE")
        removal = asyncio.ensure_future(endpoints.remove_endpoint(people, endpoint, logged=LOGGED))
        await waiting_for_locks(database_url, 1)
        values = {"endpoint": endpoint, "now": clock.now(), "paused_until": None}
        await ending.execute(endings.COUNT_FAILURE, values)

    assert await removal


async def test_an_account_never_has_too_many_endpoints(
    people: Pool, receiver: Receiver, database_url: str
) -> None:
    """Also where two people add the last one at once."""
    account = new_account()
    new = NewEndpoint(user_id=account, url=receiver.url, description="", types=(), created_by="test")
    for _ in range(MOST_ENDPOINTS - 1):
        await endpoints.add_endpoint(people, new, KEY, datetime.now(UTC), logged=LOGGED)
    with access_log_locked(database_url):
        adding = [
            asyncio.ensure_future(endpoints.add_endpoint(people, new, KEY, datetime.now(UTC), logged=LOGGED))
            for _ in range(2)
        ]
        await waiting_for_locks(database_url, 2)

    assert [each is None for each in await asyncio.gather(*adding)].count(True) == 1


async def test_a_test_event_needs_no_subscription(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """It goes to this endpoint alone, and not to a disabled one."""
    account = new_account()
    endpoint = await add_endpoint(people, account, receiver.url, "reply.created")
    await add_endpoint(people, account, receiver.url)
    number = await endpoints.send_test(people, endpoint, clock.now(), logged=LOGGED)
    await drain(source, clock)
    await endpoints.set_enabled(people, endpoint, enabled=False, logged=LOGGED)

    assert [each.json["type"] for each in receiver.requests] == ["webhook.test"]
    assert number == (await one(people, endpoint)).id
    assert await endpoints.send_test(people, endpoint, clock.now(), logged=LOGGED) is None


async def test_a_replay_has_the_same_id(source: Pool, people: Pool, receiver: Receiver, clock: Clock) -> None:
    """A receiver that knows the id takes it once; a delivery that waits is sent at once."""
    account = new_account()
    endpoint = await add_endpoint(people, account, receiver.url)
    await add_events(source, account, "c1")
    await drain(source, clock)
    number, receiver.status = (await one(people, endpoint)).id, 500
    assert await deliveries.replay_delivery(people, number, clock.now(), logged=LOGGED) is None
    await drain(source, clock)
    clock.pass_by(1)
    assert await deliveries.replay_delivery(people, number, clock.now(), logged=LOGGED) is None
    await drain(source, clock)

    assert len(receiver.requests) == 3
    assert len(receiver.ids()) == 1
    gone = await deliveries.replay_delivery(people, number + 1000, clock.now(), logged=LOGGED)
    assert gone == deliveries.UNDER_WAY


async def test_a_dead_endpoint_delays_no_other(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """Three hang with as many events as the healthy one has, which gets all of them meanwhile."""
    account = new_account()
    sender = WebhookSender(loopback=True, now=clock.now)
    running = WebhookPoller(source, sender, now=clock.now)
    async with receiving(Receiver(says=hang)) as dead:
        for url in (dead.url, dead.url, receiver.url, dead.url):
            await add_endpoint(people, account, url)
        await add_events(source, account, *(f"c{number}" for number in range(100)))
        looking = asyncio.create_task(running.run())
        await receiver.count(100)
        await cancel_all([looking])

        assert len(receiver.ids()) == 100
        assert len(dead.requests) == 3 * QueueLimits().per_endpoint


async def test_many_hanging_endpoints_leave_a_place_to_another(
    source: Pool, people: Pool, receiver: Receiver, clock: Clock
) -> None:
    """Three could take all attempts; from half of these on, each endpoint has one."""
    sender = WebhookSender(loopback=True, now=clock.now)
    running = WebhookPoller(source, sender, now=clock.now, limits=PollerLimits(attempts=16))
    async with receiving(Receiver(says=hang)) as dead, running._sender:
        hanging, healthy = new_account(), new_account()
        for _ in range(3):
            await add_endpoint(people, hanging, dead.url)
        await add_endpoint(people, healthy, receiver.url)
        await add_events(source, hanging, *(f"c{number}" for number in range(10)))
        for _ in range(3):
            await running.look()
        await add_events(source, healthy, "c1")
        await running.look()
        await receiver.count(1)
        await cancel_all(running._attempts.running)

    assert len(receiver.requests) == 1


async def test_a_name_that_hangs_takes_one_thread(
    receiver: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many attempts wait for it; another name is looked up meanwhile."""
    answered = Event()

    def lookup(host: str, port: int) -> list[tuple[Any, ...]]:
        if host == "dead.localhost":
            answered.wait()
        return look_up("127.0.0.1", port)

    monkeypatch.setattr("worker.adapters.webhook_sender.LOOKUPS", 2)
    async with WebhookSender(loopback=True, now=clock.now, lookup=lookup, limit_s=1) as sender:
        urls = [receiver.url.replace("127.0.0.1", f"{name}.localhost") for name in ("dead", "live")]
        dead = [asyncio.create_task(sender.send(urls[0], b"{}", {})) for _ in range(3)]
        await asyncio.sleep(0)  # the three wait for their name
        live = await sender.send(urls[1], b"{}", {})
        ended = await asyncio.gather(*dead)
        answered.set()
        recovered = await sender.send(urls[0], b"{}", {})

    assert live.error is None
    assert {each.error for each in ended} == {"timeout"}
    assert recovered.error is None


async def test_a_hanging_and_a_failed_request_slow_nothing_down(
    source: Pool, people: Pool, clock: Clock
) -> None:
    """Among 60 requests one hangs and one is refused; the other events of the endpoint arrive meanwhile."""
    account = new_account()
    receiver = Receiver()

    async def says(_: Request) -> bytes:
        number = len(receiver.requests)
        return await hang(_) if number == 1 else answer(500 if number == 2 else 200)

    receiver.says = says
    running = WebhookPoller(source, WebhookSender(loopback=True, now=clock.now), now=clock.now)
    async with receiving(receiver):
        await add_endpoint(people, account, receiver.url)
        await add_events(source, account, *(f"c{number}" for number in range(60)))
        looking = asyncio.create_task(running.run())
        await receiver.count(60)
        await cancel_all([looking])

    assert len(receiver.ids()) == 60


async def test_a_hanging_request_leaves_the_one_place_of_a_failing_endpoint(
    source: Pool, people: Pool, clock: Clock
) -> None:
    """After two seconds one other request begins, and no more while both hang."""
    account = new_account()
    sender = WebhookSender(loopback=True, now=clock.now)
    running = WebhookPoller(source, sender, now=clock.now, seconds=lambda: 0.0)  # no claim is too old
    async with receiving(Receiver(says=hang)) as receiver, running._sender:
        endpoint = await add_endpoint(people, account, receiver.url)
        async with checkout(people) as connection:
            failing = "UPDATE webhook_endpoints SET failing_share = 1 WHERE id = %s"
            await connection.execute(failing, (endpoint,))
        await add_events(source, account, *(f"c{number}" for number in range(5)))
        begun = []
        for _ in range(3):
            await running.look()
            await running.look()
            async with checkout(people) as connection:
                counted = "SELECT sum(attempts) FROM webhook_deliveries WHERE endpoint_id = %s"
                begun += await (await connection.execute(counted, (endpoint,))).fetchall()
            clock.pass_by(3)
        await cancel_all(running._attempts.running)

    assert begun == [(1,), (2,), (2,)]
