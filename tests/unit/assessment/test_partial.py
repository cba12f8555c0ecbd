"""The supported part of a draft: which sentences may be sent alone."""

from __future__ import annotations

import pytest

from tests.support.readings import reading, said
from tests.unit.assessment.samples import evidence
from worker.assessment import DraftCase, DraftReading, Evidence, ReadingOutcome, supported_part
from worker.assessment.policies.partial import SupportedPart
from worker.assessment.reading.answer import read_answer
from worker.assessment.reading.asking import Wanted, checked_answer, reading_request

SUPPORTED = "You can return any item within 30 days of delivery. [1]"
ALSO = "Refunds take 5 working days to arrive on your card. [1]"
INVENTED = "Every order travels by private jet and carries a lifetime guarantee since 1987."


def part(
    draft: str, found: Evidence | None = None, *, support: float = 0.97, min_share: float = 0.5
) -> SupportedPart | None:
    """The supported part of a draft about returns; a judge supports each sentence that the passage has."""
    case = DraftCase(
        query="What is the return policy?", evidence=evidence(0.9) if found is None else found, draft=draft
    )
    request = reading_request(case, Wanted(verdicts=True))
    answer = reading(
        *(
            said("supported", each, probability=support)
            if each in case.context
            else said("no_claim" if each == "Sure!" else "not_mentioned", probability=0.0)
            for each in request.sentences
        )
    )
    read = checked_answer(read_answer(answer, request), request)
    return supported_part(case, read, min_share=min_share, send_at=0.5)


@pytest.mark.parametrize(
    ("draft", "text", "removed"),
    [
        (f"{SUPPORTED} {INVENTED}", SUPPORTED, (INVENTED,)),
        (f"{INVENTED} {SUPPORTED}", SUPPORTED, (INVENTED,)),
        (f"{SUPPORTED} {INVENTED} {ALSO}", f"{SUPPORTED} {ALSO}", (INVENTED,)),
        (f"{SUPPORTED}\n{INVENTED}\n{ALSO}", f"{SUPPORTED}\n{ALSO}", (INVENTED,)),
        (f"Sure! {SUPPORTED} {INVENTED}", SUPPORTED, ("Sure!", INVENTED)),
    ],
)
def test_supported_sentences_are_kept_with_their_citations(
    draft: str, text: str, removed: tuple[str, ...]
) -> None:
    """The others are named for the audit."""
    assert part(draft) == SupportedPart(text=text, removed=removed)


@pytest.mark.parametrize(
    "draft",
    [
        INVENTED,
        f"{SUPPORTED} {ALSO}",
        f"{SUPPORTED} {INVENTED} Jets depart from the moon at midnight.",
        f"{SUPPORTED} However, every order travels by private jet since 1987.",
        f"{INVENTED} It can be returned within 30 days of delivery. [1]",
        f"{SUPPORTED} Unless it was bought on the moon in 1987.",
        f"{SUPPORTED} {INVENTED} See [9].",
        "Hello! How can I help you?",
        "",
    ],
)
def test_too_little_or_linked_support_sends_nothing(draft: str) -> None:
    """Nor does a draft in which nothing is missing, or one that cites what does not exist."""
    assert part(draft) is None


def test_without_passages_nothing_is_supported() -> None:
    """No evidence supports no sentence."""
    assert part(f"{SUPPORTED} {INVENTED}", Evidence()) is None


def test_the_least_share_decides_how_many_sentences_are_enough() -> None:
    """One of two is a half."""
    assert part(f"{SUPPORTED} {INVENTED}", min_share=0.5) is not None
    assert part(f"{SUPPORTED} {INVENTED}", min_share=0.51) is None


@pytest.mark.parametrize(("support", "sent"), [(0.5, True), (0.49, False)])
def test_a_sentence_is_kept_from_half_a_probability_on(support: float, *, sent: bool) -> None:
    """More likely right than wrong."""
    assert (part(f"{SUPPORTED} {INVENTED}", support=support) is not None) is sent


@pytest.mark.parametrize("outcome", [ReadingOutcome.OFF, ReadingOutcome.UNAVAILABLE, None])
def test_without_a_reading_there_is_no_supported_part(outcome: ReadingOutcome | None) -> None:
    """Words alone support nothing."""
    case = DraftCase(query="", evidence=evidence(0.9), draft=f"{SUPPORTED} {INVENTED}")
    read = DraftReading(outcome=outcome) if outcome else None

    assert supported_part(case, read, min_share=0.1, send_at=0.0) is None


def test_no_part_of_a_draft_with_a_promise_is_sent() -> None:
    """The supported sentence may be what the promise explains."""
    case = DraftCase(query="", evidence=evidence(0.9), draft=f"{SUPPORTED} We did it for you.")
    request = reading_request(case, Wanted(verdicts=True))
    plain = SUPPORTED.removesuffix(" [1]")
    answer = reading(said("supported", plain), said("promise", probability=0.0))
    read = checked_answer(read_answer(answer, request), request)

    assert supported_part(case, read, min_share=0.1, send_at=0.5) is None


def test_chinese_sentences_are_joined_without_spaces() -> None:
    """As Chinese is written."""
    text = "商店营业时间是九点到六点。退货期限是三十天。"
    found = part(
        "商店营业时间是九点到六点。每个订单都乘坐私人飞机。退货期限是三十天。", evidence(0.9, text=text)
    )

    assert found == SupportedPart(text=text, removed=("每个订单都乘坐私人飞机。",))
