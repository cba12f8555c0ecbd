"""What decisions and reviews suggest to change, each with its evidence, one click from a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings.accounts import current_account
from db.audit.suggestions import shown_decisions
from db.rows import Row
from review.access import Right
from review.accounts.stored_versions import account_of_path
from review.content_covers import cover_reason
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from trials.pure.suggestions.drift import DriftMeasure
from trials.pure.suggestions.model import LearningSuggestion, SuggestionKind, edited_settings
from trials.store.candidates import CandidateSource, add_candidate
from trials.store.suggestions import AccountSuggestions, load_suggestions_of
from worker.account_settings import AccountRejected

KINDS: Final[Mapping[SuggestionKind, str]] = {
    SuggestionKind.RULE: mark("Rules that reviews contradict"),
    SuggestionKind.WORD: mark("Words of messages that should have been stopped"),
    SuggestionKind.DOCUMENT: mark("Questions without a document"),
    SuggestionKind.FEEDBACK: mark("Replies that customers call wrong"),
    SuggestionKind.PROMPT: mark("Replies that change"),
}
"""Total; in the order of the page."""
MEASURES: Final[Mapping[DriftMeasure, str]] = {
    DriftMeasure.REFUSALS: mark("Refusals"),
    DriftMeasure.HEDGES: mark("Replies with a hedge"),
    DriftMeasure.LENGTH: mark("Length of replies"),
}
"""Total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSuggestion:
    """A suggestion as one person sees it.

    Attributes:
        examples: some of its decisions, each with the categories that cover it, empty for none.
        covered: categories that cover its words too, because no example is uncovered.
        gone: the suggestion names decisions, and all of them were erased.
    """

    found: LearningSuggestion
    examples: tuple[tuple[Row, tuple[str, ...]], ...]
    covered: tuple[str, ...]
    gone: bool


async def load_suggested(visit: Visit, account: str) -> Mapping[str, Any]:
    """What the part of the page "Learn" shows: how many of each kind, without words or texts."""
    stored = await load_suggestions_of(visit.store.pool, account)
    counted = [sum(each.kind is kind for each in stored.found) for kind in KINDS]
    kinds = tuple(zip(KINDS.values(), counted, strict=True))
    return {"filled": bool(stored.found), "suggested": stored, "kinds": kinds}


async def show_suggested(visit: Visit) -> Response:
    """The page of an account."""
    account = account_of_path(visit)
    stored = await load_suggestions_of(visit.store.pool, account)
    shown = [each for each in await _shown(visit, stored) if not each.gone]
    decisions = [str(row["id"]) for each in shown for row, _cover in each.examples]
    await visit.log(
        LoggedAction.READ, user_id=account, detail={"page": "suggestions", "decisions": decisions}
    )
    return visit.render(
        "learn/suggestions.html",
        account=account,
        tab="learn",
        stored=stored,
        sections=[
            (kind, title, [each for each in shown if each.found.kind is kind])
            for kind, title in KINDS.items()
        ],
        measures=MEASURES,
        made=visit.request.query_params.get("made") == "1",
    )


async def make_suggested(visit: Visit) -> Response:
    """Store a suggestion as a candidate, made from the settings in force now."""
    account = account_of_path(visit)
    stored = await load_suggestions_of(visit.store.pool, account)
    found = stored.get(visit.field("kind"), visit.field("key"))
    if found is None or not found.edits:
        raise Refused(
            409, _("No such suggestion"), _("The suggestions were computed again. Look at them first.")
        )
    settings = await current_account(visit.store.pool, account)
    kind = found.kind.value
    try:
        await add_candidate(
            visit.store.pool,
            account,
            edited_settings(settings, found.edits),
            now=visit.now,
            made_by=CandidateSource.SUGGESTION,
            created_by=visit.person.login,
            note=suggestion_note(found),
            logged=visit.entry(LoggedAction.SETTINGS, user_id=account, detail={"candidate": kind}),
        )
    except AccountRejected as rejected:
        raise Refused(409, _("This suggestion cannot be used"), str(rejected)) from rejected
    return visit.redirect("learn_suggestions", "made=1", account=account)


def suggestion_note(found: LearningSuggestion) -> str:
    """Why, in figures, for the list of candidates."""
    figures = found.evidence
    match found.kind:
        case SuggestionKind.RULE:
            return (
                f"{figures['overturned']} overturned, {figures['upheld']} upheld;"
                f" releases {figures['released']} overturned and {figures['lost']} upheld messages"
            )
        case SuggestionKind.WORD:
            return (
                f"in {figures['missed']} of {figures['of_missed']} messages with an overturned reply;"
                f" stops {figures['newly_stopped']} of {figures['of_sent']}, {figures['upheld']} upheld"
            )
        case SuggestionKind.PROMPT:
            return f"{figures['measure']}: {figures['before']:.2f} to {figures['after']:.2f} in two weeks"
        case SuggestionKind.DOCUMENT | SuggestionKind.FEEDBACK:
            return f"{figures['questions']} questions"


async def missing_document(visit: Visit, account: str) -> dict[str, str]:
    """The prefilled form of a document that questions miss: title and questions; empty without one."""
    stored = await load_suggestions_of(visit.store.pool, account)
    found = stored.get(SuggestionKind.DOCUMENT, visit.request.query_params.get("missing", ""))
    if found is None or not visit.may(Right.EDIT_RULES, account):
        return {}
    (shown,) = await _shown(visit, AccountSuggestions(found=(found,)))
    texts = dict.fromkeys(" ".join(row["message_text"].split()) for row, cover in shown.examples if not cover)
    decisions = [str(row["id"]) for row, cover in shown.examples if not cover]
    await visit.log(LoggedAction.READ, user_id=account, detail={"page": "documents", "decisions": decisions})
    title = "" if shown.covered else " ".join(found.evidence["words"])
    return {"title": title, "pasted": "\n\n".join(f"## {text}\n" for text in texts), "kind": ""}


async def _shown(visit: Visit, stored: AccountSuggestions) -> list[ShownSuggestion]:
    times: dict[UUID, datetime] = {}
    for each in stored.found:
        times |= each.decisions
    rows: Mapping[UUID, Row] = {}
    if times:
        rows = await visit.store.read_lists(lambda replica: shown_decisions(replica, times))
    return [_one(visit, each, rows) for each in stored.found]


def _one(visit: Visit, found: LearningSuggestion, rows: Mapping[UUID, Row]) -> ShownSuggestion:
    known = [rows[id_] for id_ in found.decisions if id_ in rows]
    examples = tuple((row, cover_reason(visit.person.covered, row)) for row in known)
    everything = all(cover for _, cover in examples)
    covered = sorted({each for _, cover in examples for each in cover}) if everything else []
    gone = bool(found.decisions) and not known
    return ShownSuggestion(found=found, examples=examples, covered=tuple(covered), gone=gone)
