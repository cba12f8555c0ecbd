"""What compliance adds to the core."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from features.feature import Feature

FEATURE: Final = Feature(
    name="compliance",
    tables="compliance.tables",
    sql="compliance.feature:SQL",
    retention="compliance.retention:RETENTION",
    undone="compliance.appeals.outcomes:reopen_appeal",
    pages="compliance.routes:PAGES",
    templates="compliance.feature:TEMPLATES",
    template_filters="compliance.words:FILTERS",
    navigation="compliance.menu:NAVIGATION",
    menu="compliance.menu:MENU",
    panels="compliance.panels:PANELS",
    tasks="compliance.tasks",
    jobs="compliance.jobs:JOBS",
    commands="compliance.feature:COMMANDS",
    outgoing="compliance.appeals.settling:BODIES",
)
SQL: Final = Path(__file__).parent / "sql"
TEMPLATES: Final = Path(__file__).parent / "templates"
COMMANDS: Final = {
    "holds": "compliance.erasure.hold_commands:app",
    "erasure": "compliance.erasure.commands:app",
    "statements": "compliance.statements.commands:statements",
    "audit-log": "compliance.audit_log.commands:app",
}
