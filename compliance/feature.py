"""What compliance adds to the core."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from db.retention.kept import days, for_ever, other
from features.feature import Feature
from features.jobs import task

FEATURE: Final = Feature(
    name="compliance",
    tables="compliance.tables",
    sql="compliance.feature:SQL",
    retention="compliance.feature:RETENTION",
    undone="compliance.appeals.outcomes:reopen_appeal",
    pages="compliance.routes:PAGES",
    templates="compliance.feature:TEMPLATES",
    template_filters="compliance.words:FILTERS",
    navigation="compliance.menu:NAVIGATION",
    menu="compliance.menu:MENU",
    panels="compliance.panels:PANELS",
    tasks="compliance.tasks",
    jobs="compliance.feature:JOBS",
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
JOBS: Final = (task("appeals", 30.0), task("erasures", 10.0))
RETENTION: Final = (
    days("appeals", "appeals_days", "after the outcome; open ones stay"),
    days("legal_holds", "access_log_days", "after its end"),
    other("erasure_items", "the erasure, at its end"),
    for_ever("erasures", "receipts, without the id that was erased"),
    for_ever("audit_log_leaves", "hashes; the salts go with texts and rows"),
    for_ever("audit_log_nodes", "hashes"),
    for_ever("audit_log_checkpoints", "signed hashes"),
    for_ever("audit_log_removals", "ids of rows that are gone; verification needs them"),
)
"""How long the tables are kept."""
