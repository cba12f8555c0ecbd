"""One check of ``hushgate doctor``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCheck:
    """The result of one check; ``state`` is ok, warn or fail, ``fix`` says what to do and is empty for ok."""

    check: str
    state: str
    found: str
    fix: str = ""
