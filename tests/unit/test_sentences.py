"""Every reason is explained in one sentence, with the facts that decided."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from db.audit.settings_snapshot import SettingsVersion
from db.people.records import Role
from review.access import ACTIONS, ROLE_NAMES, Right
from review.decision.clauses import ExplanationFacts
from review.decision.explanation import SENTENCES, explain
from review.decision.margins import Margin
from review.decision.notices import notices
from review.words import decisions as wording
from trials.pages.suggestions_page import KINDS, MEASURES
from trials.pure.suggestions.drift import DriftMeasure
from trials.pure.suggestions.model import SuggestionKind
from worker.model import AttemptOutcome, Combination, FailurePolicy
from worker.reasons import Reason
from worker.rules.model import MatchMethod
from worker.snapshot import Snapshot

NOW = datetime(2026, 11, 22, tzinfo=UTC)
BEGINNINGS = (
    "Nothing was sent: ",
    "A reply was sent: ",
    "A prepared text was sent",
    "Handed to a person: ",
    "A program may send its draft: ",
)


def row(reason: str = "REPLIED", **more: Any) -> dict[str, Any]:
    """A decision's row with an empty trace; further values go to the row or, known there, to the trace."""
    snapshot: dict[str, Any] = {
        "received_at": (NOW - timedelta(hours=1)).isoformat(),
        "created_at": (NOW - timedelta(hours=25)).isoformat(),
        "stages": [],
        "findings": [],
        "attempts": [],
        "passages": [],
        "assessment": None,
        "rechecked": None,
    }
    given = {
        "user_id": "corner-shop",
        "reason_code": reason,
        "decision": "respond" if reason == "REPLIED" else "ignore",
        "matched_rule": None,
        "confidence": 0.5,
        "candidate_id": None,
        "created_at": NOW,
    }
    known = {name: more.pop(name) for name in list(more) if name in snapshot and name not in given}
    return given | more | {"snapshot_json": snapshot | known}


def stage(name: str, **detail: Any) -> dict[str, Any]:
    """One stage of a trace."""
    return {"stage": name, "outcome": "passed", "duration_ms": 1.0, "detail": detail}


def attempt(name: str, number: int, outcome: str, waited_s: float = 0.0) -> dict[str, Any]:
    """One attempt of a trace."""
    return {"stage": name, "number": number, "outcome": outcome, "waited_s": waited_s, "detail": ""}


def rule(written: str, how: str, kind: str = "keyword") -> dict[str, Any]:
    """What a decision on a rule's hit carries."""
    label = f"flagged_{kind}:{written}"
    return {"matched_rule": label, "findings": [{"matched_rule": label, "how": how}]}


def settings(**values: Any) -> SettingsVersion:
    """A settings version with these values."""
    given: dict[str, Any] = {
        "version": 1,
        "changed_by": "ann",
        "changed_at": NOW,
        "moderation_thresholds": {},
        "moderation_failure": FailurePolicy.HOLD,
        "moderators": (),
        "moderation_combination": Combination.ANY,
        "hold_max_s": 60.0,
        "reply_max_age_s": 60.0,
        "assessment_policy": {},
        "has_fallback_texts": False,
        "rules_on_reply": True,
        "languages": (),
        "keywords": 0,
        "phrases": 0,
        "allowed": 0,
        "has_rule": False,
    }
    return SettingsVersion(**given | values)


def facts(decision: dict[str, Any], **more: Any) -> ExplanationFacts:
    """Its facts."""
    return ExplanationFacts(row=decision, snapshot=Snapshot.from_json(decision["snapshot_json"]), **more)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_one_sentence(reason: Reason) -> None:
    """Either declared with the reason or made from the decision's data, never both."""
    assert (reason in SENTENCES) != bool(reason.spec.explanation)


@pytest.mark.parametrize("reason", Reason)
def test_every_sentence_begins_with_what_happened(reason: Reason) -> None:
    """Also where the trace is as bare as can be."""
    expected = explain(facts(row(reason)))

    assert expected.startswith(BEGINNINGS)
    assert expected.endswith(".")
    assert reason not in expected


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (
            row("FLAGGED_RULE", **rule("spam", "leet+separated")),
            "blocked word “spam” (digits or signs for letters, separated letters).",
        ),
        (
            row("REPLY_FLAGGED_RULE", **rule("buy now", "exact", "phrase")),
            "the drafted reply was stopped, as it contains the account's blocked phrase “buy now” (exact",
        ),
        (
            row(
                "MODERATION_FLAGGED",
                matched_rule="openai_moderation:hate",
                stages=[stage("moderation", highest={"hate": {"score": 0.93, "threshold": 0.7}})],
            ),
            "found hate (score 0.93, this account's threshold is 0.70) in the message.",
        ),
        (
            row(
                "MODERATION_UNAVAILABLE",
                attempts=[
                    attempt("moderation", 1, "timeout"),
                    attempt("moderation", 2, "server_error"),
                    attempt("moderation", 3, "timeout"),
                ],
            ),
            "no result for the message in 3 attempts (timed out, server error), and this account is set to",
        ),
        (
            row(
                "MODERATION_FLAGGED",
                matched_rule="house:insults",
                stages=[stage("moderation", highest={"house:insults": {"score": 0.93, "threshold": None}})],
            ),
            "the moderator “house” found insults (score 0.93, flagged by the model itself)",
        ),
        (
            row(
                "REPLY_MODERATION_UNAVAILABLE",
                stages=[stage("moderation_reply", decided_by="house")],
                attempts=[
                    attempt("moderation_reply", 1, "timeout") | {"moderator": "other"},
                    attempt("moderation_reply", 1, "unreadable") | {"moderator": "house"},
                ],
            ),
            "“house” gave no result for the drafted reply in one attempt (a response in an unexpected",
        ),
        (
            row("LLM_ERROR", attempts=[attempt("generation", 1, "rate_limited")]),
            "no usable answer in one attempt (too many requests).",
        ),
        (
            row(
                "LLM_ERROR",
                attempts=[
                    attempt("generation", 1, "completed"),
                    attempt("generation", 1, "server_error"),
                    attempt("generation", 2, "timeout"),
                ],
            ),
            "no usable answer in 2 attempts (server error, timed out).",
        ),
        (
            row(
                "LOW_CONFIDENCE",
                assessment={"failed_checks": ["invalid_citation"], "category": "invalid_citation"},
                stages=[stage("generation")],
            ),
            "drafted but not trusted; it cites a passage that does not exist.",
        ),
        (
            row("NO_EVIDENCE", passages=[{}, {}]),
            "no passage of the account's documents matches the message",
        ),
        (
            row("REPLIED", assessment={"category": "greeting", "passed_checks": ["gate"]}),
            "A reply was sent: it is a greeting",
        ),
    ],
)
def test_a_sentence_names_the_facts_that_decided(decision: dict[str, Any], expected: str) -> None:
    """Words, scores, thresholds and attempts, not codes."""
    assert expected in explain(facts(decision))


