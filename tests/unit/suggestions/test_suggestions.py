"""Suggestions: rules, words, questions and prompts, each from small sets whose answer is known."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID

import pytest

from trials.pure.suggestions.drift import DriftMeasure, ReplyWeek, drift_suggestions
from trials.pure.suggestions.model import SeenMessage, SettingEdit, edited_settings
from trials.pure.suggestions.questions import document_suggestions
from trials.pure.suggestions.rules import RuleAction, rule_suggestions
from trials.pure.suggestions.words import log_odds, word_suggestions
from worker.account_settings import changed
from worker.model import Account

NUMBERS = count(1)
START = datetime(2026, 11, 1, tzinfo=UTC)
SHOT = Account(user_id="shop", version=1, flagged_keywords=("shoot", "casino"))


def seen(text: str, ruling: str = "", *, rule: str = "flagged_keyword:shoot", **more: object) -> SeenMessage:
    """A message of an author of its own."""
    number = next(NUMBERS)
    made = SeenMessage(
        decision_id=UUID(int=number), decided_at=START + timedelta(minutes=number), text=text,
        author=f"a{number}", rule=rule, ruling=ruling,
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


WRONG = ("a photo shoot on Monday", "is the photo shoot booked?", "our photo shoot was fun")
RIGHT = ("I will shoot you", "shoot them all")


def test_a_rule_is_narrowed_by_an_entry_that_frees_the_overturned_messages() -> None:
    """The entry is in the overturned messages only; the matcher says what it releases and keeps."""
    reviewed = [*(seen(each, "overturn") for each in WRONG), *(seen(each, "agree") for each in RIGHT)]
    (found,) = rule_suggestions(SHOT, reviewed)

    assert found.evidence["action"] == RuleAction.ALLOW
    assert found.evidence["added"] == "photo shoot"
    assert (found.evidence["released"], found.evidence["lost"]) == (3, 0)
    assert (found.evidence["overturned"], found.evidence["upheld"]) == (3, 2)
    assert changed(SHOT, edited_settings(SHOT, found.edits)).allowed == ("photo shoot",)


def test_a_word_becomes_the_phrase_that_upheld_messages_share() -> None:
    """Where overturned messages share nothing, and the phrase keeps every upheld one."""
    wrong = ("shoot a film", "please shoot me a mail", "we shoot weddings", "a bamboo shoot")
    right = ("I will shoot you", "they will shoot you", "go, shoot you")
    reviewed = [*(seen(each, "overturn") for each in wrong), *(seen(each, "agree") for each in right)]
    (found,) = rule_suggestions(SHOT, reviewed)
    after = changed(SHOT, edited_settings(SHOT, found.edits))

    assert (found.evidence["action"], found.evidence["added"]) == (RuleAction.PHRASE, "shoot you")
    assert (after.flagged_keywords, after.flagged_phrases) == (("casino",), ("shoot you",))
    assert (found.evidence["released"], found.evidence["lost"]) == (4, 0)


def test_a_rule_that_is_certainly_wrong_is_retired() -> None:
    """When the upper end of its weighted precision is below one half, and nothing narrows it."""
    wrong = ("shoot a film", "please shoot a mail", "we shoot weddings", "a bamboo shoot", "shoot!")
    reviewed = [
        *(seen(each, "overturn", weight=4.0) for each in wrong),
        seen("shoot now", "agree", weight=1.0),
    ]
    (found,) = rule_suggestions(SHOT, reviewed)

    assert found.evidence["action"] == RuleAction.RETIRE
    assert found.evidence["sampled"] is True
    assert found.evidence["precision"]["share"] == pytest.approx(1 / 21)
    assert found.edits == (SettingEdit(setting="flagged_keywords", removed=("shoot",)),)


def test_rules_without_enough_overturns_are_left_alone() -> None:
    """Two overturns, a rule that is no longer in force, or another rule that stops the same: none."""
    few = [seen(each, "overturn") for each in WRONG[:2]]
    gone = [seen(each, "overturn", rule="flagged_keyword:gone") for each in WRONG]
    also = [seen(f"{each} casino", "overturn") for each in WRONG]

    assert rule_suggestions(SHOT, few) == ()
    assert rule_suggestions(SHOT, gone) == ()
    assert rule_suggestions(SHOT, also) == ()


def test_log_odds_follow_their_definition() -> None:
    """Equations 16, 20 and 22 of Monroe, Colaresi and Quinn, worked out by hand for one word."""
    missed = [frozenset({"x", "y"}), frozenset({"x"})]
    sent = [frozenset({"y"}), frozenset({"y", "z"})]
    scores = {each.word: each for each in log_odds(missed, sent)}

    # 3 words here, 3 there, prior mass 1 (a tenth of 6 is less): x counts 2 + 2/6 here and 2/6 there
    delta = math.log((7 / 3) / (4 - 7 / 3)) - math.log((1 / 3) / (4 - 1 / 3))
    assert scores["x"].z == pytest.approx(delta / math.sqrt(3 / 7 + 3))
    assert scores["x"].missed == 2
    assert scores["y"].z < 0


def test_words_of_missed_blocks_are_found_and_tried() -> None:
    """A word of the overturned replies' messages; upheld messages that it would stop are counted."""
    generator = random.Random(1)
    everyday = ("delivery", "price", "shop", "open", "parcel", "gift", "size", "colour", "return", "shirt")
    sent = [seen(" ".join(generator.sample(everyday, 3)), "", rule="") for _ in range(200)]
    sent += [seen("the giveaway price", "agree", rule="")]
    missed = [seen(f"free giveaway, {generator.choice(everyday)}", "overturn", rule="") for _ in range(6)]
    (found,) = word_suggestions(SHOT, missed, sent)

    assert found.key == "giveaway"
    assert found.edits == (SettingEdit(setting="flagged_keywords", added=("giveaway",)),)
    names = ("missed", "of_missed", "newly_stopped", "of_sent", "upheld", "not_reviewed")
    assert [found.evidence[each] for each in names] == [6, 6, 7, 207, 1, 0]


