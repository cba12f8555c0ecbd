"""The file of an export over a real socket: whole for every client, and an error when it is cut."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, IncompleteRead
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
from redis import Redis

from cli.stack import Stack
from db.people.records import Person, Role
from review.lists.export_layout import Form
from tests.integration.test_cli import MANY
from tests.support.browser.serving import serving
from tests.support.exporting import cookie_of, finished_export
from tests.support.reviewing import add_person

ROWS = 4_500
"""Three pieces: two whole ones and a part of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Served pages, and a person who may fetch exports from them."""

    address: str
    cookie: str
    person: Person
    database_url: str

    def export(self, form: Form) -> str:
        """The address of the file of a new export of all rows."""
        job_id = finished_export(self.database_url, self.person, form, account="many")
        return f"{self.address}/jobs/{job_id}/file"

    def lose_part(self, url: str, number: int) -> None:
        """Delete one part of the export at this address."""
        with psycopg.connect(self.database_url) as connection:
            query = "DELETE FROM job_parts WHERE job_id = %s AND number = %s"
            connection.execute(query, (urlsplit(url).path.split("/")[2], number))


@pytest.fixture(scope="module")
def pages(database_url: str, stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """Pages over an audit of which an export takes three pieces."""
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
    with psycopg.connect(database_url) as connection:
        connection.execute(MANY, {"first": 0, "last": ROWS})
    person = add_person(database_url, Role.LEAD)
    log = tmp_path_factory.mktemp("downloads") / "log"
    with serving(database_url, stack.redis_url, log) as address:
        cookie = cookie_of(database_url, person)
        yield Pages(address=address, cookie=cookie, person=person, database_url=database_url)


@pytest.fixture(scope="module")
def csv_file(pages: Pages) -> str:
    """The address of a CSV export."""
    return pages.export(Form.CSV)


def events_in(text: str) -> list[str]:
    """The event of each row of a CSV export."""
    return [row["event_id"] for row in csv.DictReader(io.StringIO(text, newline=""))]


EVENTS = [str(number) for number in range(ROWS)]


def test_a_packed_export_reaches_httpx_whole(pages: Pages, csv_file: str) -> None:
    """Every row of every piece arrives once and in order, in as many bytes as were announced."""
    with httpx2.stream("GET", csv_file, headers={"Cookie": pages.cookie}, trust_env=False) as answer:
        raw = answer.headers["content-length"]
        text = answer.read().decode()

    assert answer.headers["content-encoding"] == "gzip"
    assert (answer.num_bytes_downloaded, events_in(text)) == (int(raw), EVENTS)


def test_an_export_as_it_is_and_a_packed_one_are_the_same_file(pages: Pages, csv_file: str) -> None:
    """Both lengths are announced exactly; nobody is invited to ask for a part of the file."""
    headers = {"Cookie": pages.cookie}
    plain = httpx2.get(csv_file, headers=headers | {"Accept-Encoding": "gzip;q=0"}, trust_env=False)
    packed = httpx2.get(csv_file, headers=headers | {"Accept-Encoding": "gzip"}, trust_env=False)

    assert "content-encoding" not in plain.headers
    assert int(plain.headers["content-length"]) == len(plain.content)
    assert packed.content == plain.content
    assert plain.headers["accept-ranges"] == packed.headers["accept-ranges"] == "none"
    assert "etag" not in packed.headers


@pytest.mark.parametrize(("form", "version"), [(Form.CSV, 10), (Form.NDJSON, 11)])
def test_every_row_is_downloaded(pages: Pages, form: Form, version: int) -> None:
    """Compressed, over HTTP/1.0 and 1.1."""
    body = download(pages.export(form), pages.cookie, version=version, encoding="gzip")
    lines = gzip.decompress(body).decode().splitlines()

    assert len(lines) == ROWS + (form is Form.CSV)


@pytest.mark.parametrize(
    ("number", "encoding", "version"),
    [(1, "identity", 10), (2, "gzip", 11), (3, "identity", 11), (3, "gzip", 10)],
)
def test_a_download_that_is_cut_is_an_error(pages: Pages, number: int, encoding: str, version: int) -> None:
    """A part that is missing ends the download with fewer bytes than announced."""
    url = pages.export(Form.NDJSON)
    pages.lose_part(url, number)

    with pytest.raises(IncompleteRead):
        download(url, pages.cookie, version=version, encoding=encoding)


def download(url: str, cookie: str, *, version: int, encoding: str) -> bytes:
    """What a client that takes this encoding gets over HTTP/1.0 or 1.1, as it was sent.

    Raises:
        IncompleteRead: the server sent less than it had announced.
    """
    address = urlsplit(url)
    with closing(HTTPConnection(address.netloc, timeout=60)) as connection:
        connection._http_vsn = version  # type: ignore[attr-defined]  # no public name
        connection._http_vsn_str = f"HTTP/{version // 10}.{version % 10}"  # type: ignore[attr-defined]
        headers = {"Host": address.netloc, "Cookie": cookie, "Accept-Encoding": encoding}
        connection.request("GET", address.path, headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.headers.get("Content-Encoding", "identity") == encoding
        return answer.read()
