"""The filters that the commands of ``hushgate dead-letters`` share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from cli.options import time_of
from cli.output import fail
from db.buried.letters import LetterFilter

Entries: TypeAlias = Annotated[
    list[str] | None, typer.Argument(help="Stream entry ids, as `list` prints them.", show_default=False)
]
LetterAccountOption: TypeAlias = Annotated[
    str | None, typer.Option("--account", "-a", help="Those whose payload names this account.")
]
ReasonOption: TypeAlias = Annotated[
    str | None, typer.Option("--reason", help="Those with this reason code, such as not_json or poison.")
]
SinceOption: TypeAlias = Annotated[
    str | None, typer.Option("--since", help="Those since this time or age, such as 24h.")
]
BeforeOption: TypeAlias = Annotated[
    str | None, typer.Option("--before", help="Those before this time, or older than this age.")
]
ShardOption: TypeAlias = Annotated[
    str | None, typer.Option("--shard", help="Those of this shard, as entry ids end: 2/4.")
]
LimitOption: TypeAlias = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Print what would happen; change nothing.")
]
TextsOption: TypeAlias = Annotated[
    bool, typer.Option("--texts", help="Also what users wrote; the access log says who read it.")
]
EveryOption: TypeAlias = Annotated[bool, typer.Option("--all", help="Without a filter: all of them.")]


def letter_filter(
    *,
    entries: list[str] | None = None,
    account: str | None,
    reason: str | None,
    since: str | None,
    before: str | None,
    shard: str | None,
) -> LetterFilter:
    """The filter that the options choose."""
    return LetterFilter(
        ids=tuple(entries) if entries else None,
        account=account,
        reason=reason,
        since=time_of("--since", since),
        before=time_of("--before", before),
        shard=None if shard is None else shard.removeprefix("@"),
    )


def require_choice(chosen: LetterFilter, *, every: bool) -> None:
    """Refuse to change all letters because a filter was forgotten."""
    if chosen.is_any and not every:
        raise fail("entries: expected entry ids, a filter or --all, got none of them")
