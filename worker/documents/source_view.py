"""The plain text of a document's source beside its passages, with what no passage holds marked.

It shows what is in the file and judges nothing: hidden, struck and repeated texts are in it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from worker.documents.cleaning import clean_text
from worker.documents.model import DocumentFormat, SourceText
from worker.documents.reading import decoded_text
from worker.documents.source_parts import SourcePart, sentence_parts
from worker.errors import DocumentRejected

TELLING: Final = 12
"""Letters and digits of a text that cannot stand in the next passage by chance."""
AHEAD: Final = 3
EDGE: Final = 60


def source_beside(data: bytes, kind: DocumentFormat, passages: Sequence[str]) -> list[list[SourceText]]:
    """The source's texts beside each of all its passages, in order.

    A text that no passage holds stands with the passage before it.

    Raises:
        DocumentRejected: the document cannot be decoded or read, or has no plain text.
    """
    keys = [_key(passage) for passage in passages]
    found: list[list[SourceText]] = [[] for _ in passages]
    at = 0
    for line in _lines(data, kind):
        parts = _solid(line)
        for number, part in enumerate(parts, 1):
            key = _key(part.shown or part.text)
            place = at if not key or at >= len(keys) or _holds(keys[at], key) else _ahead(keys, at, key)
            at = at if place is None else place
            if at < len(found):
                left_out = place is None
                text = SourceText(text=part.text, is_left_out=left_out, ends_line=number == len(parts))
                found[at].append(text)
    return found


def _solid(line: Sequence[SourcePart]) -> list[SourcePart]:
    """A line's texts; white space belongs to the text before it."""
    found: list[SourcePart] = []
    for part in line:
        if part.text.strip():
            found.append(part)
        elif found and part.text:
            found[-1] = replace(found[-1], text=found[-1].text.rstrip() + " ")
    return found


def _ahead(keys: Sequence[str], at: int, key: str) -> int | None:
    """Number of the next passage that holds a text; None without such a passage."""
    for place in range(at + 1, min(at + 1 + AHEAD, len(keys))):
        if _holds(keys[place], key):
            return place if len(key) >= TELLING or keys[place].startswith(key) else at
    return None


def _holds(passage: str, key: str) -> bool:
    """Whether a passage holds a text, or, as it was cut, its beginning or end."""
    return key in passage or (len(key) > 2 * EDGE and (key[:EDGE] in passage or key[-EDGE:] in passage))


def _key(text: str) -> str:
    """Letters and digits only, without differences of form."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _lines(data: bytes, kind: DocumentFormat) -> Iterator[list[SourcePart]]:
    match kind:
        case DocumentFormat.HTML | DocumentFormat.MHTML | DocumentFormat.DOCX | DocumentFormat.XLSX:
            from worker.documents.source_markup import markup_lines  # noqa: PLC0415  # large libraries
            from worker.documents.zipped import DAMAGED  # noqa: PLC0415  # likewise

            try:
                yield from markup_lines(data, kind)
            except DAMAGED as error:
                raise DocumentRejected("is damaged") from error
        case DocumentFormat.PDF:
            raise DocumentRejected("is shown as pictures of its pages")
        case _:
            yield from _text_lines(decoded_text(data, kind), is_markup=kind is DocumentFormat.MARKDOWN)


def _text_lines(text: str, *, is_markup: bool) -> Iterator[list[SourcePart]]:
    for line in clean_text(text).splitlines():
        yield list(sentence_parts(line, is_markup=is_markup))
