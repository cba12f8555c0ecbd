"""What to add to the documents: topics as a person would write them, or none."""

from __future__ import annotations

import unicodedata

import pytest

from tests.unit.assessment.samples import RETURNS
from worker.assessment.text.topics import unknown_topics


@pytest.mark.parametrize(
    ("query", "topics"),
    [
        ("Which planets have rings?", ("planets", "rings")),
        ("What is the price of the lamp?", ("price", "lamp")),
        ("How long does shipping take to Norway?", ("shipping", "Norway")),
        ("Do you sell gift cards?", ("gift cards",)),
        ("Can I return a bicycle after delivery?", ("bicycle",)),
        ("I want to cancel my subscription to the newsletter", ("subscription", "newsletter")),
        ("Is the water-resistant jacket available in size XL?", ("water-resistant jacket", "size XL")),
        ("Why was my gift card charged twice?", ("gift card",)),
        ("What is your CEO's favorite color?", ("CEO's favorite color",)),
        ("Giá của chiếc đèn này là bao nhiêu?", ("Giá", "đèn")),
        ("Cửa hàng có nhận thẻ tín dụng không?", ("Cửa hàng", "thẻ tín dụng")),
        ("Chính sách bảo hành của shop thế nào ạ?", ("Chính sách bảo hành",)),
        ("请问这个自行车的保修期是多久？", ("自行车", "保修期")),
        ("你们有没有学生折扣？", ("学生折扣",)),
        ("自転車の保証期間はどのくらいですか", ("自転車", "保証期間")),
        ("Wie hoch ist der Preis der Lampe?", ("Preis", "Lampe")),
        ("¿Cuánto cuesta el envío a Noruega?", ("envío", "Noruega")),
        ("Quel est le prix de l'abonnement ?", ("prix", "abonnement")),
        ("Qual è il prezzo della lampada?", ("prezzo", "lampada")),
        ("Qual é o preço da lâmpada?", ("preço", "lâmpada")),
    ],
)
def test_a_topic_is_a_phrase_of_the_question_in_its_own_spelling(query: str, topics: tuple[str, ...]) -> None:
    """Whole words, no stems and no pairs of characters; decomposed text is composed."""
    assert unknown_topics(query, RETURNS) == topics
    assert unknown_topics(unicodedata.normalize("NFD", query), RETURNS) == topics


@pytest.mark.parametrize(
    "query",
    [
        "",
        "🙂",
        "Hello!",
        "Who are you?",
        "Can I return any item within 30 days of delivery?",
        "0912345678 me@example.com https://example.com/lamp @lamp",
        "bao gio cua hang mo cua",
        "ราคาของจักรยานเท่าไหร่",
        "сколько стоит лампа?",
        "什么时候？",
        "lol this is so funny",
    ],
)
def test_a_question_without_a_readable_topic_suggests_nothing(query: str) -> None:
    """What the passages speak of, small talk, addresses, and languages without word lists."""
    assert unknown_topics(query, RETURNS) == ()


def test_a_topic_that_the_passages_hold_in_another_form_is_known() -> None:
    """Another ending, missing accents or a Chinese word inside a longer one."""
    assert unknown_topics("Which planet has rings?", "The ring of planets.") == ()
    assert unknown_topics("Phí bảo hành?", "phi bao hanh") == ()
    assert unknown_topics("自行车？", "我们修理自行车和电动车。") == ()
