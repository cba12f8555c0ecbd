"""Delivered replies have no citations, and their sources are listed separately."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import passage
from worker.assessment import cited_sources, delivered_text
from worker.model import Source

THREE = (passage(1), passage(2), passage(3, text="See footnote [12]. The code was 1999."))


@pytest.mark.parametrize(
    ("draft", "sent"),
    [
        ("We open at nine [1].", "We open at nine."),
        ("We open at nine. [1]", "We open at nine."),
        ("We open at nine.[1]", "We open at nine."),
        ("We open at nine. [1].", "We open at nine."),
        ("We open at nine [1][2].", "We open at nine."),
        ("We open at nine [1] [2], not ten [3]!", "We open at nine, not ten!"),
        ("We open at nine [1, 2].", "We open at nine."),
        ("We open at nine [1], [2] and close at six.", "We open at nine and close at six."),
        ("We open at nine [1-3].", "We open at nine."),
        ("We open at nine ([1]).", "We open at nine."),
        ("We open at nine [^1].", "We open at nine."),
        ("We open at nine 【1†source】.", "We open at nine."),
        ("We open at nine [1](https://x.example/a).", "We open at nine."),
        ("We open [1] at nine.", "We open at nine."),
        ("We open at nine.[1]We close at six.[2]", "We open at nine. We close at six."),
        ("[1] We open at nine.", "We open at nine."),
        ("- nine [1]\n- six [2]", "- nine\n- six"),
        ("  - nine [1]\n    - six [2]\n", "- nine\n    - six"),
        ("We open at nine.\n\n[1]", "We open at nine."),
        ("We open at nine.\n\n[1]\n\nWe close at six.", "We open at nine.\n\nWe close at six."),
        ("We open at nine [1].\n\nSources: [1], [2]", "We open at nine."),
        ("Mở cửa lúc chín giờ [1]. Đóng cửa lúc sáu giờ [2].", "Mở cửa lúc chín giờ. Đóng cửa lúc sáu giờ."),
        ("Cửa hàng “An” [1] mở lúc chín giờ.\nNguồn: [1]", "Cửa hàng “An” mở lúc chín giờ."),
        ("我们九点开门[1]。六点关门【2】。", "我们九点开门。六点关门。"),
        ("我们九点开门。[1]六点关门。[1，2]", "我们九点开门。六点关门。"),
        ("我们[1]九点开门", "我们九点开门"),
        ("เราเปิดเก้าโมง[1]ปิดหกโมง", "เราเปิดเก้าโมงปิดหกโมง"),
        (
            "우리는 아홉 시에 엽니다[1]. 여섯 시에 [2] 닫습니다.",
            "우리는 아홉 시에 엽니다. 여섯 시에 닫습니다.",
        ),
        ("Ouvert à neuf heures [1] !", "Ouvert à neuf heures !"),
        ("Nine [7].", "Nine."),
        ("Nine, [12] says the paper [3].", "Nine, [12] says the paper."),
        ("The model of [2024] opens at nine [1].", "The model of [2024] opens at nine."),
        ("Use `list[1]` [1]:\n```\nx = y[1]\n```", "Use `list[1]`:\n```\nx = y[1]\n```"),
        ("We open at nine.", "We open at nine."),
        ("[1] [2]", ""),
        ("Sources: [1]", ""),
        ("Sources: [1], [2]\n", ""),
        ("**Sources:** [1]", ""),
        ("\nNguồn: [1]", ""),
        ("来源：[1]", ""),
        ("Sources: page two [1]", "Sources: page two"),
    ],
)
def test_a_reply_reads_as_if_it_had_never_been_marked(draft: str, sent: str) -> None:
    """Spaces, brackets, punctuation and empty lines that belong to a citation are removed with it."""
    assert delivered_text(draft, THREE) == sent


@pytest.mark.parametrize(
    ("draft", "sent"),
    [("Hello! How can I help? [1]", "Hello! How can I help?"), ("Run `x[1]`.", "Run `x[1]`.")],
)
def test_without_passages_a_mark_names_none(draft: str, sent: str) -> None:
    """A mark in a draft without passages is not delivered."""
    assert delivered_text(draft, ()) == sent
    assert cited_sources(draft, ()) == ()


@given(st.text(alphabet="ab .,[]12\n()`ầ九。", max_size=60))
def test_nothing_but_marks_and_space_leaves(draft: str) -> None:
    """All other letters keep their order, and a second pass finds no citation."""
    sent = delivered_text(draft, THREE)

    letters = [char for char in draft if char in "abầ九"]
    assert [char for char in sent if char in "abầ九"] == letters


def test_the_sources_are_the_passages_that_the_draft_cites() -> None:
    """Each once, by number; a number without a passage is no source."""
    found = cited_sources("Nine [3]. Six [1, 3] [9]. `[2]`", THREE)

    assert found == (
        Source(number=1, passage_id="1#1", title="Opening hours"),
        Source(number=3, passage_id="3#1", title="Opening hours"),
    )
    assert found[0].shape() == {
        "number": 1,
        "document_id": "1",
        "passage_id": "1#1",
        "title": "Opening hours",
    }
    assert [each.number for each in cited_sources("Nine [1-3].", THREE)] == [1, 2, 3]
