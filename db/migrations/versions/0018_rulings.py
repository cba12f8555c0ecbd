"""A reviewer's answer is a ruling: two columns are renamed from verdict to ruling, with their constraints.

Exception to the law of 0001: review servers and `hushgate decisions` of the previous release read and write the
old names. Stop the review servers, migrate, then start those of this release. Workers and beat of the
previous release may keep running, because they use neither table. No view, function, trigger or column grant
names the columns; the renames change the catalogue only. Stored parameters of bulk reviews are renamed too, so
that this release continues queued jobs. Comments of tables and columns are reworded.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0018"
down_revision: str | Sequence[str] | None = "0017"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

BEFORE, NOW = "verdict", "ruling"
COMMENTS = (
    ("access_log.person_id", "null: nobody was signed in", "null: not signed in"),
    ("access_log.action", "a member of db.access_log.Action", "what was done, as a stable code"),
    (
        "account_words.lexeme",
        "the empty one counts all chunks of the account",
        "empty: all chunks of the account",
    ),
    (
        "account_words.chunks",
        "how many of the account's chunks hold it",
        "chunks of the account that contain it",
    ),
    (
        "account_words",
        "how rare a word is; kept by triggers on chunks",
        "word frequencies; updated by triggers on chunks",
    ),
    ("ai_decisions.reason_code", "a member of worker.policy.Reason", "why, as a stable code"),
    (
        "ai_decisions.degraded",
        "something that should have been consulted was not",
        "a service that should have been consulted was not",
    ),
    ("ai_rules.user_id", "the account whose inbox it is", "the account"),
    (
        "ai_rules.version",
        "counts up with every change; the newest counts",
        "one more with every change; the newest is in force",
    ),
    ("ai_rules.languages", "answers in; any if empty", "of replies; empty: any"),
    ("ai_rules.prompt", "own instructions; empty for ours", "added to the fixed instructions; empty: none"),
    ("api_tokens.person_id", "never more rights than theirs", "the token never has more rights"),
    ("api_tokens", "keys of the JSON face; read-only", "tokens of the JSON API; read-only"),
    (
        "chunk_embeddings.embedding",
        "length 1; as many numbers as its embedder says",
        "length 1; as many numbers as its embedder's dimensions",
    ),
    (
        "chunk_embeddings",
        "one vector per chunk and embedder; HNSW indexes hnsw_<embedder> are made as they grow",
        "one vector per chunk and embedder; HNSW indexes hnsw_<embedder> are built when needed",
    ),
    ("chunks", "documents, cut to passages", "parts of documents, as they are searched"),
    (
        "compiled_rules.build",
        "which matcher compiled it; another one compiles anew",
        "the matcher that compiled it; each build compiles its own",
    ),
    (
        "decision_reviews.reason_code",
        "a member of db.reviews.Cause",
        "why, as a stable code; empty: none given",
    ),
    (
        "decision_reviews",
        "what people said of decisions: append-only, several per decision",
        "reviewers' rulings: append-only, several per decision",
    ),
    (
        "documents.source",
        "where it came from; one document each",
        "where it came from; at most one document each",
    ),
    (
        "documents.content_hash",
        "SHA-256 of title, content and way of cutting, hex",
        "SHA-256 of title, content and chunking, hex",
    ),
    ("documents.size_bytes", "as it was read", "of the uploaded file"),
    ("documents", "what an account's replies may rest on", "the sources of an account's replies"),
    ("embedders.model", "as the endpoint is asked for it", "its name in requests"),
    ("embedders.asked_dimensions", "what requests say; 0: nothing", "sent in requests; 0: not sent"),
    ("embedders.calibrated_chunks", "stored then", "stored chunks at calibration"),
    (
        "event_keys",
        "idempotency: which events have their decision or dead letter",
        "idempotency: events that have a decision or a dead letter",
    ),
    ("figure_counts.user_id", "the account; empty: all of them together", "the account; empty: all accounts"),
    ("figure_counts.retried", "with a call that failed", "with a failed call"),
    ("figure_counts.attempts", "calls, failed ones too", "calls, including failed ones"),
    ("figure_counts.improved", "surer after the recheck", "confidence higher after the recheck"),
    (
        "figure_spans",
        "which hours and days are counted; one without a row is not",
        "counted hours and days; one without a row is not counted",
    ),
    (
        "figure_spreads.user_id",
        "the account; empty: all of them together",
        "the account; empty: all accounts",
    ),
    ("figure_spreads.kind", "a member of db.histograms.Kind", "confidence, total_ms, work_ms or waiting_ms"),
    (
        "figure_spreads.bins",
        "numbers of bins that hold something, rising",
        "numbers of the bins that are not empty, ascending",
    ),
    ("figure_spreads.counts", "what each of them holds", "decisions in each of these bins"),
    ("golden_items.ruling", "what a good reader says", "the known answer"),
    ("jobs.params", "filters, format or verdict", "filters, format or ruling"),
    ("jobs.total", "as counted when it was asked for", "counted when the job was requested"),
    (
        "jobs.position",
        "cursor from which a job goes on after a crash",
        "cursor from which the job continues after a crash",
    ),
    ("jobs.alive_at", "heartbeat of whoever runs it", "heartbeat of the server that runs it"),
    ("jobs.cancel_at", "when its owner asked for an end", "when its owner cancelled it"),
    ("jobs", "long work that people asked for", "background jobs that people requested"),
    ("oidc_states.data", "nonce, PKCE verifier, where to go next", "nonce, PKCE verifier, return path"),
    (
        "outbox.cancelled_at",
        "when it was taken back, or held back as too late",
        "when a reviewer withdrew it, or it became too late",
    ),
    ("outbox.send_before", "held back after this", "not sent after this"),
    (
        "people.password_given_by",
        "whoever gave the last first password, and may know what followed; null: the command line",
        "who set the last initial password and may know its successors; null: the command line",
    ),
    ("people.keys_on", "single keys act", "keyboard shortcuts are active"),
    ("person_roles.role", "a member of db.people.Role", "what the person may do there"),
    ("purged.rows", "deleted by retention since ever", "deleted by retention so far"),
    (
        "purged",
        "what retention took away, so that the conservation law can still be checked",
        "rows that retention deleted; the conservation check needs them",
    ),
    ("queue_items.stratum", "what it was sampled from", "the stratum of its sample"),
    ("queue_items.only_for", "golden items are dealt per person", "the person a golden item is dealt to"),
    (
        "queue_items.not_for",
        "whose reading this one is to be compared with",
        "the first reviewer of a second reading",
    ),
    ("queue_items.review_id", "the answer", "the review that answers it"),
    (
        "queue_items.chance",
        "0..1, of being drawn by its sample; null: none, or not known",
        "0..1, of being drawn by its sample; null: no sample, or unknown",
    ),
    ("queues.definition", "see db.queues", "the accounts it is for and how a sample is drawn"),
    ("queues.lease_s", "how long a claim holds", "duration of a claim"),
    (
        "queues.filled_to",
        "decisions before this have been looked at",
        "decisions before this were considered",
    ),
    ("queues", "what waits for a reader", "queues of decisions for reviewers"),
    ("review_states.reviews", "that stand", "standing reviews"),
    (
        "review_states.last_review",
        "what a stale submit is told apart by",
        "the newest review; detects a stale submission",
    ),
    (
        "review_states",
        "where each reviewed decision stands; follows decision_reviews in the same transaction",
        "the state of each reviewed decision, updated in the transaction that appends a review",
    ),
    ("saved_views", "filters that somebody kept", "filters that a person saved"),
    ("sign_in_attempts.device", "a browser that was let in before", "a browser that signed in before"),
    (
        "sign_in_links",
        "links that sign one person in, once; gone when used",
        "links that sign one person in once; deleted when used",
    ),
)
"""Table or table.column, its comment before and its comment now."""


def upgrade() -> None:
    """Rename to ruling."""
    _rename(BEFORE, NOW)
    for target, _, comment in COMMENTS:
        _comment(target, comment)


def downgrade() -> None:
    """Rename to verdict."""
    for target, comment, _ in COMMENTS:
        _comment(target, comment)
    _rename(NOW, BEFORE)


def _rename(old: str, new: str) -> None:
    for table in ("decision_reviews", "golden_items"):
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
        op.execute(f"ALTER TABLE {table} RENAME CONSTRAINT ck_{table}_{old}_known TO ck_{table}_{new}_known")
    op.execute(f"""
        UPDATE jobs SET params = params - '{old}' || jsonb_build_object('{new}', params -> '{old}')
        WHERE kind = 'bulk_review' AND params ? '{old}'
    """)  # names of ours


def _comment(target: str, comment: str) -> None:
    kind = "COLUMN" if "." in target else "TABLE"
    op.execute(f"COMMENT ON {kind} {target} IS '{comment.replace(chr(39), chr(39) * 2)}'")
