"""The title that a document names for itself, unless a tool named it."""

from __future__ import annotations

import re
from typing import Final

from worker.documents.cleaning import single_line

PROGRAM: Final = re.compile(
    r"^(?:Microsoft (?:Word|Excel|PowerPoint|Office Word)|Print|Druck)\s*[-–]\s*", re.IGNORECASE
)
FILE_NAME: Final = re.compile(
    r".*\.(?:docx?|dotx?|xlsx?|xlsm|pptx?|odt|ods|rtf|indd|qxd|pdf|html?|mhtml|txt|md|pages|numbers|ai|psd|csv)",
    re.IGNORECASE,
)
UNNAMED: Final = re.compile(
    r"\(?(?:untitled|anonymous|unbenannt|ohne titel|sans titre|sin título|senza titolo|naamloos|document"
    r"|dokument|documento|page"
    r"|new page|book|mappe|workbook|worksheet|sheet|slide|präsentation|presentation|powerpoint[- ]\w+|home"
    r"|index|title)"
    r"(?:[ _-]?(?:document|dokument|page|spreadsheet|presentation))?[ _-]?\d*\)?",
    re.IGNORECASE,
)
LONGEST: Final = 1_000
JOINED_NAME: Final = re.compile(
    r"[\w-]*_[\w-]*|[\w-]*_?(?:final|draft|entwurf|v\d+)(?:[_-]?v?\d+)?", re.IGNORECASE
)


def own_title(text: str) -> str:
    """A document's own title; empty when it is the name of a file, of a program or no name."""
    title = PROGRAM.sub("", single_line(text[:LONGEST]))
    for pattern in (FILE_NAME, UNNAMED, JOINED_NAME):
        if pattern.fullmatch(title):
            return ""
    return title if "://" not in title else ""
