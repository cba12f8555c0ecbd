"""Slow clients and uploads over real sockets hold up nothing but themselves."""

from __future__ import annotations

import dataclasses
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
import uvicorn
from redis import Redis
from starlette.types import Receive, Scope, Send

from cli.stack import Stack
from db.people.records import Role
from review.connections import Limits, client_network, limited
from tests.support.browser.serving import serving
from tests.support.exporting import cookie_of
from tests.support.reader_processes import kill_readers, reader_processes
from tests.support.reviewing import CSRF, add_person
from tests.support.running import eventually
from tests.support.web_server import port_of, web_server
from tests.unit.documents.test_document_process import SLOW

QUICK = Limits(
    headers_s=2, header_bytes=8_192, body_s=2, body_bytes_per_s=200, stall_s=8, per_address=8, overall=16
)
PATIENCE_S = 20
LARGE = b"x" * 1_000_000


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the length of the body; at /large with far more than a socket buffers."""
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        length, more = length + len(message.get("body", b"")), message.get("more_body", False)
    parts = [LARGE] * 40 if scope["path"] == "/large" else [b"%d" % length]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


@contextmanager
def running(limits: Limits = QUICK, **options: Any) -> Iterator[uvicorn.Server]:
    """The application behind quick limits."""
    known: dict[str, Any] = {"proxy_headers": False, "lifespan": "off"} | options
    with web_server(application, http=limited(limits), ws="none", **known) as server:
        yield server


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server with quick limits."""
    with running() as server:
        yield port_of(server)


def connected(port: int) -> socket.socket:
    """A connection that gives up reading after a fifth of a second."""
    client = socket.create_connection(("127.0.0.1", port))
    client.settimeout(0.2)
    return client


def dripped(client: socket.socket, drop: bytes) -> tuple[bytes, float]:
    """What the server says while it is sent a drop now and then, and after how long it ends that."""
    began, received = time.monotonic(), b""
    while time.monotonic() - began < PATIENCE_S:
        try:
            if drop:
                client.sendall(drop)
            got = client.recv(65_536)
        except TimeoutError:
            continue
        except OSError:
            break
        if not got:
            break
        received += got
    return received, time.monotonic() - began


@pytest.mark.parametrize(
    ("begins", "drop", "answer"),
    [
        (b"", b"", b"HTTP/1.1 408 "),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"a", b"HTTP/1.1 408 "),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", b"a", b"HTTP/1.1 408 "),
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1\r\na\r\n",
            b"HTTP/1.1 408 ",
        ),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n", b"HTTP/1.1 200 "),
    ],
    ids=["nothing", "slow headers", "slow body", "slow chunks", "empty lines after an answer"],
)
def test_a_client_that_does_not_finish_its_request_is_given_up(
    port: int, begins: bytes, drop: bytes, answer: bytes
) -> None:
    """However often it sends a little more."""
    with connected(port) as client:
        client.sendall(begins)
        received, took_s = dripped(client, drop)

    assert received.startswith(answer)
    assert took_s < PATIENCE_S / 2


def test_headers_without_end_are_refused(port: int) -> None:
    """At a size, not only after a time."""
    with connected(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        received, _ = dripped(client, b"X-A: " + b"a" * 4_000 + b"\r\n")

    assert received.startswith(b"HTTP/1.1 431 ")


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("begins", "drop"),
    [(CHUNKED + b"0\r\n", b"X-A: b\r\n"), (CHUNKED + b"0\r\nX-A: ", b"a"), (CHUNKED + b"1;", b"a=b;")],
    ids=["trailers", "a trailer", "an extension of a chunk"],
)
def test_what_stands_around_a_body_has_a_size(port: int, begins: bytes, drop: bytes) -> None:
    """A parser keeps trailers until the end, at twelve bytes of memory for each."""
    with connected(port) as client:
        client.sendall(begins)
        received, took_s = dripped(client, drop * 1_000)

    assert received.startswith(b"HTTP/1.1 431 ") or not received  # it was still being sent to
    assert took_s < QUICK.body_s


