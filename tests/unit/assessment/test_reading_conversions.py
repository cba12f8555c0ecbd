"""Days, times and amounts that a right reply derives from its evidence, and wrong ones beside them."""

from __future__ import annotations

import pytest

from tests.support.readings import reading, said
from tests.unit.assessment.samples import assessed, passage
from worker.assessment import Evidence
from worker.assessment.policies.calibrated import CalibratedPolicy
from worker.assessment.reading.facts import disagreements
from worker.assessment.text.words import split_sentences

WRITTEN = "Friday, 27 November 2026, 16:03 (Europe/Berlin)"
DAILY = "We are open daily from 9:00 to 18:00."
RIGHT = {
    "today": ("Open?", "Today, Friday 27 November 2026, we are open from 9:00 to 18:00.", DAILY),
    "tomorrow": ("Tomorrow?", "Tomorrow, Saturday 28 November, we are open from 9:00.", DAILY),
    "german today": ("Heute?", "Heute, am 27. November, ist von 9:00 bis 18:00 Uhr offen.", DAILY),
    "japanese today": ("今日は？", "本日11月27日は9:00から18:00までです。", "毎日9:00から18:00まで営業。"),
    "now": ("Still open?", "Yes, it is 16:03 now and we close at 18:00.", DAILY),
    "days from today": ("Until when?", "You can return it until 11 December.", "Return it within 14 days."),
    "arrival": (
        "When does the 11:30 arrive?",
        "It arrives at 13:20.",
        "The crossing at 11:30 takes 1 hour 50 minutes.",
    ),
    "french arrival": ("À 14h, fin ?", "Elle finit donc à 15 h 15.", "La visite dure 1 h 15."),
    "hours between times": ("How long?", "We are open for 9 hours, from 9:00 to 18:00.", DAILY),
    "fahrenheit": ("In F?", "It has 15 °C, which is 59 °F.", "The pool has 15 °C."),
    "miles": ("In miles?", "The track is about 1.5 miles long.", "The track is 2.4 km long."),
    "pounds": ("In lbs?", "Up to 50 lbs.", "Baggage: up to 23 kg."),
    "kilobytes": ("In KB?", "That is 25,000 KB.", "Uploads have up to 25 MB."),
    "price per kilogram": ("300 g?", "300 g cost €3.60.", "Focaccia: €12 per kg."),
    "yuan": ("两套西装三件衬衫多少钱", "两套西装和三件衬衫一共126元。", "西装每套45元，衬衫每件12元。"),
    "percent of a product": ("6 days?", "Six days cost €153.60: 6 × €32 less 20 %.", "€32 a day, 20 % off."),
    "turkish percent": (
        "Haftalık?",
        "7 × 100 TL = 700 TL; yüzde 15 indirimle 595 TL.",
        "100 TL, yüzde 15 indirim.",
    ),
    "twice": ("Return?", "A return costs £25.20: twice £14 less 10 %.", "£14, return twice that less 10 %."),
    "spelled in arabic": (
        "كم المدة؟",
        "المدة 6 أسابيع، 3 حصص في الأسبوع.",
        "ستة أسابيع، ثلاث حصص في الأسبوع.",
    ),
    "hour of an arabic ordinal": ("متى؟", "مفتوح من 9 صباحا.", "مفتوح من التاسعة صباحا."),
    "city of a time zone": (
        "In London?",
        "At 3 pm ET, which is 8 pm in London.",
        "The webinar is at 3 pm ET.",
    ),
    "zone of the account": ("In New York?", "At 9 am in New York.", "The webinar is at 3 pm."),
    "name without accents": ("noel ?", "Non, nous fermons à Noël.", "Fermé le 25 décembre."),
    "noon": ("Check-out?", "Check-out is until 12:00.", "Check-out by noon."),
    "turkish sum": ("Haftada?", "6 ders, toplam 240 dakika, yani 4 saat.", "6 ders, her ders 40 dakika."),
    "turkish ending of a name": (
        "cumhuriyet bayramı?",
        "Hayır, Cumhuriyet Bayramı'nda kapalıyız.",
        "29 Ekim'de kapalıyız.",
    ),
    "limit of free as a date": (
        "Le 10 juin ?",
        "Vous annulez gratuitement jusqu'au 27 mai.",
        "Annulation gratuite jusqu'à 14 jours avant l'arrivée.",
    ),
    "half hours": ("At 3 pm, end?", "You will be done at 17:30.", "It takes two and a half hours."),
    "half hours, german": ("15 Uhr?", "Ende gegen 17:30 Uhr.", "Der Kurs dauert zweieinhalb Stunden."),
    "half hours, french": ("À 15h ?", "Elle finit à 17 h 30.", "La visite dure deux heures et demie."),
    "half hours, dutch": ("Om 15:00?", "Klaar om 17:30.", "De cursus duurt tweeënhalf uur."),
    "sign of a half": ("How long?", "It takes 2.5 hours.", "It takes 2½ hours."),
    "sum of two prices": ("With a padlock?", "With a padlock it's €123.", "Unit €105. Padlock €18."),
    "two prices of a count": (
        "6回で?",
        "全6回で材料費込み33,600円です。",
        "1回4,800円、材料費は1回800円です。",
    ),
    "polish name without accents": ("swieto niepodleglosci?", "W Święto Niepodległości nie.", "11 listopada"),
    "tomorrow beside other days": (
        "Tomorrow?",
        "Yes, tomorrow, 28 November, we are open.",
        "Closed on 25 December.",
    ),
    "free for the one who asks": (
        "I am a member, is parking free?",
        "Yes, parking is free.",
        "Parking €4 a day, free for members.",
    ),
    "another thing than the priced one": (
        "Do toddlers pay?",
        "No, they get in for free.",
        "Adults €9, children free.",
    ),
    "arabic no": ("الجمعة؟", "لا، يوم الجمعة نفتح من 4 مساء.", "يوم الجمعة من 4 مساء."),
}
WRONG = {
    "another day than today": ("Open?", "Today, 26 November, we are open from 9:00.", DAILY),
    "days that are no date": ("From 23 November?", "It ends on 14 December.", "The trial lasts 14 days."),
    "amount like today's date": ("How long?", "You have 27 days.", "You have 14 days."),
    "other time than now": ("Still open?", "Yes, it is 15:03 now and we close at 18:00.", DAILY),
    "arrival": (
        "When does the 11:30 arrive?",
        "It arrives at 13:50.",
        "The crossing at 11:30 takes 1 hour 50 minutes.",
    ),
    "hours between times": ("How long?", "We are open for 8 hours, from 9:00 to 18:00.", DAILY),
    "time of day is no duration": ("Price?", "At 9:30 it costs €95.", "€10 an hour, from 9:30 to 12:00."),
    "fahrenheit": ("In F?", "It has 72 °F.", "The pool has 15 °C."),
    "swapped unit": ("How long?", "The track is 2.4 miles long.", "The track is 2.4 km long."),
    "time in another city": (
        "In London?",
        "At 3 pm ET, which is 7 pm in London.",
        "The webinar is at 3 pm ET.",
    ),
    "arabic yes": ("هل يمكن؟", "نعم، يمكن استرداد الرسوم.", "لا يمكن استرداد الرسوم."),
    "name in place of another": (
        "Solo?",
        "Yes, in Solo there is time tracking.",
        "Time tracking is in Studio only.",
    ),
    "half hours": ("How long?", "It takes 2 hours.", "It takes two and a half hours."),
    "half hours as a sign": ("How long?", "It takes 2 hours.", "It takes 2½ hours."),
    "sum of no two prices": ("With a padlock?", "With a padlock it's €120.", "Unit €105. Padlock €18."),
    "day beside other days": ("In May?", "Yes, open from 1 November.", "Open from 1 May to 30 September."),
    "free beside a price": (
        "Is the tour free?",
        "Yes, the tour is free.",
        "The tour costs €4, free for schools.",
    ),
    "free beside a price, in turkish": (
        "tasarım ücretsiz mi",
        "Evet, tasarım ücretsiz.",
        "Tasarım 300 TL, 1000 TL üzeri siparişlerde ücretsiz",
    ),
    "free without its limit": ("Is delivery free?", "Delivery is free.", "Delivery is free from £60."),
    "free without its limit, in french": (
        "Étudiante ?",
        "Oui, l'entrée est gratuite.",
        "L'entrée est gratuite pour les moins de 18 ans.",
    ),
}


