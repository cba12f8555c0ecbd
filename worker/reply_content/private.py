"""What a reply must not disclose: keys, other people's data, and our own instructions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from worker.injections.hidden_text import readable_text
from worker.masking.detection import spans_without_phones
from worker.masking.kinds import PersonalKind

SECRET: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|(?<![\w-])(?:"
    r"sk-(?:proj-|ant-|or-|svcacct-)?[A-Za-z0-9_-]{20,}|[sr]k_live_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{20,}"
    r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{18,}|xox[abeprs]-[\w-]{10,}|xapp-\d-[\w-]{20,}"
    r"|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}|AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|npm_[A-Za-z0-9]{30,}"
    r"|pypi-[\w-]{40,}|hf_[A-Za-z0-9]{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_[a-f0-9]{40,}|AGE-SECRET-KEY-1\w{40,}"
    r"|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}|\d{8,10}:AA[\w-]{32,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32})"
)
"""Keys and tokens of vendors, by their published forms."""
NAMED: Final = re.compile(
    r"(?:passwor[dt]|passwd|pwd|kennwort|contraseña|mot de passe|mật khẩu|密码|密碼|secret"
    r"|api[ _-]?key|access[ _-]?key|auth(?:orization)?|bearer|token)[\"'*`]*"
    r"\s*(?:[:=：]|is|lautet|est|es|là|是)?\s*(?:bearer\s+)?[\"'*`]*"
    r"([A-Za-z0-9_+/=.!$%&#-]{12,})",
    re.IGNORECASE,
)
"""A word for a secret with a value; the value must have small and capital letters and digits."""
RUN_OF_WORDS: Final = 6
"""So many words in a row of our instructions are no chance: no answer of 3,954 has five."""
WORD: Final = re.compile(r"\w+")
TEMPLATE: Final = re.compile(r"<\|[a-z_]{2,30}\|>|\[/?INST\]|<</?SYS>>|</?passages [0-9a-f]{4,}>")
"""Signs of prompts."""


def secret(text: str, shown: Iterable[str] = ()) -> str | None:
    """The first key, token or password of a text, or None; a password that the documents show is none."""
    if (found := SECRET.search(text)) is not None:
        return found[0]
    for named in NAMED.finditer(text):
        value = named[1]
        is_mixed = all(re.search(kind, value) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
        if is_mixed and not any(value.rstrip(".!") in each for each in shown):
            return value
    return None


def foreign_data(text: str, sources: Iterable[str]) -> tuple[PersonalKind, ...]:
    """The kinds of e-mail addresses, cards and IBANs of a text that stand in none of the sources."""
    found = {(kind, value) for kind, value in _personal(text)}
    if not found:
        return ()
    known = {each for source in sources for each in _personal(source)}
    return tuple(sorted({kind for kind, _ in found - known}))


def _personal(text: str) -> Iterator[tuple[PersonalKind, str]]:
    """Each e-mail address, card and IBAN as kind and value; phone numbers are not among them."""
    if "@" not in text and "＠" not in text and "%40" not in text and not re.search(r"\d{2}.*\d{2}", text):
        return
    for span in spans_without_phones(text):
        value = text[span.start : span.end].lower()
        yield span.kind, value if span.kind is PersonalKind.EMAIL else "".join(filter(str.isalnum, value))


def own_instructions(text: str, instructions: tuple[str, ...], marks: Iterable[str]) -> str | None:
    """The piece of our instructions in a text, also encoded or backwards, or None.

    ``marks`` are words that only the instructions have.
    """
    for mark in marks:
        if mark and mark in text:
            return mark
    if (found := TEMPLATE.search(text)) is not None:
        return found[0]
    if not (known := _runs_of(instructions)):
        return None
    for reading in (text, *readable_text(text).decoded, text[::-1]):
        for run in _runs(reading):
            if run in known:
                return " ".join(run)
    return None


@lru_cache(maxsize=16)
def _runs_of(texts: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    return frozenset(run for text in texts for run in _runs(text))


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = WORD.findall(text.casefold())
    return (tuple(words[at : at + RUN_OF_WORDS]) for at in range(len(words) - RUN_OF_WORDS + 1))
