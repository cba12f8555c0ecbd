"""Personal data: what is found, what is masked, and what comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import account
from worker.masking import Masker, PersonalKind, account_masker, personal_spans

COUNTRIES = ("de", "us", "vn")
DATA = (
    "ann.lee+shop@mail.example.org",
    "+49 170 1234567",
    "030 12345678",
    "(202) 555-0123",
    "4111 1111 1111 1111",
    "DE89 3704 0044 0532 0130 00",
    "[EMAIL_1]",
    "[PHONE_2]",
    "[text 1]",
    "[IBAN]",
    r"\[CARD\_1\]",
    "EMAIL_1",
)
TEXTS = st.lists(st.sampled_from(DATA) | st.text(max_size=8) | st.sampled_from(" .,;()[]_-+0123456789@")).map(
    "".join
)


def masker() -> Masker:
    return Masker(enabled=True, countries=COUNTRIES)


@pytest.mark.parametrize(
    ("text", "kind", "data"),
    [
        ("Write to ann@example.org, please", PersonalKind.EMAIL, "ann@example.org"),
        ("我的邮箱是abc_1@qq.com谢谢", PersonalKind.EMAIL, "abc_1@qq.com"),
        ("post an jörg@müller.de.", PersonalKind.EMAIL, "jörg@müller.de"),
        ("https://x.example/?to=ann%40example.org&a=1", PersonalKind.EMAIL, "ann%40example.org"),
        ("call +84 912 345 678 now", PersonalKind.PHONE, "+84 912 345 678"),
        ("gọi 0912 345 678 nhé", PersonalKind.PHONE, "0912 345 678"),
        ("Tel. (202) 555-0123", PersonalKind.PHONE, "(202) 555-0123"),
        ("reach me at 2025550123", PersonalKind.PHONE, "2025550123"),
        ("card 4111-1111-1111-1111 exp 12/29", PersonalKind.CARD, "4111-1111-1111-1111"),
        ("pay 12 4111 1111 1111 1111 7", PersonalKind.CARD, "4111 1111 1111 1111"),
        ("amex 378282246310005", PersonalKind.CARD, "378282246310005"),
        ("IBAN de89370400440532013000 and more", PersonalKind.IBAN, "de89370400440532013000"),
        ("请联系DE89370400440532013000谢谢", PersonalKind.IBAN, "DE89370400440532013000"),
        ("[030 12345678]", PersonalKind.PHONE, "030 12345678"),
        ("Maestro 6304 1154 4650 0130 00 ok", PersonalKind.CARD, "6304 1154 4650 0130 00"),
        ("GB82 WEST 1234 5698 7654 32 thanks", PersonalKind.IBAN, "GB82 WEST 1234 5698 7654 32"),
    ],
)
def test_personal_data_is_found_where_it_stands(text: str, kind: PersonalKind, data: str) -> None:
    """The span is the data and nothing beside it."""
    (span,) = personal_spans(text, COUNTRIES)

    assert (span.kind, text[span.start : span.end]) == (kind, data)


@pytest.mark.parametrize(
    "text",
    [
        "Card 4111 1111 1111 1112 has a wrong check digit",
        "DE88 3704 0044 0532 0130 00 has a wrong checksum",
        "order 2025550123",
        "Order no. 2025550123 of 2026-11-22 10:30",
        "订单号：2025550123",
        "server 192.168.100.200, version 10.20.30",
        "on 05.07.2007 22:49, at 33.912345, 151.234567",
        "1,234,567.89 EUR or $1299.00",
        "tracking 1Z999AA10123456784",
        "550e8400-e29b-41d4-a716-446655440000",
        "follow @annlee on any channel",
        "a @ b, 5 @ 3.50",
    ],
)
def test_other_numbers_are_no_personal_data(text: str) -> None:
    """Checksums, labels and shapes keep order numbers, dates, prices and addresses of computers."""
    assert personal_spans(text, COUNTRIES) == ()


def test_equal_data_has_equal_placeholders() -> None:
    """Over all texts of one event, counted by kind."""
    hides = masker()
    first = hides.mask("ann@example.org or bob@example.org, +49 170 1234567")
    second = hides.mask("From bob@example.org")

    assert first == "[EMAIL_1] or [EMAIL_2], [PHONE_1]"
    assert second == "From [EMAIL_2]"
    assert hides.counts == {"email": 2, "phone": 1}


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("[EMAIL_1] is not ann@example.org", "[TEXT_1] is not [EMAIL_2]"),
        ("1.030 12345678(202) 555-0123", "1.[PHONE_1][PHONE_2]"),
        ("x@ann.lee+bob@example.org", "[EMAIL_1][EMAIL_2]"),
        ("[EMAIL] or (email)", "[TEXT_1] or (email)"),
    ],
)
def test_texts_beside_each_other_are_masked_one_by_one(text: str, masked: str) -> None:
    """No placeholder is one that the text itself has, and what is left between values is searched again."""
    assert masker().mask(text) == masked


@given(TEXTS)
def test_a_masked_text_is_restored_unchanged(text: str) -> None:
    """Also a text that contains placeholders of its own."""
    hides = masker()
    restored = hides.restore(hides.mask(text))

    assert (restored.text, restored.unknown) == (text, ())


@given(TEXTS)
def test_masking_is_idempotent_and_leaves_no_data(text: str) -> None:
    """Nothing is found in a masked text, so a second pass changes nothing."""
    hides = masker()
    masked = hides.mask(text)

    assert hides.mask(masked) == masked


@given(st.text(st.characters(exclude_categories=["N", "Cs"]), max_size=20), st.sampled_from(DATA[:6]))
def test_data_beside_any_text_does_not_stay(text: str, data: str) -> None:
    """Words around it do not hide it; digits may, as they could belong to it."""
    assert data not in masker().mask(f"{text}\n{data}\n{text}")


@pytest.mark.parametrize(
    ("draft", "text", "unknown"),
    [
        ("Sent to [EMAIL_1].", "Sent to ann@example.org.", ()),
        ("Sent to [email 1].", "Sent to ann@example.org.", ()),
        ("Sent to 【EMAIL_1】.", "Sent to ann@example.org.", ()),
        (r"Sent to \[EMAIL\_1\].", "Sent to ann@example.org.", ()),
        ("Sent to EMAIL_1.", "Sent to ann@example.org.", ()),
        ("[Mail](mailto:[EMAIL_1])", "[Mail](mailto:ann@example.org)", ()),
        ("Sent to [EMAIL_7].", "Sent to [EMAIL_7].", ("[EMAIL_7]",)),
        ("Sent to [EMAIL].", "Sent to [EMAIL].", ("[EMAIL]",)),
        ("Sent to [EMAIL_1 and [PHONE_1].", "Sent to [ann@example.org and [PHONE_1].", ("[PHONE_1]",)),
        ("[Email](https://x.example)", "[Email](https://x.example)", ()),
    ],
)
def test_a_placeholder_that_was_not_issued_is_named(draft: str, text: str, unknown: tuple[str, ...]) -> None:
    """Known ones are restored as models write them; others are left for the caller to refuse."""
    hides = masker()
    hides.mask("I am ann@example.org")
    restored = hides.restore(draft)

    assert (restored.text, restored.unknown) == (text, unknown)


def test_nothing_is_masked_where_the_account_does_not_ask_for_it() -> None:
    """Masking is off by default."""
    hides = account_masker(account())
    text = "ann@example.org [EMAIL_1]"

    assert hides.mask(text) == text
    assert (hides.restore(text).text, hides.restore(text).unknown) == (text, ())