def kinds(question: str, sentence: str, quoted: str) -> list[str]:
    """The kinds of facts that the quotes do not bear out."""
    texts = {"draft": sentence, "quoted": quoted, "beside": quoted, "passages": f"{quoted} Solo. Studio."}
    found = disagreements(sentence, **texts, question=question, asked=question, written=WRITTEN)
    return [f"{each.kind}: {each.detail}" for each in found]


@pytest.mark.parametrize("name", RIGHT)
def test_what_follows_is_no_disagreement(name: str) -> None:
    """From the quotes, the question, and the day and time of the message."""
    assert kinds(*RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_follow_is_noticed(name: str) -> None:
    """Whatever judge supports it."""
    assert kinds(*WRONG[name])


@pytest.mark.parametrize(
    ("draft", "quotes", "sent"),
    [
        ("Today is Friday, 27 November.", [], True),
        ("Today is Thursday, 26 November.", [], False),
        ("It is 16:03 now.", [], True),
        ("The shop is open on Friday.", [], False),
        ("It costs 95 euros.", ["The course is for beginners", "95 euros"], True),
        ("It costs 95 euros.", ["95 euros"], False),
    ],
)
def test_the_day_and_a_second_quote_need_few_words(draft: str, quotes: list[str], *, sent: bool) -> None:
    """The day of the message stands in no passage; an amount is quoted alone only beside a longer quote."""
    text = "The shop is open daily. The course is for beginners.\n\nIt costs 95 euros."
    found = Evidence(passages=(passage(text),), written=WRITTEN)
    answer = reading(said("supported", *quotes))

    assert (assessed(draft, CalibratedPolicy(), found, answer=answer).action == "send") is sent


@pytest.mark.parametrize(
    ("query", "draft", "sent"),
    [
        ("Tolles Bad, waren gestern da", "Vielen Dank für die netten Worte! Wir freuen uns auf Sie.", True),
        ("Me encanta vuestro cine", "¡Muchas gracias por sus palabras! Nos alegra mucho.", True),
        ("you people are the best", "You're very welcome! We're so happy to hear that.", True),
        ("au top, service impeccable", "Merci beaucoup, cela nous fait très plaisir !", True),
        ("Tolles Bad! Wann ist offen?", "Vielen Dank für die netten Worte! Wir freuen uns auf Sie.", False),
        ("Great pool", "Thanks! Everything is free.", False),
        ("super, danke für die schnelle Auskunft", "Sehr gerne! Ich wünsche Ihnen viel Spaß.", True),
        ("bitte stornieren, danke", "Sehr gerne! Ich wünsche Ihnen viel Spaß.", False),
    ],
)
def test_praise_is_answered_with_thanks(query: str, draft: str, *, sent: bool) -> None:
    """A judge calls each sentence a courtesy, and it states nothing."""
    verdicts = [said("no_claim")] * draft.count("!") + [said("no_claim")] * draft.rstrip("!").endswith(".")
    found = assessed(draft, CalibratedPolicy(), query=query, answer=reading(*verdicts))

    assert (found.action == "send") is sent


@pytest.mark.parametrize(
    ("query", "draft", "sent"),
    [
        ("ihr seid die allerbesten", "Vielen Dank für die lieben Worte!", True),
        ("cancel my order", "Thank you! Your order is cancelled.", False),
        ("Great pool", "Thanks! Tickets are cheap in May.", False),
    ],
)
def test_thanks_for_praise_need_no_passage(query: str, draft: str, *, sent: bool) -> None:
    """A search for praise finds none; any other draft without a passage waits for a person."""
    answer = reading(*[said("no_claim")] * len(split_sentences(draft)))
    found = assessed(draft, CalibratedPolicy(), Evidence(), query=query, answer=answer)

    assert (found.action == "send") is sent
