"""``hushgate escalations``: messages that people must answer."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from cli.options import note_misspelt, with_pool
from cli.output import emit, fail
from db.escalations.listing import EscalationFilters, EscalationRecord, EscalationState, list_escalations

app = typer.Typer(no_args_is_help=True, help="Messages that people must answer: `list` them by queue.")
COLUMNS: Final = (
    "decision_id", "user_id", "conversation_id", "queue", "reason_code", "state", "opened_at", "cause",
)  # fmt: skip
MOST: Final = 10_000
ALL: Final = "all"


@app.command("list")
def list_(
    account: Annotated[str | None, typer.Option("--account", "-a", help="Only of this account.")] = None,
    state: Annotated[
        str, typer.Option(help=f"{', '.join(EscalationState)} or {ALL}.")
    ] = EscalationState.OPEN,
    queue: Annotated[
        str | None, typer.Option(help="Only of this queue; empty for those without one.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Only of this reason code.")] = None,
    conversation: Annotated[str | None, typer.Option(help="Only of this conversation.")] = None,
    after: Annotated[str | None, typer.Option(help="Decision id of the last one of the page before.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="Escalations to print at most.")] = 50,
) -> None:
    """Print escalations, oldest first.

    For example:

        hushgate escalations list --account corner-shop --queue returns
    """
    filters = EscalationFilters(
        accounts=None if account is None else (account,),
        state=_state(state),
        queue=queue,
        reason_code=reason,
        conversation_id=conversation,
    )
    last = _cursor(after)
    found = with_pool(lambda source: list_escalations(source, filters, limit=limit, after=last))
    emit([_row(each) for each in found], COLUMNS)
    note_misspelt(found, account)


def _state(text: str) -> EscalationState | None:
    if text == ALL:
        return None
    if text not in frozenset(EscalationState):
        raise fail(f"--state: expected {', '.join(EscalationState)} or {ALL}, got {text!r}")
    return EscalationState(text)


def _cursor(text: str | None) -> UUID | None:
    try:
        return None if text is None else UUID(text)
    except ValueError:
        raise fail(f"--after: expected the id of a decision, got {text!r}") from None


def _row(record: EscalationRecord) -> dict[str, Any]:
    return asdict(record) | {"state": record.state}
