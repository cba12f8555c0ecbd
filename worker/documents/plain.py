"""Plain text: paragraphs are what blank lines part."""

from __future__ import annotations

import re
from typing import Final

from worker.documents.cleaning import clean
from worker.documents.model import Block, Parsed

BLANK_LINE: Final = re.compile(r"\n[^\S\n]*\n")


def parsed(text: str) -> Parsed:
    """Paragraphs with their line breaks kept; plain text names no title."""
    parts = (part.strip() for part in BLANK_LINE.split(clean(text)))
    return Parsed(title="", blocks=tuple(Block(text=part) for part in parts if part))
