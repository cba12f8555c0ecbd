"""How long every table is kept: the one list that sweeps and `hushgate retention show` use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from db.retention.kept import TableRetention, days, for_ever, other, row, with_audit
from features.feature import hook_items

CORE: Final = (
    row("quarantine", "the account's keep_quarantine_days"),
    row("held_drafts", "the account's keep_drafts_days"),
    days("recordings", "recordings_days", "sealed; without one a decision cannot be replayed"),
    days("outgoing_events", "outgoing_days", "when it is on its stream"),
    days("event_keys", "keys_days", "an event that comes again after that is decided again"),
    days("duplicates", "keys_days"),
    days("dead_letters", "dead_letters_days"),
    days("messages", "messages_days"),
    days("conversations", "messages_days", "after people owned it"),
    # no answer and no review goes before its decision
    with_audit("answers"),
    with_audit("checks"),
    with_audit("outbox", "with the audit, when the reply has ended"),
    with_audit("escalations", "with the audit, when it is closed"),
    with_audit("retractions", "with the audit, when it has ended"),
    with_audit("customer_feedback"),
    with_audit("unmoderated_texts"),
    with_audit("queue_items"),
    with_audit("golden_items"),
    with_audit("review_states"),
    with_audit("decision_reviews"),
    with_audit("decision_comments"),
    with_audit("decision_assignments"),
    with_audit("subject_notes", "by the time of the note"),
    with_audit("subject_tags", "by the time of the tag"),
    with_audit("ai_decisions", "whole months; a month with held rows stays, without its other rows"),
    days("access_log", "access_log_days"),
    days("jobs", "jobs_days", "after its end; the review server deletes exports after a week"),
    other("webhook_deliveries", "with their rows of outgoing_events"),
    other("job_parts", "with their jobs"),
    other("sessions", "the review server, when they expire"),
    other("second_factors", "the person whose it is, or an administrator"),
    other("sign_in_attempts", "the review server, after a day"),
    other("sign_in_links", "the review server, when they expire"),
    other("oidc_states", "the review server, when they expire"),
    other("invitations", "the review server, when they expire"),
    other("compiled_rules", "workers, when a newer version is in force"),
    other("documents", "the account's people"),
    other("document_files", "with their documents"),
    other("chunks", "with their documents"),
    other("chunk_embeddings", "with their documents"),
    other("account_words", "with the words of the documents"),
    other("webhook_endpoints", "the account's people"),
    other("model_servers", "administrators of every account; one row per role"),
    other("comment_mentions", "with their comments"),
    other("saved_views", "the person whose view it is"),
    other("person_roles", "the account's administrators"),
    for_ever("ai_rules", "a decision is explained by the settings of its time"),
    for_ever("people", "reviews and the access log name them; they are disabled instead"),
    for_ever("api_tokens", "the access log names them; without use after their end"),
    for_ever("queues", "reviews name them; no texts"),
    for_ever("embedders", "one row per embedding model; no texts"),
    for_ever("figure_spans", "counts without texts or ids; hours are summed to days"),
    for_ever("figure_counts", "counts without texts or ids"),
    for_ever("figure_spreads", "counts without texts or ids"),
    for_ever("figure_parts", "counts by rule, model and language, without texts or ids of people"),
    for_ever("figure_goals", "one row per account and measure; no texts"),
    for_ever("figure_notes", "texts of leads about incidents; leads remove them"),
    for_ever("purged", "how many rows retention deleted; the conservation check needs it"),
    for_ever("account_costs", "sums without texts or ids of people"),
    for_ever("budget_crossings", "one row per account and period; no texts"),
    for_ever("retention_limits", "verification compares what was deleted with them"),
    for_ever("alembic_version", "the state of the migrations"),
)
RETENTION: Final[tuple[TableRetention, ...]] = tuple(
    sorted((*CORE, *hook_items("retention")), key=lambda each: not each.swept)
)
"""Every table, those that are swept first and in the order of the sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRetention:
    """One Redis stream, or the keys beside it; ``settings`` are variables, empty where none says how long."""

    name: str
    settings: tuple[str, ...]
    why: str


STREAM_RETENTION: Final = (
    StreamRetention(name="stream", settings=(), why="an entry goes when its decision is stored"),
    *(
        StreamRetention(
            name=name,
            settings=("HUSHGATE_KEEP streams_days", "HUSHGATE_KEEP ungrouped_streams_days"),
            why="after every consumer group has read it; without groups by age alone",
        )
        for name in ("reply_stream", "retraction_stream", "escalation_stream")
    ),
)
"""By the field of the settings that names the stream."""
