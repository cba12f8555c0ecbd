"""One character or an unusable hint never loses a message."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.unit.test_payload import body, cloud, read, refusal

HALVES = (r"\ud83d", r"\udfff", r"\udc00\ud800", r"\ud83d\ud83d")
TEN = datetime(2026, 11, 21, 10, tzinfo=UTC)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("field", ["text", "conversation_id", "message_id", "author_id", "event_id"])
def test_half_an_emoji_becomes_the_replacement_character(field: str, half: str) -> None:
    """JavaScript's slice cuts emoji into halves, in any field."""
    event = read(body(**{field: "a HALF b"}).replace(b"HALF", half.encode()))

    assert getattr(event, field) == f"a {chr(0xFFFD) * half.count('u')} b"


@pytest.mark.parametrize("half", HALVES)
def test_half_an_emoji_in_metadata_or_in_an_unknown_field_changes_only_itself(half: str) -> None:
    """The rest of the object is kept."""
    payload = body(metadata={"HALF": ["x HALF"], "n": 1}, unknown="HALF").replace(b"HALF", half.encode())
    replaced = chr(0xFFFD) * half.count("u")

    assert read(payload).metadata == {replaced: [f"x {replaced}"], "n": 1}


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (b"\xed\xa0\xbd", "\ufffd"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "😀"),
        (rb"\ud83d\ude00", "😀"),
        (rb"\\ud83d", r"\ud83d"),
        (rb"\\\ud83d", "\\\ufffd"),
        (rb"\ud83d\ud83d\ude00", "\ufffd😀"),
    ],
)
def test_only_halves_are_replaced(raw: bytes, wanted: str) -> None:
    """A whole pair is a character, as escapes and as CESU-8, and an escaped backslash begins no escape."""
    assert read(body(text="RAW").replace(b"RAW", raw)).text == wanted


def test_a_byte_order_mark_before_the_object_is_left_out() -> None:
    """.NET writes one."""
    assert read(b"\xef\xbb\xbf" + body()).event_id == "e1"


def test_nul_in_a_text_becomes_the_replacement_character() -> None:
    """A stranger's character does not decide whether a message is judged."""
    event = read(body(text="a\x00b"))

    assert event.text == "a\ufffdb"
    assert event.notes == ("text: expected text without NUL, got NUL, now U+FFFD",)


LANGUAGES: tuple[tuple[object, str | None], ...] = (
    ("en_US", "en-US"),
    ("zh_Hans_CN", "zh-Hans-CN"),
    ("en_US.UTF-8", "en-US"),
    ("de_DE@euro", "de-DE"),
    ("pt-br", "pt-br"),
    ("fr-CH, fr;q=0.9, en;q=0.8", "fr-CH"),
    (" vi ", "vi"),
    ("C.UTF-8", None),
    ("C", None),
    ("POSIX", None),
    ("und", None),
    ("english", None),
    ("english language", None),
    ("*", None),
    ("", None),
    ("e\x00n", None),
    (7, None),
    (["en"], None),
    ({}, None),
)


@pytest.mark.parametrize(("language", "wanted"), LANGUAGES)
def test_a_language_is_read_as_systems_write_it_or_left_out(language: Any, wanted: str | None) -> None:
    """POSIX, Java, iOS and HTTP each have their form; another one is left out and noted."""
    event = read(body(language=language))

    assert event.language == wanted
    assert [note.split(":")[0] for note in event.notes] == ([] if wanted else ["language"])


HINTS: tuple[tuple[dict[str, Any], dict[str, Any], list[str]], ...] = (
    ({"metadata": []}, {"metadata": {}}, ["metadata"]),
    ({"metadata": "a=b"}, {"metadata": {}}, ["metadata"]),
    ({"metadata": {"a": ["b\x00"]}}, {"metadata": {"a": ["b\ufffd"]}}, ["metadata.a.0"]),
    ({"metadata": {"\x00": 1}}, {"metadata": {"\ufffd": 1}}, []),
    ({"metadata": {"n": 2**64, "m": 1}}, {"metadata": {"n": None, "m": 1}}, ["metadata.n"]),
    ({"metadata": {"n": float("nan")}}, {"metadata": {"n": None}}, ["metadata.n"]),
    ({"metadata": {"n": float("-inf")}}, {"metadata": {"n": None}}, ["metadata.n"]),
    ({"metadata": {"n": 10**4000}}, {"metadata": {"n": None}}, ["metadata.n"]),
    ({"parent_id": ""}, {"parent_id": None}, ["parent_id"]),
    ({"parent_id": "x" * 999}, {"parent_id": None}, ["parent_id"]),
    ({"parent_id": 7}, {"parent_id": None}, ["parent_id"]),
    ({"unknown": float("nan")}, {}, []),
    ({"type": None, "role": None, "parent_id": None, "metadata": None, "attachments": None}, {}, []),
)


