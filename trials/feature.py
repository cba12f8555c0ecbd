"""What trying changes adds to the core."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from db.retention.kept import days, for_ever, other, with_audit
from features.feature import Feature
from features.jobs import Process, endless, task

FEATURE: Final = Feature(
    name="trials",
    tables="trials.tables",
    sql="trials.feature:SQL",
    retention="trials.feature:RETENTION",
    pages="trials.pages.routes:PAGES",
    templates="trials.pages:TEMPLATES",
    menu="trials.pages.routes:MENU",
    panels="trials.pages.panels:PANELS",
    filters="trials.pages.shadow_filter:FILTERS",
    jobs="trials.feature:JOBS",
    tasks="trials.jobs.tasks",
    commands="trials.commands:COMMANDS",
    groups="trials.commands:GROUPS",
    on_settings="trials.store.rollouts:END",
    rollouts="trials.store.rollouts:running_rollouts",
    fleet_figures="trials.store.trials:fleet_figures",
)
SQL: Final = Path(__file__).parent / "sql"
JOBS: Final = (
    task("rollouts", 15.0),
    endless(Process.BEAT, "shadows", "trials.jobs.shadow_watch:run_shadows"),
    endless(Process.REVIEW, "suggestions", "trials.jobs.suggesting:run_suggesting"),
)
RETENTION: Final = (
    days("shadow_results", "recordings_days", "sealed; as recordings"),
    with_audit("golden_set_items", "sealed; with the audit, by the time of the decision or import"),
    other("learning_suggestions", "the review server, when it computes them again after a day"),
    for_ever("candidates", "settings that a person or a proposal wanted; as ai_rules"),
    for_ever("golden_sets", "names of sets of labelled messages; leads remove them with their items"),
    for_ever("trials", "which settings were tried, counts and ids of decisions, without texts; as ai_rules"),
    for_ever("trial_steps", "who took which step of a trial, and why; as ai_rules"),
)
"""How long the tables are kept."""
