"""``hushgate trials suggestions``: what reviews and decisions suggest to change."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer

from cli.options import database_url
from cli.output import emit, errors
from db.pool import check_reachable
from db.review_store import Store
from trials.commands.shared import require_used
from trials.jobs.suggesting import compute_suggestions
from trials.pages.suggestions_page import suggestion_note
from trials.pure.suggestions.model import LearningSuggestion, SuggestionKind
from trials.store.suggestions import AccountSuggestions, load_suggestions_of

COLUMNS: Final = ("kind", "subject", "evidence", "candidate")


def suggestions(
    user_id: Annotated[str, typer.Argument(help="The account (user_id).")],
    kind: Annotated[SuggestionKind | None, typer.Option(help="Only suggestions of this kind.")] = None,
    compute: Annotated[bool, typer.Option("--compute", help="Compute them again first.")] = False,
) -> None:
    """Print what reviews and decisions suggest to change: rules, words, documents, prompts.

    The review server computes suggestions once a day. `candidate` has the changes of settings; the page Learn
    makes a candidate of them. For example:

        hushgate trials suggestions acme --kind word
    """
    found = asyncio.run(_load(user_id, compute=compute))
    if found.computed_at is None:
        errors.print("No suggestions yet: the review server computes them once a day, --compute does it now.")
    shown = (each for each in found.found if kind is None or each.kind is kind)
    emit(map(_line, shown), COLUMNS)


async def _load(user_id: str, *, compute: bool) -> AccountSuggestions:
    url = database_url()
    await check_reachable(url)
    async with Store(url, size=1) as store:
        await require_used(store.pool, user_id)
        if compute:
            await compute_suggestions(store, user_id, datetime.now(UTC))
        return await load_suggestions_of(store.pool, user_id)


def _line(found: LearningSuggestion) -> dict[str, Any]:
    is_group = found.kind in {SuggestionKind.DOCUMENT, SuggestionKind.FEEDBACK}
    subject = " ".join(found.evidence["words"]) if is_group else found.key
    return {
        "kind": found.kind.value,
        "subject": subject,
        "evidence": suggestion_note(found),
        "candidate": {
            each.setting: each.value
            if each.value is not None
            else {"add": list(each.added), "remove": list(each.removed)}
            for each in found.edits
        },
        "figures": dict(found.evidence),
        "decision_ids": [str(each) for each in found.decisions],
    }