@pytest.mark.parametrize(("changes", "wanted", "noted"), HINTS)
def test_an_unusable_hint_is_left_out_and_noted(
    changes: dict[str, Any], wanted: dict[str, Any], noted: list[str]
) -> None:
    """The message is judged without it, and the audit says so."""
    event = read(body(**changes))

    assert {name: getattr(event, name) for name in wanted} == wanted
    assert [note.split(":")[0] for note in event.notes] == noted


def test_metadata_beyond_its_levels_is_left_out_from_there() -> None:
    """What stands above it is kept."""
    deep: Any = 1
    for _ in range(60):
        deep = {"a": deep}
    event = read(body(metadata={"deep": deep, "kept": 1}, unknown=deep))

    assert event.metadata["kept"] == 1
    assert len(event.notes) == 1


def test_a_number_no_double_holds_is_left_out_of_metadata() -> None:
    """The audit would store it as null."""
    assert read(body(metadata={"n": "N"}).replace(b'"N"', b"1e999")).metadata == {"n": None}


TIMES = (
    "2026-11-21T10:00:00Z",
    "2026-11-21t10:00:00z",
    "2026-11-21T10:00:00+00:00",
    "2026-11-21T10:00:00+0000",
    "2026-11-21T10:00:00+00",
    "2026-11-21T10:00:00-0000",
    "2026-11-21T05:00:00-0500",
    "2026-11-21T05:00:00\u221205:00",
    "2026-11-21T15:30:00+0530",
    "2026-11-21 10:00:00Z",
    "2026-11-21 10:00:00+00",
    "2026-11-21 10:00:00 +0000",
    "2026-11-21 10:00:00 UTC",
    "2026-11-21 10:00:00 +0000 UTC",
    "2026-11-21 10:00:00.0000000 +00:00",
    "2026-11-21T10:00:00.000000000Z",
    "2026-11-21T10:00:00.0000000Z",
    "2026-11-21T10:00:00,000Z",
    "2026-11-21T10:00Z",
    "2026-11-21T11:00+01:00[Europe/Berlin]",
    "2026-11-21T10:00:00Z[UTC]",
    "20261121T100000Z",
    "20261121T100000.000Z",
    "1795255200",
    "1795255200.000",
    "1795255200000",
    1795255200,
    1795255200.0,
    1795255200000,
    1795255200000000,
    1795255200000000000,
)


@pytest.mark.parametrize("written", TIMES)
def test_a_time_is_read_in_every_form_that_libraries_print(written: str | float) -> None:
    """ISO 8601 with an offset, and Unix seconds or parts of them."""
    assert read(body(created_at=written)).created_at == TEN


def test_fractions_of_a_second_are_kept_to_the_microsecond() -> None:
    """.NET prints seven digits, Go and Java nine; a leap second is the last one of its minute."""
    assert read(body(created_at="2026-11-21T10:00:00.1234567Z")).created_at.microsecond == 123456
    assert read(body(created_at="2026-11-21T10:00:00.123456789Z")).created_at.microsecond == 123456
    assert read(body(created_at="2026-11-21T09:59:60Z")).created_at == TEN - timedelta(seconds=1)


@pytest.mark.parametrize(
    "written",
    [
        "2026-11-21T10:00:00",
        "21.11.2026 10:00 UTC",
        "2026-11-21T25:00:00Z",
        "2026-11-21T10:00:61Z",
        "10:00Z",
        -1,
    ],
)
def test_a_time_that_would_have_to_be_guessed_is_refused(written: str | int) -> None:
    """Without an offset it could be any of a day."""
    assert refusal(body(created_at=written)).field == "created_at"


def test_hints_are_read_the_same_inside_an_envelope() -> None:
    """CloudEvents wrap the same event."""
    event = read(cloud({}, language="en_US", metadata=7))

    assert (event.language, event.metadata) == ("en-US", {})


def tags(text: str) -> str:
    """A text in tag characters."""
    return "".join(chr(0xE0000 + ord(char)) for char in text)


def test_hidden_text_is_decoded_before_anything_judges_the_message() -> None:
    """Rules, moderation and model read what the model would have read."""
    event = read(body(text="Hello" + tags("buy viagra") + "!"))

    assert event.text == "Hello buy viagra !"
    assert [note.split(":")[0] for note in event.notes] == ["text"]
