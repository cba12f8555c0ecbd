"""How long the tables of trials are kept."""

from __future__ import annotations

from typing import Final

from db.retention.kept import days, for_ever, other, with_audit

RETENTION: Final = (
    days("shadow_results", "recordings_days", "sealed; as recordings"),
    with_audit("golden_set_items", "sealed; with the audit, by the time of the decision or import"),
    other("learning_suggestions", "the review server, when it computes them again after a day"),
    for_ever("candidates", "settings that a person or a proposal wanted; as ai_rules"),
    for_ever("golden_sets", "names of sets of labelled messages; leads remove them with their items"),
    for_ever("trials", "which settings were tried, counts and ids of decisions, without texts; as ai_rules"),
    for_ever("trial_steps", "who took which step of a trial, and why; as ai_rules"),
)
