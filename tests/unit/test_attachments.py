"""Attachments of a message: which are images that can be checked, and when only a person can answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import event
from worker.attachments import handed_over_ending, points_to_attachment
from worker.payload.attachments import image_urls

PHOTO = "https://cdn.example/photo.jpg"


@pytest.mark.parametrize(
    ("given", "urls", "others"),
    [
        (None, (), 0),
        ([], (), 0),
        ([PHOTO], (PHOTO,), 0),
        (PHOTO, (PHOTO,), 0),
        ([PHOTO, PHOTO], (PHOTO,), 0),
        (["https://cdn.example/IMG 1.jpg"], ("https://cdn.example/IMG%201.jpg",), 0),
        (["https://cdn.example/%C3%BC.jpg?a=1&b=%2F"], ("https://cdn.example/%C3%BC.jpg?a=1&b=%2F",), 0),
        (["https://cdn.example/ü.jpg"], ("https://cdn.example/%C3%BC.jpg",), 0),
        ([f"{PHOTO}?signature={'a' * 3_000}"], (f"{PHOTO}?signature={'a' * 3_000}",), 0),
        ([f"{PHOTO}?signature={'a' * 9_000}"], (), 1),
        ([PHOTO, "ftp://x", "data:image/png;base64,AAAA", "", None, 7, []], (PHOTO,), 6),
        ([{"url": PHOTO, "content_type": "image/jpeg"}], (PHOTO,), 0),
        ([{"url": PHOTO, "content_type": "application/pdf"}], (), 1),
        ([{"url": PHOTO}, {"content_type": "audio/ogg"}, {}], (PHOTO,), 2),
        (["\ud800"], (), 1),
        ({"url": PHOTO}, (PHOTO,), 0),
    ],
)
def test_good_images_are_kept_and_others_counted(given: Any, urls: tuple[str, ...], others: int) -> None:
    """No attachment makes a message unusable."""
    assert image_urls(given) == (urls, others)


def test_images_beyond_the_sixteenth_are_counted() -> None:
    """The first sixteen are checked."""
    urls, others = image_urls([f"{PHOTO}?{number}" for number in range(40)])

    assert (len(urls), urls[0], others) == (16, f"{PHOTO}?0", 24)


@pytest.mark.parametrize(
    "text",
    [
        "", "???", "Help", "Is this covered by the warranty?", "Can it be repaired?",
        "See the attached photo please",
        "Was kostet das?", "Ist diese Lampe noch im Sortiment?", "Est-ce que cette lampe est garantie ?",
        "¿Está cubierto esto por la garantía?", "Questa lampada si può riparare?",
        "Kunt u deze lamp repareren?",
        "Czy ten produkt jest na gwarancji?", "Cái đèn này có được bảo hành không?",
        "Bu lamba garantili mi acaba?",
        "Это гарантийный случай или нет?", "这个可以退货吗？", "これは返品できますか？", "이거 반품 되나요?",
        "هل هذا مشمول بالضمان؟", "האם זה מכוסה באחריות שלכם?",
    ],
)  # fmt: skip
def test_a_text_that_points_to_something_is_about_its_attachment(text: str) -> None:
    """Without text, or with next to none, the attachment is the message."""
    ending = handed_over_ending(event(text=text, attachments=(PHOTO,)), 0)

    assert ending is not None
    assert ending.reason_code == "ATTACHMENT_UNSEEN"


@pytest.mark.parametrize(
    "text",
    [
        "What are your opening hours on Saturday?",
        "Wann öffnen Sie am Samstag in Berlin?",
        "How long does delivery to France take?",
        "Is it possible to pay by card in the shop?",
        "Wie lange gilt das Rückgaberecht bei Lampen?",
        "¿Cuál es el horario de la tienda?",
        "Quels sont vos horaires le samedi matin ?",
    ],
)
def test_a_question_that_stands_alone_needs_no_attachment(text: str) -> None:
    """It is answered as any other."""
    assert not points_to_attachment(text)
    assert handed_over_ending(event(text=text, attachments=(PHOTO,), other_attachments=1), 0) is None


def test_without_attachments_nothing_is_handed_over() -> None:
    """The words alone say nothing."""
    assert handed_over_ending(event(text="Is this covered?"), 0) is None


def test_an_unchecked_image_is_seen_by_a_person() -> None:
    """Also when the text stands alone."""
    sent = event(text="What are your opening hours on Saturday?", attachments=(PHOTO, f"{PHOTO}?2"))
    ending = handed_over_ending(sent, 1)

    assert ending is not None
    assert (ending.reason_code, ending.reason[:20]) == ("IMAGE_UNCHECKED", "1 of 2 attachments c")
