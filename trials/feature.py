"""What trying changes adds to the core."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from features.feature import Feature

FEATURE: Final = Feature(
    name="trials",
    tables="trials.tables",
    sql="trials.feature:SQL",
    retention="trials.retention:RETENTION",
    pages="trials.pages.routes:PAGES",
    templates="trials.pages:TEMPLATES",
    menu="trials.pages.routes:MENU",
    panels="trials.pages.panels:PANELS",
    filters="trials.pages.shadow_filter:FILTERS",
    jobs="trials.jobs.table:JOBS",
    tasks="trials.jobs.tasks",
    commands="trials.commands:COMMANDS",
    groups="trials.commands:GROUPS",
    on_settings="trials.store.rollouts:END",
    rollouts="trials.store.rollouts:running_rollouts",
    fleet_figures="trials.store.trials:fleet_figures",
)
SQL: Final = Path(__file__).parent / "sql"
