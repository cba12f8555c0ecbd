"""Web pages saved as one file (MHTML): the page among its parts, with its style sheets."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage
from typing import Final

from worker.documents import html
from worker.documents.model import DocumentFormat, ParsedDocument
from worker.documents.reading import decoded_as_web, decoded_text
from worker.errors import DocumentRejected

PAGE: Final = ("text/html", "application/xhtml+xml")
SHEETS_CHARS: Final = 2_000_000


def parse_mhtml(data: bytes) -> ParsedDocument:
    """The text of a saved page.

    Raises:
        DocumentRejected: no part is a page, or its text cannot be decoded.
    """
    return html.parse_html(page_of(data))


def page_of(data: bytes) -> str:
    """The HTML of a saved page, with its style sheets behind it.

    Raises:
        DocumentRejected: no part is a page, or its text cannot be decoded.
    """
    message = email.message_from_bytes(data, policy=email.policy.default)
    pages = [part for part in message.walk() if part.get_content_type() in PAGE]
    if not pages:
        raise DocumentRejected("holds no page: save it again as a web page, or print it to PDF")
    sheets = [_text(part) for part in message.walk() if part.get_content_type() == "text/css"]
    style = "\n".join(sheets)[:SHEETS_CHARS].replace("<", " ")
    return f"{_text(pages[0])}<style>{style}</style>"


def _text(part: EmailMessage) -> str:
    data = part.get_payload(decode=True)
    data = data if isinstance(data, bytes) else b""
    charset = part.get_content_charset()
    if charset is None:
        return decoded_text(data, DocumentFormat.HTML)
    try:
        return decoded_as_web(data, charset)
    except (UnicodeError, LookupError) as error:
        raise DocumentRejected(f"is not {charset}: save the page again") from error
