"""Options that choose decisions, the same for every command that shows some."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Annotated, Any, Final

import typer

from cli.options import moment
from cli.output import fail
from db.audit import ANY_STAGE, STAGES, Filters, Ran, ReviewFilter, Tier
from review.lists import reasons
from review.lists.filters import DEFAULT_AGE
from review.lists.parsers import EVER
from worker.model import Scope, StageOutcome, Verdict

Since = Annotated[
    str,
    typer.Option(help="From this time or age on: 2026-11-21T10:00Z, 24h, 7d; 'all' for everything."),
]
Until = Annotated[str | None, typer.Option(help="Before this time or age.")]
Account = Annotated[str | None, typer.Option("--account", help="Of this account (user_id).")]
Decided = Annotated[
    Verdict | None, typer.Option("--decision", case_sensitive=False, help="ignore, respond or escalate.")
]
ReasonCodes = Annotated[
    list[str] | None,
    typer.Option(
        "--reason",
        help="A reason code, such as LLM_ERROR; blocked or failed for those of the dashboard's tiles."
        " Several with commas or by repeating the option.",
    ),
]
Rule = Annotated[str | None, typer.Option(help="This matched rule; a * at the end matches a prefix.")]
Version = Annotated[
    int | None, typer.Option("--version", min=0, help="Of the account's settings; needs --account.")
]
InScope = Annotated[Scope | None, typer.Option("--scope", case_sensitive=False, help="chat or comment.")]
Conversation = Annotated[str | None, typer.Option(help="Of this conversation.")]
Author = Annotated[str | None, typer.Option(help="Of this author.")]
EventId = Annotated[str | None, typer.Option("--event", help="Of this event id.")]
Degraded = Annotated[bool | None, typer.Option("--degraded/--whole", help="Something was not consulted.")]
LeastConfidence = Annotated[
    float | None, typer.Option("--confidence-from", min=0, max=1, help="At least this confidence.")
]
MostConfidence = Annotated[
    float | None, typer.Option("--confidence-to", min=0, max=1, help="At most this confidence.")
]
TierOption = Annotated[
    Tier | None, typer.Option("--tier", case_sensitive=False, help="Of the assessment: high, medium or low.")
]
Stage = Annotated[
    str | None,
    typer.Option("--stage", help="A stage and how it ended: moderation:failed; *:failed is any stage."),
]
RanOption = Annotated[
    Ran | None,
    typer.Option("--ran", case_sensitive=False, help="On the way: retried, rechecked or improved."),
]
Review = Annotated[
    ReviewFilter | None,
    typer.Option("--review", case_sensitive=False, help="open, reviewed, agree, overturn, unsure, disputed."),
]
Assignee = Annotated[str | None, typer.Option("--assignee", help="A login: what they have in a queue.")]
Words = Annotated[str | None, typer.Option("--text", help="Part of the message, in any case.")]

DEFAULT_SINCE: Final = f"{DEFAULT_AGE // timedelta(hours=1)}h"
"""As on the pages: a command and a page with the same filters show the same."""
LONGEST_TEXT: Final = 500
"""As much of a message as is stored."""


def filters(
    since: Since = DEFAULT_SINCE,
    until: Until = None,
    account: Account = None,
    decision: Decided = None,
    reason: ReasonCodes = None,
    rule: Rule = None,
    version: Version = None,
    scope: InScope = None,
    conversation: Conversation = None,
    author: Author = None,
    event: EventId = None,
    degraded: Degraded = None,
    confidence_from: LeastConfidence = None,
    confidence_to: MostConfidence = None,
    tier: TierOption = None,
    stage: Stage = None,
    ran: RanOption = None,
    review: Review = None,
    assignee: Assignee = None,
    text: Words = None,
) -> Filters:
    """The filters a command line asks for."""
    if version is not None and account is None:
        raise fail("--version: expected --account beside it, as each account counts its own versions")
    if text is not None and not 0 < len(text) <= LONGEST_TEXT:
        raise fail(f"--text: expected 1 to {LONGEST_TEXT} characters, got {len(text)}")
    return Filters(
        since=None if since == EVER else moment("--since", since),
        until=moment("--until", until),
        user_id=account,
        decision=decision,
        reason_codes=_reasons(reason),
        matched_rule=rule,
        rules_version=version,
        scope=scope,
        conversation_id=conversation,
        author_id=author,
        event_id=event,
        degraded=degraded,
        least_confidence=confidence_from,
        most_confidence=confidence_to,
        tier=tier,
        stage_outcome=_stage(stage),
        ran=ran,
        review=review,
        assignee=assignee,
        text=text,
    )


def filtered(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all the options above; it gets them as its first parameter, a ``Filters``."""
    chosen = inspect.signature(filters).parameters
    own = list(inspect.signature(command).parameters.values())[1:]

    @wraps(command)
    def wrapped(**options: Any) -> None:  # noqa: ANN401  # whatever Typer has read
        wanted = filters(**{name: options.pop(name) for name in chosen})
        command(wanted, **options)

    hints = inspect.get_annotations(command, eval_str=True) | inspect.get_annotations(filters, eval_str=True)
    options = [*own, *chosen.values()]
    wrapped.__annotations__ = {each.name: hints[each.name] for each in options}
    wrapped.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[each.name]) for each in options]
    )
    return wrapped


def _reasons(given: list[str] | None) -> tuple[str, ...] | None:
    if not given:
        return None
    try:
        return reasons.codes_of(reasons.names_in(",".join(given)))
    except reasons.UnknownReason as error:
        near = difflib.get_close_matches(str(error).upper(), reasons.NAMES, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; they are {', '.join(reasons.NAMES)}"
        raise fail(f"--reason: expected a reason code, got {str(error)!r}{hint}") from error


def _stage(text: str | None) -> str | None:
    if text is None:
        return None
    stage, _, outcome = text.lower().partition(":")
    if stage in (*STAGES, ANY_STAGE) and outcome in list(StageOutcome):
        return f"{stage}:{outcome}"
    raise fail(
        f"--stage: expected one of {', '.join((*STAGES, ANY_STAGE))}, a colon and one of"
        f" {', '.join(StageOutcome)}, such as moderation:failed; got {text!r}"
    )
