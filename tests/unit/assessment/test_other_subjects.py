"""Quotes that speak of another branch, product or year than the question."""

from __future__ import annotations

import pytest

from tests.support.readings import reading, said
from tests.unit.assessment.samples import assessed
from worker.assessment import Evidence
from worker.assessment.policies.calibrated import CalibratedPolicy
from worker.model import Passage

PASSAGES = (
    ("Mill Lane branch", "Open Monday to Friday 8:30 to 18:00. Phone 01 555 0142."),
    ("Quay Street branch", "Open Tuesday to Saturday 10:00 to 19:00. Phone 01 555 0177."),
    ("Prices 2025", "Basic service €45. Gift card €20. Children ride free."),
    ("Prices 2026", "Basic service €52. Full service €110. Children ride free."),
    ("Prices 2027", "Basic service €58. Full service €120."),
    ("Lines", "Line 4: departures at 7:15 and 18:00.\n\nLine 9: departures at 8:00 and 17:20."),
    ("Wypożyczalnia", "Sklep przy Lipowej\n\nCzynny do 20:00.\n\nSklep na dworcu\n\nCzynny do 22:00."),
    ("Holidays", "Our branches are open on 24 December until 13:00."),
    ("Hours", "Museum\n\nMonday to Friday: 9:00 to 17:00\n\nCafé\n\nMonday to Friday: 8:30 to 18:00"),
    ("Returns", "Unused goods can be returned within 30 days. A repair takes three days."),
    ("Complaints and instructor change", "A change is free up to 14 days before the start of the course."),
    ("Easter courses", "Withdrawal is free up to 21 days before the start of the course."),
    ("Fibra", "Fibra Casa: 27,90 € al mese. Fibra Pro: 34,90 € al mese, con IP fisso."),
    ("Lojas", "Loja do Porto: todos os dias das 10h às 22h. Loja de Braga: segunda a sábado das 9h às 19h."),
    ("Info", "Hours: Monday to Sunday 9:00 to 20:00. Pool: 50 m, heated."),
    ("コース", "基本コース：1回4,800円です。\n天然酵母コース：1回6,200円です。"),
)
WRONG = {
    "branch": ("when is quay st open", "We are open until 18:00.", "Open Monday to Friday 8:30 to 18:00"),
    "phone": ("phone of mill lane??", "Call 01 555 0177.", "Phone 01 555 0177"),
    "branch that the draft names": (
        "when does mill lane close",
        "The Mill Lane branch closes at 19:00.",
        "Open Tuesday to Saturday 10:00 to 19:00",
    ),
    "last year": ("whats a basic service", "A basic service costs €45.", "Basic service €45"),
    "next year": ("whats a basic service", "A basic service costs €58.", "Basic service €58"),
    "label with a number": ("last bus of line 4?", "It leaves at 17:20.", "departures at 8:00 and 17:20"),
    "inflected heading": ("do ktorej lipowa", "Czynne do 22:00.", "Czynny do 22:00"),
    "label in a line": ("quanto costa fibra pro", "Costa 27,90 € al mese.", "Fibra Casa: 27,90 € al mese"),
    "label before times alone": (
        "braga abre ao domingo?",
        "Sim, todos os dias das 10h às 22h.",
        "todos os dias das 10h às 22h",
    ),
    "japanese": ("天然酵母コースはいくら", "1回4,800円です。", "1回4,800円です"),
}
RIGHT = {
    "branch": ("when is quay st open", "We are open until 19:00.", "Open Tuesday to Saturday 10:00 to 19:00"),
    "named by the draft": (
        "who is open on mondays, quay st is not",
        "Our branch in Mill Lane opens at 8:30.",
        "Open Monday to Friday 8:30 to 18:00",
    ),
    "both named": (
        "not quay street, when is mill lane open",
        "We are open until 18:00.",
        "Open Monday to Friday 8:30 to 18:00",
    ),
    "day of all branches": (
        "is quay street open on 24 december",
        "Yes, until 13:00.",
        "open on 24 December until 13:00",
    ),
    "named day of all branches": (
        "is quay street open on 24 december",
        "Yes, the Quay Street branch is open until 13:00.",
        "open on 24 December until 13:00",
    ),
    "year of the title": ("full service?", "In 2026 a full service costs €110.", "Full service €110"),
    "the same in both years": ("do children pay", "No, children ride free.", "Children ride free"),
    "days below a heading": (
        "when is the museum open",
        "It opens at 9:00.",
        "Monday to Friday: 9:00 to 17:00",
    ),
    "times of all": ("when is the pool open", "From 9:00 to 20:00.", "Monday to Sunday 9:00 to 20:00"),
    "another matter": (
        "can i return what i bought in quay street",
        "You can return unused goods within 30 days.",
        "Unused goods can be returned within 30 days",
    ),
    "one word of a heading": (
        "if i change my mind a month ahead is the money gone",
        "No, withdrawal is free up to 21 days before the start.",
        "Withdrawal is free up to 21 days before the start of the course",
    ),
    "this year": ("whats a basic service", "It costs €52.", "Basic service €52"),
    "next year": ("and a basic service in 2027", "It costs €58.", "Basic service €58"),
    "only in the old list": ("gift card?", "A gift card costs €20.", "Gift card €20"),
}


def is_sent(question: str, draft: str, quote: str) -> bool:
    """Whether the draft is sent when the judge supports it with the quote."""
    passages = (Passage(passage_id=title, title=title, text=text, similarity=0.9) for title, text in PASSAGES)
    found = Evidence(passages=tuple(passages), written="Saturday, 28 November 2026")
    answer = reading(said("supported", quote))
    return assessed(draft, CalibratedPolicy(), found, query=question, answer=answer).action == "send"


@pytest.mark.parametrize("name", WRONG)
def test_a_quote_of_another_subject_supports_nothing(name: str) -> None:
    """The question names a subject of which the passages say the same otherwise."""
    assert not is_sent(*WRONG[name])


@pytest.mark.parametrize("name", RIGHT)
def test_a_quote_of_the_subject_supports(name: str) -> None:
    """So does one of the subject that the draft names, or of a matter of its own."""
    assert is_sent(*RIGHT[name])
