"""Which drafts certainly lack the kind of answer that a question asks for."""

from __future__ import annotations

import pytest

from worker.assessment.relevance.asked import asked_for
from worker.assessment.relevance.signals import passage_text, relevance_signals
from worker.model import Message, MessageRole


def lacks_its_kind(question: str, draft: str) -> bool:
    """What the signal says of a draft."""
    asked = asked_for(question)
    assert asked is not None
    return relevance_signals(asked, passage_text(()), draft)["kind_missing"] == 1.0


@pytest.mark.parametrize(
    ("question", "draft"),
    [
        ("Where is your shop?", "We are open from nine to six on weekdays and from ten to four on Saturday."),
        ("Where is your shop?", "At 9:00."),
        ("Where do I collect my order?", "In three days."),
        ("Where do I collect my order?", "Orders are kept from 9 to 18 on Sunday."),
        ("How much does the delivery cost?", "Delivery to Norway takes four to six working days."),
        ("How much is the delivery?", "It takes 4-6 business days."),
        ("How much does the lamp cost?", "The lamp is 40 cm tall."),
        ("Was kostet die Lieferung?", "Die Lieferung dauert 5 Tage."),
        ("¿Cuánto cuesta el envío?", "El envío tarda 5 días."),
        ("How long does the delivery take?", "Delivery costs 5 euros."),
        ("How long does the delivery take?", "$5 for each parcel."),
        ("How much does the Nova 3 phone cost?", "The Nova 3 phone was released in March 2022."),
        ("How much does the Nova 3 phone cost?", "Anna Park designed the Nova 3 phone."),
        ("How much does the delivery cost?", "Yes."),
        ("Wann wurde die Schule gebaut?", "Die Schule hat 310 Schüler."),
        ("书店在哪里？", "晚上八点。"),
        ("书店在哪里？", "不营业，周一休息。"),
        ("谁设计的这款手机？", "2023年9月。"),
        ("谁设计的这款手机？", "3999元。"),
        ("手机是什么时候发布的？", "3999元。"),
        ("早餐多少钱？", "在一楼餐厅。"),
    ],
)
def test_a_draft_of_another_kind_lacks_the_answer(question: str, draft: str) -> None:
    """A time is no place, a duration or a size no price, a sum of money no duration."""
    assert lacks_its_kind(question, draft)


@pytest.mark.parametrize(
    ("question", "draft"),
    [
        ("Where is your shop?", "The shop is in Mill Lane 12; there is parking behind the shop."),
        ("Where is your shop?", "Next to the station, open from nine to six."),
        ("Where is your shop?", "In three of our malls."),
        ("Where is your office?", "On the second floor."),
        ("Where is your depot?", "In 10115 Berlin."),
        ("Where do I find the code?", "On page 12."),
        ("Where do I find the code?", "At the bottom of the invoice, until May."),
        ("How much does the lamp cost?", "The lamp is 40 cm tall and costs 30 euros."),
        ("How much does the lamp cost?", "30."),
        ("How much does the lamp cost?", "Thirty, or 25 a piece for five."),
        ("How much does the delivery cost?", "It is free within 3 days."),
        ("How much is the weight limit?", "20 kg."),
        ("How much is the discount?", "10 %."),
        ("Was kostet die Lieferung?", "5 Euro, sie dauert 3 Tage."),
        ("How long does the delivery take?", "5 days, for 5 euros."),
        ("How long is the cable?", "2 metres."),
        ("When do you open?", "At 9."),
        ("When do you open?", "From 9 to 18."),
        ("Wann wurde die Schule gebaut?", "Die Schule wurde 1965 gebaut."),
        ("Wann macht ihr auf?", "Ab 9 morgens."),
        ("How long does it take?", "2 hrs."),
        ("书店在哪里？", "在三楼。"),
        ("书店在哪里？", "人民路八号。"),
        ("谁设计的这款手机？", "林涛，2023年。"),
        ("早餐多少钱？", "八十八元。"),
        ("早餐多少钱？", "88。"),
        ("早餐在几楼？", "三楼。"),
        ("书店几点关门？", "晚上八点。"),
    ],
)
def test_a_draft_that_may_have_the_kind_lacks_nothing(question: str, draft: str) -> None:
    """The signal speaks only where it is certain."""
    assert not lacks_its_kind(question, draft)


def test_a_follow_up_asks_for_a_price_as_the_question_before() -> None:
    """The rest of the question is in the turn before."""
    before = Message(role=MessageRole.USER, text="How much does the delivery cost?")
    asked = asked_for("And to Norway?", (before,))

    assert asked is not None
    assert asked.price
