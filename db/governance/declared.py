"""How long every table is kept: the one list that sweeps and `hushgate retention show` use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import Final, assert_never

from worker.settings.retention import RetentionSettings

MONTH_DAYS: Final = 31


class KeptBy(StrEnum):
    """What decides how long rows are kept.

    Attributes:
        DAYS: a setting in days.
        MONTHS: a setting in months; whole months of the audit go together.
        ROW: the time in the row itself, which a setting of the account or a fixed time has set.
        OTHER: another part of Hushgate deletes its rows; ``why`` says which and when.
        FOR_EVER: nothing does; ``why`` gives the reason.
    """

    DAYS = "days"
    MONTHS = "months"
    ROW = "row"
    OTHER = "other"
    FOR_EVER = "for_ever"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRetention:
    """One table.

    Attributes:
        setting: the field of ``RetentionSettings`` that says how long; empty where none does.
        why: what a person should know beside the setting.
    """

    table: str
    kept_by: KeptBy
    setting: str = ""
    why: str = ""

    @property
    def swept(self) -> bool:
        """Whether the sweep deletes its rows."""
        return self.kept_by in {KeptBy.DAYS, KeptBy.MONTHS, KeptBy.ROW}

    @property
    def has_limit(self) -> bool:
        """Whether a setting says how long its rows are kept, which the owner's database then enforces."""
        return self.kept_by in {KeptBy.DAYS, KeptBy.MONTHS}

    def keep_days(self, settings: RetentionSettings) -> int | None:
        """How many days its rows are kept at least; None: for ever."""
        number = int(getattr(settings, self.setting))
        return number * (MONTH_DAYS if self.kept_by is KeptBy.MONTHS else 1) or None

    def limit(self, settings: RetentionSettings, now: datetime) -> datetime | None:
        """Rows of before this time are due; None: none is."""
        match self.kept_by:
            case KeptBy.DAYS:
                days = int(getattr(settings, self.setting))
                return now - timedelta(days=days) if days else None
            case KeptBy.MONTHS:
                months = int(getattr(settings, self.setting))
                first = (now - timedelta(days=MONTH_DAYS * months)).date().replace(day=1)
                return datetime.combine(first, time(), UTC) if months else None
            case KeptBy.ROW:
                return now
            case KeptBy.OTHER | KeptBy.FOR_EVER:
                return None
            case _:
                assert_never(self.kept_by)


def _days(table: str, setting: str, why: str = "") -> TableRetention:
    return TableRetention(table=table, kept_by=KeptBy.DAYS, setting=setting, why=why)


def _with_audit(table: str, why: str = "") -> TableRetention:
    return TableRetention(
        table=table, kept_by=KeptBy.MONTHS, setting="keep_decisions_months", why=why or "with the audit"
    )


def _row(table: str, why: str) -> TableRetention:
    return TableRetention(table=table, kept_by=KeptBy.ROW, why=why)


def _other(table: str, why: str) -> TableRetention:
    return TableRetention(table=table, kept_by=KeptBy.OTHER, why=why)


def _kept(table: str, why: str) -> TableRetention:
    return TableRetention(table=table, kept_by=KeptBy.FOR_EVER, why=why)