def test_a_word_of_one_author_is_never_proposed() -> None:
    """It could name a person."""
    missed = [seen(f"giveaway {word}", "overturn", rule="", author="one") for word in ("x", "yy", "zz", "ww")]
    sent = [seen("delivery price", rule="") for _ in range(50)]

    assert word_suggestions(SHOT, missed, sent) == ()


def test_questions_are_grouped_and_named_by_shared_words() -> None:
    """Groups of at least three questions of two authors; a name of one question is no part of the name."""
    gift = ("Do you sell gift cards?", "Is there a gift card, Alexandra asks", "gift cards for 20 euro?")
    park = ("Where is the parking?", "Is parking free?", "parking near the shop?", "Parking at night?")
    found = document_suggestions([seen(each) for each in (*gift, *park, "bicycles?", "do you repair shoes")])

    assert [each.evidence["questions"] for each in found] == [4, 3]
    assert found[0].evidence["words"] == ["parking"]
    assert found[1].evidence["words"][0] == "gift"
    assert "alexandra" not in found[1].evidence["words"]
    assert len(found[1].decisions) == 3


def test_questions_that_share_a_topic_are_one_group() -> None:
    """The assessment's topic counts beside the words, also for questions in other words."""
    asked = [
        seen(each, topics=("parking",)) for each in ("Parking?", "Where may my car stay?", "garage fee?")
    ]

    assert [each.evidence["questions"] for each in document_suggestions(asked)] == [3]


def weeks(new: str, old: str, *, refused: tuple[int, int] = (0, 0)) -> list[ReplyWeek]:
    """Six older and two newer weeks of forty replies."""
    texts = [old] * 6 + [new] * 2
    counts = [refused[0]] * 6 + [refused[1]] * 2
    return [
        ReplyWeek(number=number, replies=(text,) * 40, answered=50, refused=count_)
        for number, (text, count_) in enumerate(zip(texts, counts, strict=True))
    ]


def test_a_prompt_that_drifts_is_named_with_its_interval() -> None:
    """Hedges, refusals and length; the earlier prompt is the change, where there is another one."""
    plain, hedged = "We open at nine.", "Perhaps we might open at nine, I think, but I am not sure."
    found = drift_suggestions(weeks(hedged, plain, refused=(1, 20)), "Be brief.")
    by_measure = {each.key: each for each in found}

    assert set(by_measure) == set(DriftMeasure)
    hedges = by_measure[DriftMeasure.HEDGES].evidence
    assert (hedges["before"], hedges["after"], hedges["of_after"]) == (0.0, 1.0, 80)
    assert 0.9 < hedges["low"] <= hedges["change"] <= hedges["high"] <= 1.0
    assert len(hedges["weeks"]) == 8
    assert by_measure[DriftMeasure.LENGTH].edits == (SettingEdit(setting="prompt", value="Be brief."),)
    assert drift_suggestions(weeks(plain, plain), "Be brief.") == ()
    assert drift_suggestions(weeks(hedged, plain), None)[0].edits == ()


def test_edits_are_made_to_the_rules_in_force() -> None:
    """Rules that were added meanwhile stay; an entry that exists is not added twice."""
    later = replace(SHOT, flagged_keywords=("shoot", "casino", "later"))
    edit = SettingEdit(setting="flagged_keywords", added=("casino", "new"), removed=("shoot",))

    assert edited_settings(later, [edit]) == {"flagged_keywords": ["casino", "later", "new"]}
