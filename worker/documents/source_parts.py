"""Texts of a document's source, one for each sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from worker.documents.sentences import sentence_spans

LINE_CHARS: Final = 20_000
"""Longer lines of a source are cut; each sentence of the others is compared with the passages."""
MARKUP: Final = re.compile(r"\]\([^)\s]{0,1000}\)|<[^<>]{1,500}>")
STRUCK: Final = re.compile(r"(~~[^~]+~~)")


@dataclass(frozen=True, slots=True)
class SourcePart:
    """A text of the source, and its form in the passage where that differs, such as a number's form."""

    text: str
    shown: str = ""


def sentence_parts(line: str, *, is_markup: bool = False) -> Iterator[SourcePart]:
    """The sentences of a line, struck parts apart; ``shown`` is without markup."""
    line = line[:LINE_CHARS]
    for whole in STRUCK.split(line) if is_markup else (line,):
        for start, end in sentence_spans(whole):
            part = whole[start:end]
            yield SourcePart(part, MARKUP.sub(" ", part) if is_markup else "")
