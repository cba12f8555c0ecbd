"""What an account wants of an escalation, and what a decision carries of one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EscalationAction(StrEnum):
    """What an account wants where a decision can be handed to people."""

    ESCALATE = "escalate"
    SILENCE = "silence"


class Weekday(StrEnum):
    """A day of business hours, in the order of ``datetime.weekday``."""

    MONDAY = "mon"
    TUESDAY = "tue"
    WEDNESDAY = "wed"
    THURSDAY = "thu"
    FRIDAY = "fri"
    SATURDAY = "sat"
    SUNDAY = "sun"


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """A decision's handoff to people.

    Attributes:
        queue: name of the account's queue; empty: none named.
        in_hours: whether it was within the account's business hours.
        handoff_text: text to the author that announces it, or None.
        draft: the draft that was not sent, without citation marks; None where there is none or it is sealed.
    """

    queue: str = ""
    in_hours: bool = True
    handoff_text: str | None = None
    draft: str | None = None
