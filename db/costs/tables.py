"""The tables of costs."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION

from db.columns import NOW, ZERO, Timestamp, choice, index, key, required, table

account_costs: Final = table(
    "account_costs",
    "what each account spent in each day and month, UTC; counted in the commits of decisions",
    key("user_id", sa.Text, comment="the account"),
    *choice("grain", "day month", primary_key=True),
    key("start", sa.Date, comment="first day"),
    key("purpose", sa.Text, comment="completion, judge or moderation"),
    key("model", sa.Text, comment="as the server names it"),
    key("slot", sa.SmallInteger, comment="concurrent commits add to different rows; their sum counts"),
    required("decisions", sa.BigInteger, server_default=ZERO, comment="decisions with such a call"),
    required("prompt_tokens", sa.BigInteger, server_default=ZERO),
    required("completion_tokens", sa.BigInteger, server_default=ZERO),
    required("nano_usd", sa.BigInteger, server_default=ZERO, comment="of the tokens whose price is known"),
    required("unpriced_tokens", sa.BigInteger, server_default=ZERO, comment="tokens without a known price"),
    index("ix_account_costs_start", "grain", "start"),
)

budget_crossings: Final = table(
    "budget_crossings",
    "budgets that accounts have spent, one row each",
    key("user_id", sa.Text, comment="the account"),
    *choice("grain", "day month", primary_key=True),
    key("start", sa.Date, comment="first day"),
    key("budget_usd", DOUBLE_PRECISION, comment="a raised budget can be spent again"),
    *choice("action", "alert suggest silence", "at that time"),
    required("crossed_at", Timestamp, server_default=NOW, comment="when a worker noticed it"),
)
