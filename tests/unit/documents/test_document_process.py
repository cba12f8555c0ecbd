"""A document is read, and a page made a picture, in a process of its own, which ends at its limits."""

from __future__ import annotations

import asyncio
import struct
import sys
import time
import zlib
from pathlib import Path

import pytest

from review.accounts.documents_page import MOST_BYTES
from tests.support.pdf_files import Line, Text, pdf
from tests.support.reader_processes import reader_processes
from worker.adapters import document_process
from worker.adapters.document_process import Names
from worker.documents.model import DocumentFormat
from worker.errors import DocumentRejected
from worker.settings import SECRETS

FILES = Path(__file__).parents[2] / "fixtures" / "documents"
SLOW = b"![[" * 350_000
"""A megabyte of images that never end: minutes of work."""


@pytest.mark.parametrize(
    ("data", "kind", "title"),
    [
        (b"# Own\n\ntext", DocumentFormat.MARKDOWN, "Own"),
        (b"<title>Own</title><p>text", DocumentFormat.HTML, "Own"),
        (b"text", DocumentFormat.TEXT, "named so"),
        ((FILES / "handbook.pdf").read_bytes(), DocumentFormat.PDF, "Customer handbook"),
    ],
)
async def test_every_format_is_read_and_cut(data: bytes, kind: DocumentFormat, title: str) -> None:
    """The document's own title counts, else the name it came under."""
    found = await document_process.cut(data, kind, Names(otherwise="named so"))

    assert (found.title, found.chunks[0].number) == (title, 1)
    assert found.chunks[0].text


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\n\n- We deliver on Monday.\nFree from 50 EUR.", "We deliver on Monday."),
        ("***\n\n1. Chúng tôi   giao hàng thứ hai.", "Chúng tôi giao hàng thứ hai."),
        (f"{'word ' * 15}longest ending of a line", f"{'word ' * 15}".strip() + "…"),
        ("一" * 200, "一" * 80 + "…"),
    ],
)
async def test_a_text_without_a_title_has_its_first_line(text: str, title: str) -> None:
    """Without list marks, at most 80 characters of whole words, also above each of its passages."""
    found = await document_process.cut(text.encode(), DocumentFormat.TEXT, Names())

    assert (found.title, found.chunks[0].title) == (title, title)


async def test_a_reader_gets_no_secret_of_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers, keys and passwords stay with the parent; the reader works without them."""
    secrets = {*SECRETS, "POSTGRES_PASSWORD", "REDIS_PASSWORD", "AWS_SECRET_ACCESS_KEY", "LCX_TOKEN"}
    for name in secrets:
        monkeypatch.setenv(name, "s3cr3t")
    monkeypatch.setenv("LC_TIME", "C.UTF-8")
    seen, python = tmp_path / "environment", tmp_path / "python"
    python.write_text(f'#!/bin/sh\nenv > "{seen}"\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))

    pdf = (FILES / "handbook.pdf").read_bytes()
    found = await document_process.cut(pdf, DocumentFormat.PDF, Names())
    environment = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)

    assert found.title == "Customer handbook"
    assert {"DATABASE_URL", "REDIS_URL", "OPENAI_API_KEY", "OPENROUTER_API_KEY"} <= secrets
    assert environment.keys().isdisjoint(secrets)
    assert "s3cr3t" not in seen.read_text()
    assert environment["LC_TIME"] == "C.UTF-8"


@pytest.mark.slow
async def test_a_document_of_the_largest_upload_is_read_within_the_memory_limit() -> None:
    """20 MB of HTML with many elements."""
    element = b"<div class='a b c'><p>lorem ipsum dolor <b>sit</b> amet</p></div>\n"
    content = element * (MOST_BYTES // len(element))
    found = await document_process.cut(content, DocumentFormat.HTML, Names(), limit_s=600)

    assert len(found.chunks) > 1000


@pytest.mark.slow
async def test_a_reader_that_takes_too_long_is_stopped_and_named() -> None:
    """What came and the limit are said; no process is left, and the caller's loop went on meanwhile."""
    reading = asyncio.create_task(document_process.cut(SLOW, DocumentFormat.MARKDOWN, Names(), limit_s=1))
    longest, last = 0.0, time.monotonic()
    while not reading.done():
        await asyncio.sleep(0.01)  # the loop's own pulse
        longest, last = max(longest, time.monotonic() - last), time.monotonic()

    with pytest.raises(DocumentRejected, match=r"\(markdown, 1,050,000 bytes\) took longer than 1 s"):
        await reading
    assert longest < 1
    assert not reader_processes()


async def test_a_refusal_of_a_reader_is_its_own_sentence() -> None:
    """As if it had been read here."""
    with pytest.raises(DocumentRejected, match="holds no text"):
        await document_process.cut(b" ", DocumentFormat.TEXT, Names())


@pytest.mark.slow
async def test_a_document_with_too_much_text_is_refused_with_its_length() -> None:
    """The length and the limit are said."""
    with pytest.raises(DocumentRejected, match="holds 10,000,001 characters, the limit is 10,000,000"):
        await document_process.cut(b"a" * 10_000_001, DocumentFormat.TEXT, Names())


TWO_PAGES = pdf([Line(100, 742, 500, 742)], [Text(100, 100, "Page two")])


def pixels(png: bytes) -> tuple[int, int, bytes]:
    """Width, height and the rows of a picture, each without its filter byte."""
    width, height = struct.unpack(">II", png[16:24])
    at, packed = 8, b""
    while at < len(png):
        size = int.from_bytes(png[at : at + 4])
        kind, part = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert int.from_bytes(png[at + 8 + size : at + 12 + size]) == zlib.crc32(kind + part)
        packed += part if kind == b"IDAT" else b""
        at += 12 + size
    rows = zlib.decompress(packed)
    step = 1 + 3 * width
    return width, height, b"".join(rows[start + 1 : start + step] for start in range(0, len(rows), step))


async def test_a_page_is_drawn_as_it_looks() -> None:
    """The line of the first page is dark where it stands, and all else is white."""
    width, height, shown = pixels(await document_process.picture(TWO_PAGES, 1))
    dark = {at // 3 // width / height for at in range(0, len(shown), 3) if shown[at] < 200}

    assert (width, len(shown)) == (900, 3 * width * height)
    assert dark
    assert min(dark) > (842 - 745) / 842 > 0.1
    assert max(dark) < (842 - 739) / 842


@pytest.mark.parametrize(
    ("data", "number", "reason"),
    [
        (TWO_PAGES, 3, "has no page 3"),
        (TWO_PAGES, 0, "has no page 0"),
        (b"", 1, "has no picture of page 1"),
        ((FILES / "locked.pdf").read_bytes(), 1, "has no picture of page 1"),
    ],
)
async def test_a_page_that_cannot_be_drawn_is_refused(data: bytes, number: int, reason: str) -> None:
    """With the reason."""
    with pytest.raises(DocumentRejected, match=reason):
        await document_process.picture(data, number)


async def test_a_huge_page_is_a_small_picture() -> None:
    """The size of a page is untrusted: 200 by 0.1 inches, and 200 by 200."""
    for size in (b"[0 0 14400 7]", b"[0 0 14400 14400]", b"[0 0 7 14400]"):
        data = TWO_PAGES.replace(b"[0 0 595 842]", size)
        width, height, _ = pixels(await document_process.picture(data, 1))

        assert 1 <= width <= 901
        assert 1 <= height <= 3_001
