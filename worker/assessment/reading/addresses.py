"""Addresses of mail and web that a sentence names."""

from __future__ import annotations

import re
from typing import Final

_ADDRESS: Final = re.compile(
    r"(?:https?://|www\.)[^\s<>()\"'，。）]{1,200}"
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"
    r"|(?<![\w.@-])(?:[a-z0-9-]{1,63}\.){1,5}(?:com|net|org|info|biz|io|app|dev|shop|store|eu|example)(?![\w@-])"
    r"(?:/[^\s<>()\"']{0,200})?",
    re.IGNORECASE,
)
_PREFIX: Final = re.compile(r"^(?:https?://)?(?:www\.)?")


def missing_addresses(sentence: str, passages: str) -> list[str]:
    """The addresses of a sentence that no passage has; a customer's own is no evidence."""
    known = passages.casefold()
    said = (_PREFIX.sub("", each.casefold()).rstrip("/.,;:!?") for each in _ADDRESS.findall(sentence))
    return sorted({each for each in said if each not in known})