def test_headers_behind_a_request_whose_answer_is_not_read_have_a_size(port: int) -> None:
    """The connection waits for no request then."""
    with connected(port) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nX-A: ")
        with pytest.raises(OSError):  # it is not read any more, or was ended
            client.sendall(b"a" * 20_000_000)


def test_of_requests_that_are_sent_at_once_the_first_is_answered(port: int) -> None:
    """Then the connection ends: clients repeat the others on a new one, and none costs memory meanwhile."""
    with connected(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 1_000)
        received, took_s = dripped(client, b"")

    assert (received.count(b"HTTP/1.1 "), received.count(b"HTTP/1.1 200 ")) == (1, 1)
    assert took_s < QUICK.headers_s


def test_bodies_that_do_not_come_make_room(port: int) -> None:
    """The one that has waited longest for its body, when no other waits for a request."""
    with ExitStack() as held:
        clients = [held.enter_context(connected(port)) for _ in range(QUICK.per_address)]
        for client in clients:
            client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
        time.sleep(0.2)
        answer = httpx2.get(f"http://127.0.0.1:{port}/", trust_env=False)

    assert answer.status_code == 200


def test_a_slow_upload_that_keeps_its_pace_is_taken(port: int) -> None:
    """It may last far longer than the time for a body without bytes."""
    with connected(port) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6000\r\n\r\n")
        received, began, sent = b"", time.monotonic(), 0
        while not received:
            if sent < 6_000:
                client.sendall(b"a" * 300)
                sent += 300
            try:
                received = client.recv(65_536)
            except TimeoutError:
                continue

    assert received.startswith(b"HTTP/1.1 200 ")
    assert time.monotonic() - began > QUICK.body_s


def test_a_client_that_does_not_read_its_answer_is_given_up() -> None:
    """The answer stands in the server's memory no longer than the limit."""
    impatient = dataclasses.replace(QUICK, stall_s=1)
    with running(impatient) as server, connected(port_of(server)) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        assert read_some(client).startswith(b"HTTP/1.1 200 ")
        eventually(lambda: not server.server_state.connections, "the server to end the connection")


def test_a_connection_that_is_closed_behind_an_unread_answer_ends() -> None:
    """It waits for its client no longer than others, and counts as one of its address."""
    impatient = dataclasses.replace(QUICK, stall_s=3)
    with running(impatient) as server, connected(port_of(server)) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        assert read_some(client).startswith(b"HTTP/1.1 200 ")
        client.sendall(b"GET / HTTP/1.1\r\nX-A: " + b"a" * 9_000)
        eventually(lambda: any(each.transport.is_closing() for each in connections(server)), "the refusal")
        assert [each.is_open for each in connections(server)] == [True]
        eventually(lambda: not connections(server), "the server to end the connection")


def connections(server: uvicorn.Server) -> list[Any]:
    """Those of a server."""
    return list(server.server_state.connections)


def ended(client: socket.socket) -> bool:
    """Whether the other side has ended a connection, without reading from it."""
    state = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state != 1  # TCP_ESTABLISHED


def still_open(clients: list[socket.socket]) -> int:
    """How many connections the other side has not ended."""
    return sum(not ended(client) for client in clients)


