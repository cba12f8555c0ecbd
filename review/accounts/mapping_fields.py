"""The form fields of settings that map names to texts: rows by language, and lines of name and value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import FormData

from review.languages import gettext as _
from worker.statement_grounds import EXAMPLE

ROWS: Final[Mapping[str, str]] = {
    "fallback_texts": "fallback",
    "disclosure_texts": "disclosure",
    "handoff_texts": "handoff",
    "handoff_texts_closed": "handoff_closed",
}
"""Settings with a text by language -> prefix of the names of their form fields."""
LINES: Final[Mapping[str, str]] = {
    "escalation_actions": "NO_ANSWER = escalate",
    "escalation_queues": "label:language=de = german",
    "business_hours": "mon = 09:00-12:00, 13:00-17:00",
    "statement_grounds": f"FLAGGED_RULE = {EXAMPLE}",
}
"""Settings with one line for each pair -> an example; the form field has the setting's name."""
EMPTY_ROWS: Final = 2
MOST_ROWS: Final = 100
LINE_END: Final = re.compile(r"\r\n?")


def text_rows(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """The rows of stored texts, with empty ones for further texts."""
    return [*texts.items(), *[("", "")] * EMPTY_ROWS]


def typed_rows(form: FormData, prefix: str) -> list[tuple[str, str]]:
    """Language and text of each submitted row."""
    languages, texts = form.getlist(f"{prefix}_language"), form.getlist(f"{prefix}_text")
    return [
        (str(language).strip(), LINE_END.sub("\n", str(text)))
        for language, text in list(zip(languages, texts, strict=False))[:MOST_ROWS]
    ]


def row_values(errors: dict[str, str], name: str, rows: list[tuple[str, str]]) -> dict[str, str]:
    """The texts of rows that are not empty; a language that comes twice is an error."""
    found: dict[str, str] = {}
    for language, text in rows:
        if not language and not text.strip():
            continue
        if language in found:
            errors[name] = _("expected each language once, got %(got)s twice") % {"got": repr(language)}
        found[language] = text
    return found


def lines_text(pairs: Mapping[str, str]) -> str:
    """The lines of stored pairs."""
    return "\n".join(f"{name} = {value}" for name, value in pairs.items())


def line_values(errors: dict[str, str], name: str, text: str) -> dict[str, str]:
    """The pairs of lines; the last ``=`` of a line ends its name, since a label has one too."""
    found: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        key, sign, value = (part.strip() for part in line.rpartition("="))
        if not sign or not key:
            errors[name] = _("expected lines such as %(example)s, got %(got)s") % {
                "example": LINES[name],
                "got": repr(line[:40]),
            }
        elif key in found:
            errors[name] = _("expected each name once, got %(got)s twice") % {"got": repr(key)}
        found[key] = value
    return found
