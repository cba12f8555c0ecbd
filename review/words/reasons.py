"""Reason codes for people: plain words for each, names for several together, lists of them in a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from worker.reasons import BLOCKED, FAILED, Reason

GROUPS: Final[Mapping[str, tuple[Reason, ...]]] = {"blocked": BLOCKED, "failed": FAILED}
"""Names that stand for several codes, beside the codes themselves.

A tile of the dashboard counts eleven codes together. Listed in a link they would be unreadable, and a saved
view would miss codes that later releases add; a name stands for all codes that the tile counts.
"""
NAMES: Final = (*GROUPS, *Reason)
_BY_FOLDED: Final = {name.lower(): str(name) for name in NAMES}


class UnknownReason(ValueError):
    """A name is neither a code nor a group."""


def parse_names(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list, in any case, each once.

    Raises:
        UnknownReason: one of them, or the lack of any.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    unknown = next((part for part in parts if part.lower() not in _BY_FOLDED), None)
    if unknown is not None or not parts:
        raise UnknownReason(text if unknown is None else unknown)
    return tuple(dict.fromkeys(_BY_FOLDED[part.lower()] for part in parts))


def reason_codes(names: tuple[str, ...]) -> tuple[str, ...]:
    """The codes that names stand for, each once."""
    return tuple(dict.fromkeys(str(code) for name in names for code in GROUPS.get(name, (name,))))
