"""The alerts as a rules file of Prometheus."""

from __future__ import annotations

from typing import Any, Final

import yaml

from tasks.alerts.declared import ALERTS, Alert

RUNBOOK: Final = "docs/alerts.md"
HEAD: Final = "# Made by `hushgate alerts rules` from tasks/alerts/declared.py: do not edit.\n"


def runbook_section(alert: Alert) -> str:
    """Where docs/alerts.md says what to do."""
    return f"{RUNBOOK}#{alert.name.lower()}"


def rules_file(*, workers: int) -> str:
    """The text of the file."""
    rules: list[dict[str, Any]] = [
        {
            "alert": each.name,
            "expr": each.expression.replace("{workers}", str(workers)),
            "for": f"{each.minutes}m",
            "labels": {"severity": each.severity.value},
            "annotations": {"summary": each.summary, "runbook": runbook_section(each)},
        }
        for each in ALERTS
    ]
    document = {"groups": [{"name": "hushgate", "rules": rules}]}
    return HEAD + str(yaml.safe_dump(document, sort_keys=False, width=110))
