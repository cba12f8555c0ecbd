"""One line of what ``hushgate doctor`` found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at; ``state`` is ok, warn or fail, ``mend`` is empty when all is well."""

    check: str
    state: str
    found: str
    mend: str = ""
