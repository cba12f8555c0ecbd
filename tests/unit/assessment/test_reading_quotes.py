"""Where a judge's quotes stand in the passages."""

from __future__ import annotations

import pytest

from worker.assessment.reading.quotes import located, whole_clauses, whole_paragraph
from worker.assessment.reading.verbatim import is_verbatim
from worker.model import Quote

PASSAGES = (("Opening hours", "The shop is open daily, from 9 am to 5 pm."), ("Returns", "30天内可以退货。"))


@pytest.mark.parametrize(
    "quote",
    [
        "the shop is OPEN daily from 9 am",
        "The  shop is open\ndaily",
        "The shop is open daily … 5 pm",
        "30天内可以退货",
        "Opening hours",
    ],
)
def test_a_quote_is_found_whatever_its_form(quote: str) -> None:
    """Case, spaces, punctuation and an ellipsis do not hide a quote."""
    found = located(quote, PASSAGES)

    assert found is not None
    assert whole_clauses(found, PASSAGES)


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "…",
        "9 am",
        "when do you open",
        "We are open all night",
        "Der Laden ist täglich offen",
        "<b>The shop</b> is <i>open</i> daily",
    ],
)
def test_a_quote_from_elsewhere_is_not_found(quote: str) -> None:
    """Words of the question, the reply, another language, HTML, or too few, are no quote."""
    assert located(quote, PASSAGES) is None


def test_a_paragraph_ends_at_an_empty_line() -> None:
    """A list or a table is one paragraph; a quote of a title has its title only."""
    passage = (
        "Prices",
        "Keys take two weeks.\n\n| key | 18 euros |\n| lock | 9 euros |\n\nClosed on Sunday.",
    )
    found = [located(quote, [passage]) for quote in ("lock | 9 euros", "prices")]
    paragraphs = [whole_paragraph(each, [passage]) for each in found if each is not None]

    assert paragraphs == ["| key | 18 euros |\n| lock | 9 euros |"]
    assert whole_paragraph(Quote(passage=1, start=None, end=None), [passage]) == "Prices"


def test_many_quotes_are_looked_up() -> None:
    """Ten thousand quotes are found or not, each on its own."""
    found = [located(f"the shop is open daily {number}", PASSAGES) for number in range(10_000)]

    assert found.count(None) == 10_000


COPIES = (
    ("Are dogs allowed?", "No.", "Are dogs allowed? Yes. Are cats allowed? No."),
    ("When are you open in winter?", "In summer we are open until eight.", "{} In winter until six."),
    ("Who pays for the return parcel?", "We pay you for the parcel.", "You pay us for the parcel."),
    ("What is the price of a chain?", "An inspection costs 49 euros.", "{} A chain has a price of 30."),
    ("Can I return it without a receipt?", "You can return it within 30 days.", "{} Without it you cannot."),
    ("helmets?", "You can return helmets to us.", "{} Without a receipt they stay."),
)
"""Question, draft, passage in which the draft stands for {}."""


@pytest.mark.parametrize(("question", "draft", "passage"), COPIES)
def test_a_copy_that_answers_another_question_needs_a_reader(question: str, draft: str, passage: str) -> None:
    """The words of the question must stand in the copied sentence, not somewhere in its passage."""
    assert not is_verbatim(question, [draft], [("Dogs, winter and price", passage.format(draft))])
