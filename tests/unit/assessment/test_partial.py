"""The supported part of a draft: which sentences may be sent alone."""

from __future__ import annotations

import pytest

from tests.unit.assessment.samples import evidence
from worker.assessment import DraftCase, Evidence, parse_policy, supported_part
from worker.assessment.policies.partial import SupportedPart

SUPPORTED = "You can return any item within 30 days of delivery. [1]"
ALSO = "Refunds take 5 working days to arrive on your card. [1]"
INVENTED = "Every order travels by private jet and carries a lifetime guarantee since 1987."


def part(draft: str, found: Evidence | None = None, **changes: object) -> SupportedPart | None:
    """The supported part of a draft about returns."""
    case = DraftCase(query="What is the return policy?", evidence=found or evidence(0.9), draft=draft)
    values: dict[str, object] = {"min_share": 0.5, "judged": {}} | changes
    return supported_part(case, parse_policy({}), **values)  # type: ignore[arg-type]


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


def test_the_judge_s_score_of_a_sentence_replaces_the_signals() -> None:
    """A supported sentence that the judge refuses is left out, and the other way round."""
    plain = SUPPORTED.removesuffix(" [1]")
    found = part(f"{SUPPORTED} {INVENTED}", judged={plain: 0.1, INVENTED: 0.9})

    assert found == SupportedPart(text=INVENTED, removed=(SUPPORTED,))


def test_chinese_sentences_are_joined_without_spaces() -> None:
    """As Chinese is written."""
    text = "商店营业时间是九点到六点。退货期限是三十天。"
    found = part(
        "商店营业时间是九点到六点。每个订单都乘坐私人飞机。退货期限是三十天。", evidence(0.9, text=text)
    )

    assert found == SupportedPart(text=text, removed=("每个订单都乘坐私人飞机。",))
