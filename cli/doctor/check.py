"""One check of ``hushgate doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

CheckState: TypeAlias = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCheck:
    """The result of one check; ``fix`` says what to do and is empty for ok."""

    check: str
    state: CheckState
    found: str
    fix: str = ""


def passed(check: str, found: str) -> DoctorCheck:
    """A check without a finding."""
    return DoctorCheck(check=check, state="ok", found=found)


def warned(check: str, found: str, fix: str, *, unless: bool = False) -> DoctorCheck:
    """A warning; ok when ``unless`` is true."""
    return passed(check, found) if unless else DoctorCheck(check=check, state="warn", found=found, fix=fix)


def failed(check: str, found: str, fix: str, *, unless: bool = False) -> DoctorCheck:
    """A failure; ok when ``unless`` is true."""
    return passed(check, found) if unless else DoctorCheck(check=check, state="fail", found=found, fix=fix)
