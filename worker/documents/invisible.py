"""Characters without a picture of their own: what they carry is hidden, and no knowledge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from worker.displayed.carriers import FLAG, SELECTORS, TAGS, ZERO_WIDTH, carried_texts
from worker.documents.model import Block, Note, NoteCode, ParsedDocument

NEVER_SEEN: Final = re.compile(
    f"(?P<flag>{FLAG.pattern})|[{TAGS}]|[{SELECTORS}]{{2,}}|[\u00ad\u180e\u200b\u2060-\u2064\ufeff\u202d\u202e]"
)
"""Joiners and marks of direction are not among them: scripts and emoji need them."""
CODED: Final = re.compile(f"[{ZERO_WIDTH}]")
EXAMPLE_CHARS: Final = 120


def without_invisible(document: ParsedDocument) -> ParsedDocument:
    """The document without such characters; with a note of the texts that they carried."""
    if document.text.isascii():
        return document
    carried = [text for block in document.blocks for text in carried_texts(block.text) if text.strip()]
    blocks = tuple(_seen(document.blocks))
    if not carried:
        return replace(document, blocks=blocks)
    examples = tuple(text[:EXAMPLE_CHARS] for text in carried[:5])
    note = Note(code=NoteCode.HIDDEN, count=len(carried), examples=examples)
    return replace(document, blocks=blocks, notes=(*document.notes, note))


def _seen(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        lines = [_seen_line(line) for line in block.text.split("\n")]
        text = "\n".join(lines)
        named = block.text[: block.head].count("\n")
        if text.strip():
            yield replace(block, text=text, head=sum(len(line) + 1 for line in lines[:named]))


def _seen_line(line: str) -> str:
    if line.isascii():
        return line
    plain = CODED.sub("", line) if carried_texts(line) else line
    return NEVER_SEEN.sub(lambda found: found["flag"] or "", plain)
