"""``hushgate assess metrics``: figures of the policies on real events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cli.options import read_lists, time_of
from cli.output import emit, stdout_is_terminal
from db.audit.policy_metrics import MetricsFilter, policy_metrics


def metrics(
    account: Annotated[str | None, typer.Option("--account", help="Of this account (user_id).")] = None,
    since: Annotated[
        str | None,
        typer.Option(help="From this time or age on: 2026-11-21T10:00Z, 24h, 7d; default: everything."),
    ] = None,
    until: Annotated[str | None, typer.Option(help="Before this time or age; default: now.")] = None,
) -> None:
    """Print figures of each policy from the audit: confidence, rechecks, escalations, rejections by reason.

    Seven more for `validators`. A rejection by reason has its count and its share of the rejections.

    For example:

        hushgate assess metrics --account acme --since 7d
    """
    span = MetricsFilter(user_id=account, since=time_of("--since", since), until=time_of("--until", until))
    rows = read_lists(lambda connection: policy_metrics(connection, span))
    if not stdout_is_terminal():
        emit(rows, ())
        return
    rows = tuple(map(_with_reason_lines, rows))
    names = dict.fromkeys(name for row in rows for name in row if name != "policy")
    policies = [row["policy"] for row in rows]
    shown = [{"metric": name, **{row["policy"]: row.get(name) for row in rows}} for name in names]
    emit(shown, ["metric", *policies])


def _with_reason_lines(row: Mapping[str, Any]) -> dict[str, Any]:
    """The figures with a line for each reason of rejections."""
    figures = {name: value for name, value in row.items() if name != "rejections_by_reason"}
    reasons = row["rejections_by_reason"].items()
    return figures | {f"rejected: {name}": f"{each['count']} ({each['share']:.0%})" for name, each in reasons}
