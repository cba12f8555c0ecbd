"""``hushgate costs``: what models cost, by day, account, model and purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Final

import typer

from cli.options import note_misspelt, time_of, with_pool, words_of
from cli.output import emit, emit_csv
from db.costs.report import CostFilter, CostKey, CostSum, load_costs

SUMS: Final = ("prompt_tokens", "completion_tokens", "usd", "unpriced_tokens")
DAYS: Final = 30


def costs(
    by: Annotated[
        str, typer.Option(help=f"What to sum by, of {', '.join(CostKey)}; empty for one sum.")
    ] = "day,account",
    account: Annotated[str | None, typer.Option("--account", "-a", help="Only of this account.")] = None,
    since: Annotated[
        str | None, typer.Option(help="From this day (UTC) or age on: 2026-11-01, 7d; default: 29d.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="To this day or age; default: today.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Print tokens and costs in US dollars, as counted with the decisions.

    Prices are those of HUSHGATE_PRICES when a decision was made, else list prices (docs/limits.md). Tokens of
    a model without a price are in unpriced_tokens and not in usd; usd is empty when no price is known.

    For example:

        hushgate costs --by day,model --since 2026-11-01

        hushgate costs --by account,purpose --csv > costs.csv
    """
    today = datetime.now(UTC).date()
    last = _day("--until", until, today)
    chosen = CostFilter(
        accounts=None if account is None else (account,),
        since=_day("--since", since, last - timedelta(days=DAYS - 1)),
        until=last,
    )
    keys = words_of("--by", by, CostKey)
    rows = [_row(each, keys) for each in with_pool(lambda source: load_costs(source, chosen, keys))]
    columns = (*keys, *SUMS)
    if as_csv:
        emit_csv(rows, columns)
    else:
        emit(rows, columns)
    note_misspelt(rows, account)


def _day(name: str, text: str | None, default: date) -> date:
    found = time_of(name, text)
    return default if found is None else found.date()


def _row(found: CostSum, keys: Sequence[CostKey]) -> dict[str, Any]:
    values = asdict(found) | {"day": found.day.isoformat() if found.day else None}
    return {name: values[name] for name in (*keys, *SUMS)}