@pytest.mark.parametrize("begins", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n"], ids=["silent", "half a request"])
def test_one_address_holds_a_few_connections_and_is_answered_on_another(port: int, begins: bytes) -> None:
    """The oldest that waits for a request makes room."""
    with ExitStack() as held:
        clients = [held.enter_context(connected(port)) for _ in range(30)]
        for client in clients:
            try:
                client.sendall(begins)
            except OSError:
                continue
        answer = httpx2.get(f"http://127.0.0.1:{port}/", trust_env=False)
        eventually(lambda: still_open(clients) < QUICK.per_address, "the first connections to end")

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "::ffff:203.0.113.9"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_limits_count_the_network_of_an_ipv6_address(address: str, network: str) -> None:
    """An IPv4 address in the form of IPv6 is a client of its own."""
    assert client_network(address) == network


def test_connections_that_are_being_answered_are_not_closed_for_others(port: int) -> None:
    """When there is no room, the newest is refused with Retry-After."""
    with ExitStack() as held:
        clients = [held.enter_context(connected(port)) for _ in range(QUICK.per_address)]
        for client in clients:
            client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        for client in clients:
            assert read_some(client).startswith(b"HTTP/1.1 200 ")
        late = held.enter_context(connected(port))
        received, _ = dripped(late, b"")

    assert received.startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: 5" in received


def read_some(client: socket.socket) -> bytes:
    """The first bytes of an answer."""
    client.settimeout(PATIENCE_S)
    return client.recv(100)


def answer_to_large(client: socket.socket) -> bytes:
    """The first bytes of the large answer; none over a connection that was ended at once."""
    try:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        return read_some(client)
    except ConnectionError:
        return b""


@pytest.mark.parametrize(("trusted", "answered"), [("127.0.0.1", 12), ("192.0.2.1", 8)])
def test_a_trusted_proxy_may_hold_the_connections_of_many_clients(trusted: str, answered: int) -> None:
    """Only the limit of all connections is its own; another address gets no more for claiming to be one."""
    with running(proxy_headers=True, forwarded_allow_ips=trusted) as server, ExitStack() as held:
        clients = [held.enter_context(connected(port_of(server))) for _ in range(12)]
        answers = [answer_to_large(client)[:12] for client in clients]

    assert answers.count(b"HTTP/1.1 200") == answered


def test_half_open_connections_do_not_stay_at_the_review_server(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """Of 300 a few are held, pages are answered meanwhile, soon none is left, and no fault is logged."""
    with serving(database_url, redis_url, tmp_path / "log") as url, ExitStack() as held:
        with connected(urlsplit(url).port or 0) as left:
            left.sendall(b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n")
            left.sendall(b"Content-Type: application/x-www-form-urlencoded\r\n\r\na=b")
        clients = [held.enter_context(connected(urlsplit(url).port or 0)) for _ in range(300)]
        for client in clients[200:]:
            client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        assert httpx2.get(f"{url}/healthz", trust_env=False).status_code == 200
        eventually(lambda: still_open(clients) <= Limits().per_address, "most connections to end")
        eventually(lambda: still_open(clients) == 0, "all connections to end")

    assert '"level": "error"' not in (tmp_path / "log").read_text()


@dataclass(frozen=True, slots=True, kw_only=True)
class Editor:
    """A person with a browser of their own who edits the documents of one account."""

    address: str
    account: str
    cookie: str

    def upload(self, data: bytes) -> int:
        """Hand in a Markdown file; the status of the answer."""
        page = f"{self.address}/accounts/{self.account}/documents"
        with httpx2.Client(headers={"Cookie": self.cookie}, timeout=120, trust_env=False) as client:
            token = CSRF.search(client.get(page).text)
            assert token is not None
            file = {"file": ("slow.md", data, "text/markdown")}
            return client.post(page, data={"csrf": token[1]}, files=file).status_code


@pytest.fixture
def editors(
    database_url: str, stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Editor, Editor]]:
    """Editors of two accounts."""
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO ai_rules (user_id, version) VALUES ('slow', 1), ('quick', 1)")
    people = {name: add_person(database_url, Role.RULE_EDITOR, account=name) for name in ("slow", "quick")}
    with serving(database_url, stack.redis_url, tmp_path_factory.mktemp("uploads") / "log") as address:
        slow, quick = (
            Editor(address=address, account=name, cookie=cookie_of(database_url, person))
            for name, person in people.items()
        )
        yield slow, quick


def test_an_account_with_slow_documents_does_not_hold_up_another(editors: tuple[Editor, Editor]) -> None:
    """Three uploads of one account are under way; one of another account is stored meanwhile."""
    slow, quick = editors
    with ThreadPoolExecutor(4) as threads:
        held: list[Future[int]] = [threads.submit(slow.upload, SLOW + b"%d" % number) for number in range(3)]
        try:
            eventually(lambda: bool(reader_processes()), "a slow document to be read")
            stored = quick.upload(b"# Hours\n\nOpen at nine.")
            under_way = [each for each in held if not each.done()]
            reading = len(reader_processes())
        finally:
            while not all(each.done() for each in held):
                kill_readers()

    assert stored == 303
    assert (len(under_way), reading) == (3, 1)
    assert [each.result() for each in held] == [422] * 3
