"""Plain text: blank lines separate paragraphs."""

from __future__ import annotations

import re
from typing import Final

from worker.documents.cleaning import clean_text
from worker.documents.model import Block, ParsedDocument

BLANK_LINE: Final = re.compile(r"\n[^\S\n]*\n")


def parse_plain_text(text: str) -> ParsedDocument:
    """Paragraphs with their line breaks; plain text has no title."""
    parts = (part.strip() for part in BLANK_LINE.split(clean_text(text)))
    return ParsedDocument(title="", blocks=tuple(Block(text=part) for part in parts if part))
