"""The table of account settings: its columns are the fields of ``Account``, with their defaults."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB
from sqlalchemy.schema import SchemaItem

from db.columns import EMPTY_JSON_LIST, EMPTY_OBJECT, NOW, Timestamp, choice, key, required, table
from worker.model import Account

KINDS: Final = get_type_hints(Account)
COMMENTS: Final = {
    name: " ".join(words.replace("``", "").rstrip(".").split())
    for name, words in re.findall(
        r"^    (\w+): (.*(?:\n {8}.*)*)", inspect.getdoc(Account) or "", re.MULTILINE
    )
}
"""What the docstring of ``Account`` says of its attributes."""
NO_TEXT: Final = '$.* ? (@.type() <> "string")'
"""A value in an object that is no text, as a path."""
PLAIN: Final[Mapping[Any, Any]] = {bool: sa.Boolean, int: sa.Integer, float: DOUBLE_PRECISION, str: sa.Text}


def _parts(field: Field[Any]) -> Iterator[SchemaItem]:
    """The column of a setting, and what its type demands of the values."""
    name, kind, comment = field.name, KINDS[field.name], COMMENTS.get(field.name)
    default = field.default if field.default is not MISSING else None
    if NoneType in get_args(kind):
        yield sa.Column(name, PLAIN[get_args(kind)[0]], comment=comment)
    elif get_origin(kind) is Mapping:
        yield required(name, JSONB, server_default=EMPTY_OBJECT, comment=comment)
        if get_args(kind)[1] is str:
            texts = f"jsonb_typeof({name}) = 'object' AND NOT jsonb_path_exists({name}, '{NO_TEXT}')"
            yield sa.CheckConstraint(texts, name=f"{name}_are_text")
    elif kind == tuple[str, ...]:
        words = sa.text(f"'{{{','.join(default or ())}}}'::text[]")
        yield required(name, sa.ARRAY(sa.Text), server_default=words, comment=comment)
    elif get_origin(kind) is tuple:
        yield required(name, JSONB, server_default=EMPTY_JSON_LIST, comment=comment)
    elif issubclass(kind, StrEnum):
        yield from choice(name, " ".join(kind), comment or "", server_default=str(default))
    else:
        stored = default if kind is str else sa.text(str(default).lower())
        yield required(name, PLAIN[kind], server_default=stored, comment=comment)


ai_rules: Final = table(
    "ai_rules",
    "one row per change of an account's settings",
    key("user_id", sa.Text, comment="the account"),
    key("version", sa.Integer, comment="one more with every change; the newest is in force"),
    *(part for field in fields(Account)[2:] for part in _parts(field)),
    required("changed_by", sa.Text, server_default=sa.text("current_user")),
    required("changed_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("version > 0", name="version_positive"),
    sa.CheckConstraint("keep_quarantine_days BETWEEN 30 AND 366", name="keep_quarantine_days_bounded"),
    sa.CheckConstraint("keep_drafts_days BETWEEN 1 AND 365", name="keep_drafts_days_bounded"),
    sa.CheckConstraint("appeal_within_days > 0 AND appeal_due_days > 0", name="appeal_days_positive"),
    sa.CheckConstraint("auto_from_confidence BETWEEN 0 AND 1", name="auto_from_confidence_is_share"),
    sa.CheckConstraint("budget_day_usd > 0 AND budget_month_usd > 0", name="budgets_positive"),
    sa.CheckConstraint(
        "requests_per_min > 0 AND tokens_per_min > 0 AND concurrent_events > 0", name="limits_positive"
    ),
    sa.CheckConstraint("people_idle_s >= 0", name="people_idle_not_negative"),
    sa.CheckConstraint("loop_replies BETWEEN 0 AND 10", name="loop_replies_bounded"),
    sa.CheckConstraint("burst_window_s BETWEEN 0 AND 30", name="burst_window_bounded"),
    sa.CheckConstraint("hold_max_s >= 0 AND reply_max_age_s >= 0", name="ages_not_negative"),
    sa.CheckConstraint(
        "jsonb_typeof(moderators) = 'array' AND NOT jsonb_path_exists(moderators,"
        ' \'$[*] ? (@.type() <> "object" || !exists(@.name ? (@.type() == "string"))'
        ' || !exists(@.endpoint ? (@.type() == "string")))\')',
        name="moderators_are_named",
    ),
    sa.CheckConstraint(
        "num_nulls(array_position(flagged_keywords, NULL), array_position(flagged_phrases, NULL),"
        " array_position(allowed, NULL), array_position(languages, NULL)) = 4",
        name="lists_without_null",
    ),
    sa.CheckConstraint(
        "jsonb_typeof(moderation_thresholds) = 'object' AND NOT jsonb_path_exists(moderation_thresholds,"
        " '$.* ? (@.type() <> \"number\" || @ < 0 || @ > 1)')",
        name="thresholds_are_shares",
    ),
    sa.CheckConstraint("jsonb_typeof(assessment_policy) = 'object'", name="assessment_policy_is_object"),
)
