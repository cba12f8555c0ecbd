"""Text that Postgres, ICU and a terminal can all take."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

UNWANTED: Final = re.compile("[\x00\u00ad\ufeff]")
CONTROL: Final = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f]")
SURROGATE: Final = re.compile("[\ud800-\udfff]")
BLANKS: Final = re.compile(r"[^\S\n]+")
CJK: Final = (
    "\u2e80-\u2fdf\u3000-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
)
CJK_FOLD: Final = re.compile(f"(?<=[{CJK}])\\s*\n\\s*(?=[{CJK}])")


def clean(text: str) -> str:
    """NFC text with line feeds only: no NUL, no lone surrogate, no control but tab and line feed."""
    text = UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = SURROGATE.sub("\ufffd", CONTROL.sub(" ", text))
    return unicodedata.normalize("NFC", text)


def one_line(text: str) -> str:
    """A paragraph without the line breaks of its source; between Han or kana they stood for nothing."""
    return " ".join(CJK_FOLD.sub("", text).split())


def lines(text: str) -> str:
    """The same lines, runs of blanks made one, blank lines gone."""
    kept = (BLANKS.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in kept if line)
