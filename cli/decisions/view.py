"""Decisions on a terminal: a list that fits its width, and one decision in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from cli.output import cell, json_text, printable, screen, table
from review.words.decisions import RECHECK_MARK, tier_wording
from worker.snapshot import ModeratorRecord, Snapshot, SnapshotAssessment, SnapshotStage
from worker.stored_json import object_writer

COLUMNS: Final = {
    "created_at": 14,
    "id": 36,
    "decision": 8,
    "reason_code": 28,
    "matched_rule": 30,
    "user_id": 20,
}
"""Columns of the list with their maximum widths; the message text takes the rest."""
REVIEW_COLUMNS: Final = (
    "created_at",
    "person",
    "ruling",
    "corrected_decision",
    "reason_code",
    "effect",
    "note",
)
WIDE: Final = 150


def _facts(row: Mapping[str, Any], snapshot: Snapshot) -> list[tuple[str, Any]]:
    """Names and values of a decision, in the order of the printed grid."""
    names = ("id", "created_at", "user_id", "scope", "conversation_id", "author_id", "message_text")
    facts: list[tuple[str, Any]] = [(name, row[name]) for name in names]
    facts += [("event type", snapshot.type)]
    facts += [("answers message", snapshot.parent_id)] if snapshot.parent_id else []
    confidence = row["confidence"] if row["assessed"] else "–"
    facts += [("confidence", confidence), ("rule", row["matched_rule"]), ("reply", row["reply_text"])]
    if row["candidate_id"] is not None:
        facts.append(("candidate of a rollout", row["candidate_id"]))
    if row["reply_draft"] not in (None, row["reply_text"]):
        facts.append(("draft as assessed", row["reply_draft"]))
    tokens = {"prompt": snapshot.tokens.prompt, "completion": snapshot.tokens.completion}
    facts += [("tokens", json_text(tokens)), ("models", json_text(snapshot.models))]
    if len(snapshot.tokens_by_model) > 1:
        each = {name: asdict(spent) for name, spent in snapshot.tokens_by_model.items()}
        facts += [("tokens by model", json_text(each))]
    if snapshot.masked:
        facts.append(("masked for vendors", json_text(snapshot.masked)))
    if snapshot.unreadable:
        facts.append(("unreadable in this release", ", ".join(snapshot.unreadable)))
    return facts


def decision_details(row: Mapping[str, Any]) -> list[Table | Text]:
    """A decision as parts to print: a headline, its facts, its stages, its findings and attempts."""
    snapshot = Snapshot.from_json(row["snapshot_json"])
    head = Text.assemble(
        (str(row["decision"]), "bold"),
        " because ",
        (str(row["reason_code"]), "bold"),
        f": {printable(row['reason'])}",
    )
    grid = Table.grid(padding=(0, 2))
    for name, value in _facts(row, snapshot):
        grid.add_row(Text(name.replace("_", " "), style="dim"), cell(value))
    parts: list[Table | Text] = [head, grid, _waterfall(snapshot.stages)]
    if snapshot.assessment is not None:
        parts.append(_assessment(snapshot.assessment, snapshot.rechecked))
    if moderators := [
        {"stage": stage.stage, **object_writer(ModeratorRecord)(each)}
        for stage in snapshot.stages
        for each in stage.moderators
    ]:
        parts.append(table(moderators, list(moderators[0]), title="moderators"))
    stored = object_writer(Snapshot)(snapshot)
    tables = [
        (name, stored[name]) for name in ("findings", "attempts", "passages", "screened") if stored[name]
    ]
    parts += [table(rows, list(rows[0]), title=name) for name, rows in tables]
    if row.get("reviews"):
        parts.append(table(row["reviews"], REVIEW_COLUMNS, title="reviews"))
    return parts


def decision_table(rows: Sequence[Mapping[str, Any]]) -> list[Table | Text]:
    """Decisions as a table; where the terminal is too narrow for one, as two lines each."""
    if not rows:
        return [Text("no decisions match", style="dim")]
    if screen.width >= WIDE:
        shown = Table(show_edge=False, pad_edge=False, header_style="bold", expand=True)
        for name, width in COLUMNS.items():
            shown.add_column(name.replace("_", " "), max_width=width, overflow="fold")
        shown.add_column("message text", ratio=1, no_wrap=True, overflow="ellipsis")
        for row in rows:
            shown.add_row(*(cell(row[name]) for name in (*COLUMNS, "message_text")))
        return [shown]
    parts: list[Table | Text] = []
    for row in rows:
        head = [cell(row[name]) for name in ("created_at", "decision", "reason_code", "matched_rule")]
        below = [Text(f"  {row['id']}", style="dim"), cell(row["user_id"]), cell(row["message_text"])]
        for line in (head, below):
            text = Text("  ").join(line)
            text.truncate(screen.width, overflow="ellipsis")
            parts.append(text)
    return parts


def _assessment(found: SnapshotAssessment, rechecked: tuple[float, float | None] | None) -> Table:
    """How far the draft can be trusted: result, failed checks and the policy's own record."""
    shown = Table.grid(padding=(0, 2))
    shown.title, shown.title_justify = "assessment", "left"
    names = (
        "policy",
        "confidence",
        "support",
        "relevance",
        "tier",
        "action",
        "intended_action",
        "category",
        "explanation",
    )
    facts = [(name, tier_wording(found.tier) if name == "tier" else getattr(found, name)) for name in names]
    facts += [(name, "\n".join(getattr(found, name))) for name in ("failed_checks", "reasons")]
    facts += [(f"{RECHECK_MARK} rechecked", json_text(rechecked) if rechecked else "")]
    facts += [(name, value) for name, value in found.diagnostics.items() if name not in names]
    for name, value in facts:
        if value not in ("", [], None):
            plain = value if isinstance(value, str | int | float) else json_text(value)
            shown.add_row(Text(name.replace("_", " "), style="dim"), cell(plain))
    return shown


def _waterfall(stages: tuple[SnapshotStage, ...]) -> Table:
    total_ms = sum(stage.duration_ms for stage in stages) or 1.0
    shown = Table(title="stages", title_justify="left", show_edge=False, pad_edge=False, header_style="bold")
    for name in ("stage", "outcome", "ms", ""):
        shown.add_column(name, justify="right" if name == "ms" else "left")
    before_ms = 0.0
    for stage in stages:
        start, width = int(40 * before_ms / total_ms), max(1, round(40 * stage.duration_ms / total_ms))
        bar = Text(" " * start + "█" * width, style="cyan")
        shown.add_row(cell(stage.stage), cell(stage.outcome), f"{stage.duration_ms:.1f}", bar)
        before_ms += stage.duration_ms
    return shown
