"""Personal data in disguise: what a person still reads is masked."""

from __future__ import annotations

import pytest

from worker.masking.detection import personal_spans, plain_text


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("email", "ann@exam\u200bple.org"),
        ("email", "a\u00adnn@example.org"),
        ("email", "ann&#64;example.org"),
        ("email", "ann&#x40;example&#46;org"),
        ("email", "ann&commat;example.org"),
        ("email", "ａｎｎ＠ｅｘａｍｐｌｅ．ｏｒｇ"),
        ("email", '"ann lee"@example.org'),
        ("card", "4111\u200b1111\u20601111\ufeff1111"),
        ("card", "４１１１ １１１１ １１１１ １１１１"),
        ("card", "٤١١١ ١١١١ ١١١١ ١١١١"),
        ("card", "4111.1111.1111.1111"),
        ("phone", "+49\u200b 30 901820"),
        ("iban", "DE89\u200b 3704 0044 0532 0130 00"),
    ],
)
def test_disguised_data_is_found_where_it_stands(kind: str, data: str) -> None:
    """The span covers the original text with its hidden characters."""
    text = f"Please write to {data} , thank you."
    (found,) = personal_spans(text)

    assert found.kind == kind
    assert text[found.start : found.end] == data


@pytest.mark.parametrize(
    "text", ["An order of 12 items for 1.000.000 đ.", "Cửa hàng mở cửa lúc 9 giờ", "a &amp; b"]
)
def test_plain_texts_are_not_folded(text: str) -> None:
    """They cost one search, and lose no character."""
    assert plain_text(text).text is text
    assert personal_spans(text) == ()


def test_data_after_a_fold_keeps_its_place() -> None:
    """Places behind a folded character are those of the original."""
    text = "１２ items for ann@example.org"
    (found,) = personal_spans(text)

    assert text[found.start : found.end] == "ann@example.org"
