"""``hushgate assess metrics``: how the policies fared on real events."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from cli.options import connected, moment
from cli.output import emit, for_eyes
from db import audit
from db.assessment_figures import Span, policy_metrics


def metrics(
    account: Annotated[str | None, typer.Option("--account", help="Of this account (user_id).")] = None,
    since: Annotated[str | None, typer.Option(help="From this time or age on: 24h, 7d.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this time or age.")] = None,
) -> None:
    """How each policy fared in the audit: confidence, rechecks, escalations; of `validators` all its metrics.

    For example:

        hushgate assess metrics --account acme --since 7d
    """
    span = Span(user_id=account, since=moment("--since", since), until=moment("--until", until))
    rows = asyncio.run(_rows(span))
    if not for_eyes():
        emit(rows, ())
        return
    names = dict.fromkeys(name for row in rows for name in row if name != "policy")
    policies = [row["policy"] for row in rows]
    shown = [{"metric": name, **{row["policy"]: row.get(name) for row in rows}} for name in names]
    emit(shown, ["metric", *policies])


async def _rows(span: Span) -> tuple[dict[str, Any], ...]:
    async with audit.reading(connected().database_url.get_secret_value()) as connection:
        return await policy_metrics(connection, span)
