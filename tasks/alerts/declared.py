"""Every alert: what ``rules.yml`` says of it, and its condition on Redis and Postgres."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Final

import yaml

from tasks.alerts import conditions
from tasks.alerts.situation import Situation

ONE_WORKER: Final = "expr: hushgate_workers_alive < 1\n"


class AlertSeverity(StrEnum):
    """Who is to act: at once, or within a working day."""

    PAGE = "page"
    TICKET = "ticket"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert.

    Attributes:
        name: also the heading of its section in ``docs/alerts.md``.
        summary: one sentence.
        section: where the documents say what to do.
        minutes: how long Prometheus sees the condition before it fires.
        check: what is wrong now, one sentence a finding; nothing when all is well.
    """

    name: str
    severity: AlertSeverity
    summary: str
    section: str
    minutes: int
    check: Callable[[Situation], Iterable[str]]


def rules_file(*, workers: int) -> str:
    """The rules file of Prometheus for this number of expected workers."""
    text = files("tasks.alerts").joinpath("rules.yml").read_text(encoding="utf-8")
    return text.replace(ONE_WORKER, ONE_WORKER.replace("1", str(workers)))


def _declared() -> Iterable[Alert]:
    (group,) = yaml.safe_load(rules_file(workers=1))["groups"]
    for rule in group["rules"]:
        yield Alert(
            name=rule["alert"],
            severity=AlertSeverity(rule["labels"]["severity"]),
            summary=rule["annotations"]["summary"],
            section=rule["annotations"]["runbook"],
            minutes=int(rule["for"].removesuffix("m")),
            check=conditions.CHECKS[rule["alert"]],
        )


ALERTS: Final = tuple(_declared())
"""In the order of the file. A further alert is a rule, a condition and a section in docs/alerts.md."""
