"""Cleans text so that Postgres, ICU and terminals accept it."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

UNWANTED: Final = re.compile("[\x00\u00ad\ufeff]")
CONTROL: Final = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f]")
SURROGATE: Final = re.compile("[\ud800-\udfff]")
BLANKS: Final = re.compile(r"[^\S\n]+")
STRUCK: Final = re.compile("(?:[^\u0335\u0336][\u0335\u0336]+){2,}")
"""Characters, each with a stroke through it."""
CJK: Final = (
    "\u2e80-\u2fdf\u3000-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
)
CJK_FOLD: Final = re.compile(f"(?<=[{CJK}])(?<!\\s)[^\\S\n]*+\n\\s*+(?=[{CJK}])")
_LAST_MARK: Final = 0x1F000


@cache
def too_many_marks() -> re.Pattern[str]:
    """30 or more combining marks on one letter, which no script has (UAX 15): sorting more is quadratic.

    Made when a text needs them: making them takes 8 ms, of 35 for all that a reading process imports.
    """
    marks = "".join(char for char in map(chr, range(0x300, _LAST_MARK)) if unicodedata.combining(char))
    return re.compile(f"([{marks}]{{30}})[{marks}]++")


def clean_text(text: str) -> str:
    """NFC text with line feeds only: no NUL, no lone surrogate, no control except tab and line feed.

    Text whose characters are struck through one by one is left out.
    """
    text = UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = CONTROL.sub(" ", text)
    if text.isascii():  # the steps below change nothing in ASCII and take 0.5 s a million characters
        return text
    text = STRUCK.sub("", SURROGATE.sub("\ufffd", text))
    composed = unicodedata.normalize("NFC", too_many_marks().sub(r"\1", text))
    return too_many_marks().sub(r"\1", composed)  # NFC writes a few marks as two


def single_line(text: str) -> str:
    """A paragraph without the line breaks of its source; between Han or kana they leave no space."""
    return " ".join(CJK_FOLD.sub("", text).split())


def trimmed_lines(text: str) -> str:
    """The lines with runs of blanks joined to one and without blank lines."""
    kept = (BLANKS.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in kept if line)
