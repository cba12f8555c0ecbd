"""Parts of a decision as pages and command line show it, and which corrections fit it."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any, Final

import pytest
from rich.console import Console
from structlog.testing import capture_logs

from cli.decisions.view import decision_details
from db.access_log import LoggedAction
from db.commits.stored_event import Recorded
from db.reviews.corrections import FITTING, Outcome, implied_correction, outcome_of, required_correction
from db.reviews.rulings import ReviewRejected, ReviewSource, Ruling, RulingReason
from features.feature import hook_values
from review.decision.clauses import ExplanationFacts
from review.decision.notices import notices
from review.decision.review_panel import KEYS, REASON_KEYS
from review.http import templating
from review.http.templating import STATIC
from review.words import access_log as wording
from review.words.decisions import DRAFT_PROBLEMS
from review.words.traces import SOURCES
from tasks.entries.outcome_log import log_decision
from tests.unit.test_metrics import decision
from tests.unit.test_snapshot import stored
from worker.assessment.policies.shortfalls import Shortfall
from worker.assessment.policies.vetoes import Veto
from worker.model import DecisionKind
from worker.reasons import Reason
from worker.snapshot import Snapshot

ROW: dict[str, Any] = dict.fromkeys(
    (
        "id",
        "created_at",
        "user_id",
        "scope",
        "conversation_id",
        "author_id",
        "message_text",
        "confidence",
        "matched_rule",
        "reply_text",
        "reply_draft",
        "reason",
    ),
    "x",
) | {
    "decision": "ignore",
    "reason_code": "FLAGGED_RULE",
    "assessed": False,
    "reviews": [],
    "candidate_id": None,
}


def test_passages_left_out_and_masked_data_are_shown() -> None:
    """With passage and check, and the number of values of each kind."""
    console = Console(width=200, record=True)
    for part in decision_details(ROW | {"snapshot_json": stored()}):
        console.print(part)
    shown = console.export_text()

    assert "injection:override" in shown
    assert "2#1" in shown
    assert '"email":2' in shown.replace(" ", "")


def test_the_assessment_has_each_measure_once() -> None:
    """Support, relevance and tier, of which the tier has its mark."""
    measured = {"policy": "calibrated@3", "tier": "high", "support": 0.97, "relevance": 0.9}
    console = Console(width=200, record=True, file=StringIO())
    for part in decision_details(ROW | {"snapshot_json": stored() | {"assessment": measured}}):
        console.print(part)
    shown = console.export_text()

    assert re.findall(r"^(support|relevance|tier) +(.+?) *$", shown, re.MULTILINE) == [
        ("support", "0.97"),
        ("relevance", "0.9"),
        ("tier", "✓ high"),
    ]


def test_a_notice_counts_the_passages_left_out() -> None:
    """A reviewer sees it above the texts."""
    facts = ExplanationFacts(row=ROW, snapshot=Snapshot.from_json(stored()))

    assert any("not shown to the language model" in each for each in notices(facts))


def test_the_tokens_of_each_of_several_models_are_printed() -> None:
    """With one model the sum says it."""
    spent = {"m": {"prompt": 7, "completion": 3}, "big": {"prompt": 20, "completion": 5}}
    console = Console(width=200, record=True, file=StringIO())
    for tokens in (spent, {"m": spent["m"]}):
        for part in decision_details(ROW | {"snapshot_json": stored() | {"tokens_by_model": tokens}}):
            console.print(part)
    text = console.export_text()

    assert text.count("tokens by model") == 1
    assert '"big":{"prompt":20,"completion":5}' in text.replace(" ", "")


STYLE = templating._environment()


@pytest.mark.parametrize(
    ("tier", "colour", "mark"), [("high", "good", "✓"), ("medium", "warn", "⚡"), ("low", "bad", "⚠")]
)
def test_the_badge_of_a_tier_has_its_colour(tier: str, colour: str, mark: str) -> None:
    """Green, yellow and red with the mark and the word; an unknown tier has no colour."""
    parts = STYLE.get_template("decision/_parts.html").module
    badge = parts.tier(tier)  # type: ignore[attr-defined]
    unknown = parts.tier("top")  # type: ignore[attr-defined]

    assert re.findall(r'class="badge (\w*)"', badge) == [colour]
    assert f"{mark} {tier}" in badge
    assert re.findall(r'class="badge (\w*)"', unknown) == [""]


def test_every_check_of_a_reading_has_words() -> None:
    """No code such as promised_action is shown for a check of a draft."""
    assert {*Veto, *Shortfall} <= set(DRAFT_PROBLEMS)


def test_a_clock_time_follows_until() -> None:
    """A time such as “in 58 min” is no end of a sentence with “until”, “at” or “since”."""
    relative = re.compile(r"\b(?:until|at|since) %\((\w+)\)s[^}]*?\b\1=[\w.]+ \| when\b(?!_)")
    folders = (templating.PACKAGE / "templates", *hook_values("templates"))
    found = {
        path.name
        for folder in folders
        for path in folder.rglob("*.html")
        if relative.search(path.read_text())
    }

    assert found == set()


KINDS: Final = {
    Outcome.REPLY: DecisionKind.RESPOND,
    Outcome.BLOCK: DecisionKind.IGNORE,
    Outcome.WITHHELD: DecisionKind.IGNORE,
    Outcome.HANDOFF: DecisionKind.ESCALATE,
}
ACTS: Final = re.compile(r'^    "(.)": \(?|, "(.)": ', re.MULTILINE)


@pytest.mark.parametrize("outcome", Outcome)
def test_every_fitting_reason_proposes_another_decision(outcome: Outcome) -> None:
    """A proposal that names the stored decision would be refused; each reason has a key of its own."""
    fitting = FITTING[outcome]
    keys = [REASON_KEYS[each.reason] for each in fitting]

    assert all(each.proposes is not KINDS[outcome] for each in fitting)
    assert len(set(keys)) == len(keys)
    assert RulingReason.CORRECT not in {each.reason for each in fitting}


def test_no_key_of_a_reason_is_a_key_of_every_page() -> None:
    """Such a key would move in a list or go to another page instead."""
    script = (STATIC / "keys.js").read_text()
    taken = {each for found in ACTS.findall(script[script.index("ACTS = {") :]) for each in found if each}

    assert taken.isdisjoint(REASON_KEYS.values())
    assert {"j", "n", *KEYS.values()} <= taken


@pytest.mark.parametrize(
    ("decision", "code", "outcome"),
    [
        (DecisionKind.RESPOND, "REPLIED", Outcome.REPLY),
        (DecisionKind.IGNORE, "FLAGGED_RULE", Outcome.BLOCK),
        (DecisionKind.IGNORE, "NO_EVIDENCE", Outcome.WITHHELD),
        (DecisionKind.IGNORE, "OF_ANOTHER_RELEASE", Outcome.WITHHELD),
        (DecisionKind.ESCALATE, "MODEL_ESCALATED", Outcome.HANDOFF),
    ],
)
def test_a_reply_and_a_block_have_different_reasons(
    decision: DecisionKind, code: str, outcome: Outcome
) -> None:
    """An unknown reason code of another release counts as withheld."""
    assert outcome_of(decision, code) is outcome


def test_a_correction_is_derived_only_where_one_is_possible() -> None:
    """By the reason alone; a reply that should have been answered makes no sense."""
    assert implied_correction(DecisionKind.IGNORE, RulingReason.SHOULD_ANSWER) is DecisionKind.RESPOND
    assert implied_correction(DecisionKind.RESPOND, RulingReason.SHOULD_ANSWER) is None
    assert implied_correction(DecisionKind.RESPOND, RulingReason.WRONG_FACTS) is None
    assert implied_correction(DecisionKind.RESPOND, None) is None


def test_an_overturn_without_a_correction_is_refused_by_name() -> None:
    """The message names both decisions that are possible; other rulings take none."""
    with pytest.raises(ReviewRejected, match="corrected decision: expected ignore or escalate"):
        required_correction(DecisionKind.RESPOND, Ruling.OVERTURN, RulingReason.WRONG_FACTS, None)
    with pytest.raises(ReviewRejected, match="expected only with overturn"):
        required_correction(DecisionKind.RESPOND, Ruling.AGREE, None, DecisionKind.IGNORE)
    given = required_correction(
        DecisionKind.RESPOND, Ruling.OVERTURN, RulingReason.WRONG_FACTS, DecisionKind.IGNORE
    )

    assert given is DecisionKind.IGNORE
    assert required_correction(DecisionKind.RESPOND, Ruling.AGREE, None, None) is None


def test_every_action_has_words_of_its_own() -> None:
    """Total over the codes, and no two read alike."""
    assert set(wording.ACTIONS) == set(LoggedAction)
    assert len(set(wording.ACTIONS.values())) == len(LoggedAction)
    assert wording.action_wording("of_another_release") == "of_another_release"


def test_a_detail_is_shown_as_names_and_values() -> None:
    """Nothing is lost but what is empty; hostile values stay texts."""
    values = {
        "live": False,
        "rows": 3,
        "query": "",
        "decisions": ["a", "b"],
        "from": None,
        "by_rule": {"a": 1},
    }

    assert wording.detail_wording(values) == (
        ("live", "no"),
        ("rows", "3"),
        ("decisions", "a, b"),
        ("from", "none"),
        ("by rule", '{"a":1}'),
    )


@pytest.mark.parametrize("source", ReviewSource)
def test_every_source_of_a_review_has_words(source: ReviewSource) -> None:
    """A review of a new source is shown too."""
    assert len(SOURCES[source]) > 3


@pytest.mark.parametrize(
    ("reason", "expected"),
    [(Reason.LLM_ERROR, ["error"]), (Reason.LLM_REJECTED, ["error"]), (Reason.TOO_LATE, [])],
)
def test_an_error_of_the_model_is_a_line_at_error_level(reason: Reason, expected: list[str]) -> None:
    """Beside the line of the silent failure; other endings have none."""
    with capture_logs() as lines:
        log_decision(decision("shop", reason), Recorded.NEW, 1)

    assert [each["log_level"] for each in lines if each["event"] == "llm_error"] == expected
