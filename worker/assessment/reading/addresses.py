"""Addresses of mail and web that a sentence names."""

from __future__ import annotations

import re
from typing import Final

_LETTER: Final = r"a-z0-9\u00df-\u00ff"
"""Letters of host names; letters of a script without spaces may stand directly beside an address."""
_END: Final = r"\s<>()\[\]{}\"'`*“”„«»\u3000-\u9fff\uac00-\ud7af\uff00-\uffef"
"""Characters that no address has: spaces, brackets, quotation marks, Markdown, Chinese, Japanese, Korean."""
_ADDRESS: Final = re.compile(
    rf"(?:https?://|www\.)[^{_END}]{{1,200}}"
    rf"|(?<![{_LETTER}_.+-])[{_LETTER}_.+-]{{1,64}}@[{_LETTER}-]{{1,63}}(?:\.[{_LETTER}-]{{1,63}}){{1,5}}"
    rf"|(?<![{_LETTER}_.@/-])(?:[{_LETTER}][{_LETTER}-]{{1,62}}\.){{1,5}}"
    r"(?:com|net|org|info|biz|app|dev|shop|store|(?-i:[a-z]{2}))"
    rf"(?![{_LETTER}_@-])(?:/[^{_END}]{{0,200}})?",
    re.IGNORECASE,
)
"""A bare name of a host ends with a common ending or two small letters: a country, not "The end.So"."""
_PREFIX: Final = re.compile(r"^(?:https?://)?(?:www\.)?")


def missing_addresses(sentence: str, passages: str) -> list[str]:
    """The addresses of a sentence that no passage has; a customer's own is no evidence."""
    known = passages.casefold()
    said = {_PREFIX.sub("", each.casefold()).rstrip("/.,;:!?…") for each in _ADDRESS.findall(sentence)}
    return sorted(each for each in said if not _stands_in(known, each))


def _stands_in(known: str, address: str) -> bool:
    """Whether a text has the whole address: "shop.com" is neither "myshop.com" nor "shop.com.vn"."""
    before = rf"(?<![{_LETTER}_.+-])" if "@" in address else rf"(?<![{_LETTER}_-])"
    return re.search(rf"{before}{re.escape(address)}(?![{_LETTER}_-]|\.[{_LETTER}])", known) is not None
