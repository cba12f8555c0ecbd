"""The signs of Markdown and HTML that people do not see, and line breaks inside words."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Final

from worker.displayed.edits import Edit

SIGNS: Final = re.compile(r"[*_~|`<\[&^]")
TOKEN: Final = re.compile(
    r"(?P<comment><!--(?:(?!-->).){0,200}-->)"
    r"|(?P<tag></?[a-zA-Z][a-zA-Z-]{0,20}(?:\s[^<>]{0,200})?/?>)"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|shy|zwnj|zwj);)"
    r"|\[(?P<label>[^\[\]\n]{1,80})\]\([^()\s]{0,300}\)"
    r"|(?P<pair>\*+|_+|~{1,2}|\|\||`{1,3}|>!|!<)"
    r"|(?P<raise>(?<=\w)\^(?=\w))",
    re.DOTALL,
)
BLOCK_TAG: Final = re.compile(
    r"</?(?:p|div|br|li|ul|ol|td|th|tr|table|h[1-6]|blockquote|pre)\b", re.IGNORECASE
)
"""Tags that separate words on the page."""
LINE_END: Final = re.compile(r"[\n\v\f\r\x85\u2028\u2029]")
BREAK: Final = re.compile(
    r"(?<=[^\W\d_]{2})[-\u2010\u00ad]?[ \t]*"
    r"(?:\r?[\n\v\f\x85\u2028\u2029]|\r)[ \t]*(?=[^\W\d_]{2})"
)
OPENED_BY: Final = {"!<": ">!"}


def markup_edits(text: str) -> Sequence[Edit]:
    """The removal of signs that format a text; pairs only where Markdown would read them as such."""
    if SIGNS.search(text) is None:
        return ()
    edits: list[Edit] = []
    opened: dict[str, tuple[int, int]] = {}
    for found in TOKEN.finditer(text):
        if sign := found["pair"]:
            edits += _paired(text, sign, found.span(), opened)
        else:
            edits += _single(found)
    return sorted(edits, key=lambda edit: edit.start)


def _paired(text: str, sign: str, span: tuple[int, int], opened: dict[str, tuple[int, int]]) -> list[Edit]:
    """Both signs of a pair once its second one is reached."""
    start, end = span
    before, after = text[start - 1 : start], text[end : end + 1]
    begin = OPENED_BY.get(sign, sign)
    underscore = sign[0] == "_"
    closes = bool(before.strip()) and not (underscore and after.isalnum())
    if closes and begin in opened:
        first = opened.pop(begin)
        return [Edit(start=first[0], end=first[1]), Edit(start=start, end=end)]
    if after.strip() and not (underscore and before.isalnum()):
        opened[sign] = span
    return []


def _single(found: re.Match[str]) -> Iterator[Edit]:
    start, end = found.span()
    if label := found["label"]:
        at = found.start("label")
        yield Edit(start=start, end=at)
        yield Edit(start=at + len(label), end=end)
    elif entity := found["entity"]:
        sign = html.unescape(entity)
        yield Edit(start=start, end=end, text=sign, places=[start] * len(sign))
    elif found["tag"] and BLOCK_TAG.match(found["tag"]):
        yield Edit(start=start, end=end, text=" ", places=[start])
    else:
        yield Edit(start=start, end=end)


def break_edits(text: str) -> Sequence[Edit]:
    """The removal of line breaks between letters."""
    if LINE_END.search(text) is None:
        return ()
    return [Edit(start=found.start(), end=found.end()) for found in BREAK.finditer(text)]