RETENTION: Final = (
    _row("quarantine", "the account's keep_quarantine_days"),
    _row("held_drafts", "the account's keep_drafts_days"),
    _days("recordings", "keep_recordings_days", "sealed; without one a decision cannot be replayed"),
    _days("shadow_results", "keep_recordings_days", "sealed; as recordings"),
    _days("outgoing_events", "keep_outgoing_days", "when it is on its stream"),
    _days("event_keys", "keep_keys_days", "an event that comes again after that is decided again"),
    _days("duplicates", "keep_keys_days"),
    _days("dead_letters", "keep_dead_letters_days"),
    _days("messages", "keep_messages_days"),
    _days("conversations", "keep_messages_days", "after people owned it"),
    # no answer and no review goes before its decision
    _with_audit("answers"),
    _with_audit("outbox", "with the audit, when the reply has ended"),
    _with_audit("escalations", "with the audit, when it is closed"),
    _with_audit("retractions", "with the audit, when it has ended"),
    _with_audit("queue_items"),
    _with_audit("golden_items"),
    _with_audit("golden_set_items", "sealed; with the audit, by the time of the decision or import"),
    _with_audit("review_states"),
    _with_audit("decision_reviews"),
    _with_audit("decision_comments"),
    _with_audit("decision_assignments"),
    _with_audit("subject_notes", "by the time of the note"),
    _with_audit("subject_tags", "by the time of the tag"),
    _with_audit("ai_decisions", "whole months; a month with held rows stays, without its other rows"),
    _days("appeals", "keep_appeals_days", "after the outcome; open ones stay"),
    _days("access_log", "keep_access_log_days"),
    _days("legal_holds", "keep_access_log_days", "after its end"),
    _days("jobs", "keep_jobs_days", "after its end; the review server deletes exports after a week"),
    _other("webhook_deliveries", "with their rows of outgoing_events"),
    _other("job_parts", "with their jobs"),
    _other("sessions", "the review server, when they expire"),
    _other("second_factors", "the person whose it is, or an administrator"),
    _other("sign_in_attempts", "the review server, after a day"),
    _other("sign_in_links", "the review server, when they expire"),
    _other("oidc_states", "the review server, when they expire"),
    _other("invitations", "the review server, when they expire"),
    _other("compiled_rules", "workers, when a newer version is in force"),
    _other("erasure_items", "the erasure, at its end"),
    _other("documents", "the account's people"),
    _other("chunks", "with their documents"),
    _other("chunk_embeddings", "with their documents"),
    _other("account_words", "with the words of the documents"),
    _other("webhook_endpoints", "the account's people"),
    _other("comment_mentions", "with their comments"),
    _other("decision_presence", "the review server, after some minutes"),
    _other("digests", "one row per person; the person, or an administrator who disables the person"),
    _other("learning_suggestions", "the review server, when it computes them again after a day"),
    _other("saved_views", "the person whose view it is"),
    _other("person_roles", "the account's administrators"),
    _kept("ai_rules", "a decision is explained by the settings of its time"),
    _kept("candidates", "settings that a person or a proposal wanted; as ai_rules"),
    _kept("backtests", "counts and ids of decisions, without texts"),
    _kept("golden_sets", "names of sets of labelled messages; leads remove them with their items"),
    _kept("golden_runs", "figures of evaluations without texts; with their set"),
    _kept("rollouts", "when a candidate decided a share of conversations; as ai_rules"),
    _kept("shadows", "which candidate ran beside the live settings, who started it, and counts; as ai_rules"),
    _kept("rollout_steps", "who took which step of a rollout, and why; as ai_rules"),
    _kept("people", "reviews and the access log name them; they are disabled instead"),
    _kept("api_tokens", "the access log names them; without use after their end"),
    _kept("queues", "reviews name them; no texts"),
    _kept("embedders", "one row per embedding model; no texts"),
    _kept("figure_spans", "counts without texts or ids; hours are summed to days"),
    _kept("figure_counts", "counts without texts or ids"),
    _kept("figure_spreads", "counts without texts or ids"),
    _kept("figure_parts", "counts by rule, model and language, without texts or ids of people"),
    _kept("figure_goals", "one row per account and measure; no texts"),
    _kept("figure_notes", "texts of leads about incidents; leads remove them"),
    _kept("purged", "how many rows retention deleted; the conservation check needs it"),
    _kept("erasures", "receipts, without the id that was erased"),
    _kept("account_costs", "sums without texts or ids of people"),
    _kept("budget_crossings", "one row per account and period; no texts"),
    _kept("retention_limits", "verification compares what was deleted with them"),
    _kept("audit_log_leaves", "hashes; the salts go with texts and rows"),
    _kept("audit_log_nodes", "hashes"),
    _kept("audit_log_checkpoints", "signed hashes"),
    _kept("audit_log_removals", "ids of rows that are gone; verification needs them"),
    _kept("alembic_version", "the state of the migrations"),
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
            settings=("HUSHGATE_STREAM_KEEP_DAYS", "HUSHGATE_STREAM_GROUPLESS_KEEP_DAYS"),
            why="after every consumer group has read it; without groups by age alone",
        )
        for name in ("reply_stream", "retraction_stream", "escalation_stream")
    ),
)
"""By the field of the settings that names the stream."""
