"""Characters that neither Postgres nor the JSON parser inside Redis accepts."""

from __future__ import annotations

import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
ESCAPED_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
ESCAPE: Final = re.compile(
    rb"(?P<whole>\\[^u]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
HALF: Final = re.compile("[\ud800-\udfff]")
MARK: Final = b"\xef\xbb\xbf"
"""The byte order mark that some libraries write first."""


def whole_characters(payload: bytes) -> bytes:
    r"""A payload with U+FFFD for each half of a surrogate pair, escaped (``\ud83d``) or as three bytes.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    payload = payload.removeprefix(MARK)
    if ESCAPED_HALF.search(payload):
        payload = ESCAPE.sub(lambda found: found["whole"] or rb"\ufffd", payload)
    try:
        payload.decode()
    except UnicodeDecodeError as error:
        return _whole(_with_halves(payload, error)).encode()
    return payload


def whole_text(text: str) -> str:
    """A text with U+FFFD for each half of a surrogate pair and for NUL."""
    return _whole(text).replace("\0", REPLACEMENT)


def _with_halves(payload: bytes, error: UnicodeDecodeError) -> str:
    try:
        return payload.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise error from None


def _whole(text: str) -> str:
    """Two halves side by side, as CESU-8 writes them, are one character."""
    if HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