def test_limits_of_the_account_are_named() -> None:
    """Those of the version that the decision used."""
    late = facts(row("TOO_LATE"), settings=settings(reply_max_age_s=86_400.0))
    held = facts(row("MODERATION_TIMED_OUT"), settings=settings(hold_max_s=3600.0))
    margin = Margin(
        subject="draft", measure="confidence", score=0.62, threshold=0.7, effect="sent", sends=True
    )
    short = facts(row("LOW_CONFIDENCE", stages=[stage("generation")]), margins=(margin,))

    assert "was 25 h old, longer than the 24 h" in explain(late)
    assert "held for 1 h at most" in explain(held)
    assert "its confidence is 0.62 where 0.70 is needed" in explain(short)


def test_a_covered_decision_does_not_quote_the_rule() -> None:
    """The blocked word is part of the message, and the message is covered."""
    expected = explain(facts(row("FLAGGED_RULE", **rule("knife", "exact")), hides_rule=True))

    assert expected == "Nothing was sent: the message contains a blocked word of the account."


def test_a_fuzzy_rule_is_named_with_the_text_and_its_place() -> None:
    """The text differs from the rule, so the sentence quotes both; without direction controls."""
    label = "flagged_keyword:~casino"
    found = {"matched_rule": label, "how": "case+typo", "stage": "rules", "span": [2, 9]}
    decision = row("FLAGGED_RULE", matched_rule=label, findings=[found], message_text="a Cas\u202enos!")

    assert explain(facts(decision)) == (
        "Nothing was sent: the message contains the account's blocked word “~casino” (other case, one letter "
        "differs or two are exchanged): “Casnos”, characters 3 to 9."
    )
    assert "Casnos" not in explain(facts(decision, hides_rule=True))
    assert "Casnos" not in explain(facts(decision | {"message_text": "a C"}))


def test_a_reason_of_a_later_release_is_named_as_it_is() -> None:
    """The pages can be older than the worker."""
    assert "TELEPATHY" in explain(facts(row("TELEPATHY")))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0114, "11.4 ms"),
        (1.5, "1.5 s"),
        (90, "90 s"),
        (2700, "45 min"),
        (3600, "1 h"),
        (12000, "3 h 20 min"),
        (86400, "24 h"),
        (90000, "25 h"),
        (172800, "2 days"),
        (700000, "8 days"),
    ],
)
def test_durations_are_in_the_largest_fitting_unit(seconds: float, expected: str) -> None:
    """Without superfluous digits."""
    assert wording.duration_wording(seconds) == expected


def test_notices_name_what_else_happened() -> None:
    """No moderation, a reduced search, no judge, a retry, a recheck."""
    decision = row(
        stages=[stage("moderation", moderated=False), stage("retrieval", degraded="timeout")],
        attempts=[
            attempt("generation", 1, "timeout", waited_s=2.0),
            attempt("generation", 2, "completed"),
            attempt("judge", 1, "connection"),
        ],
        rechecked=[0.61, 0.78],
    )

    assert notices(facts(decision, settings=settings(moderation_failure=FailurePolicy.ALLOW))) == (
        "Moderation was unavailable for the message, and this account is set to continue without moderation.",
        "The documents were searched by words only: the embedding model did not answer (timed out).",
        "The judge of drafts did not answer (no connection).",
        "The language model failed once (timed out) and answered on retry after 2 s of waiting.",
        "Rechecked: confidence 0.61 before, 0.78 after; the second draft was kept.",
    )
    assert notices(facts(row())) == ()


def test_every_code_has_words() -> None:
    """Pages show no code of ours, but for the general `unavailable`."""
    unnamed = {AttemptOutcome.COMPLETED, AttemptOutcome.UNAVAILABLE}

    assert set(AttemptOutcome) - set(wording.ATTEMPT_OUTCOMES) == unnamed
    assert set(wording.MATCH_METHODS) == set(MatchMethod)
    assert (set(ROLE_NAMES), set(ACTIONS)) == (set(Role), set(Right))
    assert (set(KINDS), set(MEASURES)) == (set(SuggestionKind), set(DriftMeasure))


def test_a_search_of_the_model_is_no_retry() -> None:
    """Two rounds that both went well are no retry."""
    rounds = [attempt("generation", 1, "completed"), attempt("generation", 1, "completed")]

    assert notices(facts(row(attempts=rounds))) == ()
