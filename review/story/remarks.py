"""What went on beside a decision that its reader should know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from review.story.sentences import Facts
from review.story.wording import counted, kind, span_of
from worker.model import FailurePolicy


def remarks(facts: Facts) -> tuple[str, ...]:
    """One sentence each."""
    return tuple(text for look in LOOKS if (text := look(facts)))


def _unmoderated(facts: Facts) -> str:
    skipped = [each for each in facts.snapshot["stages"] if each["detail"].get("moderated") is False]
    if not skipped or facts.failure is not FailurePolicy.ALLOW or "MODERATION" in facts.row["reason_code"]:
        return ""
    what = " and ".join(
        "the draft" if each["stage"].endswith("_reply") else "the message" for each in skipped
    )
    return f"Nobody moderated {what}: the moderation service was away, and this account goes on without it."


def _searched_less(facts: Facts) -> str:
    kinds = [
        (each["detail"].get("error"), each["detail"].get("degraded"))
        for each in facts.snapshot["stages"]
        if each["stage"] == "retrieval"
    ]
    if failed := next((error for error, _ in kinds if error), ""):
        return f"The documents could not be searched ({kind(failed)})."
    if less := next((degraded for _, degraded in kinds if degraded), ""):
        return f"The documents were searched by words alone, the embedding model was away ({kind(less)})."
    return ""


def _judge_away(facts: Facts) -> str:
    away = [
        each
        for each in facts.snapshot["attempts"]
        if each["stage"] == "judge" and each["outcome"] != "completed"
    ]
    return f"The judge of drafts did not answer ({kind(away[-1]['outcome'])})." if away else ""


def _tried_again(facts: Facts) -> str:
    tried = [each for each in facts.snapshot["attempts"] if each["stage"] == "generation"]
    failed = [each for each in tried if each["outcome"] != "completed"]
    if not failed or tried[-1] in failed:
        return ""
    often, waited = counted(len(failed)), sum(each["waited_s"] for each in tried)
    pause = f" after {span_of(waited)} of waiting" if waited else ""
    kinds = ", ".join(dict.fromkeys(kind(each["outcome"]) for each in failed))
    return f"The language model failed {often} ({kinds}) and answered when asked again{pause}."


def _rechecked(facts: Facts) -> str:
    if not (pair := facts.snapshot.get("rechecked")):
        return ""
    before, after = pair
    if after is None:
        return f"Rechecked: a second draft was tried and came to nothing; the first, {before:.2f}, stands."
    verdict = "the second draft stands" if after > before else "the first draft stands"
    return f"Rechecked: confidence {before:.2f} before, {after:.2f} after; {verdict}."


LOOKS: Final[tuple[Callable[[Facts], str], ...]] = (
    _unmoderated,
    _searched_less,
    _judge_away,
    _tried_again,
    _rechecked,
)
