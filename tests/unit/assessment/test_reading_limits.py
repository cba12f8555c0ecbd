"""Totals that customers ask for, and the no to a question beyond what a document names."""

from __future__ import annotations

import pytest

from worker.assessment.reading.facts import disagreements
from worker.assessment.text.words import split_sentences

BEYOND = {
    "day": ("Open on Sundays?", "No, we're not open on Sundays.", "Monday to Saturday 9:00 to 18:00"),
    "day without a no": (
        "On Sunday?",
        "We don't deliver on Sundays.",
        "We deliver on Tuesdays and Saturdays.",
    ),
    "spanish day": ("¿Abren el lunes?", "No, el lunes no abrimos.", "Abierto de martes a domingo."),
    "italian day": (
        "Aperto il lunedì?",
        "No, il lunedì non siamo aperti.",
        "Aperto dal martedì alla domenica",
    ),
    "month": ("In November?", "No, the pool is not open in November.", "Open from May to September."),
    "korean day": ("일요일 영업하나요?", "아니요, 일요일은 영업하지 않습니다.", "영업일: 월요일~토요일"),
    "japanese day": ("日曜日は？", "いいえ、日曜日は営業しておりません。", "営業時間は月曜日〜土曜日です。"),
    "french month": (
        "En novembre ?",
        "Non, la piscine n'est pas ouverte en novembre.",
        "La piscine est ouverte de mai à septembre.",
    ),
    "time": ("At 8 pm?", "No, at 8 pm we are not open any more.", "Monday to Saturday 9:00 to 18:00"),
    "other unit": (
        "I bought it 5 weeks ago",
        "No, after 5 weeks you can't return it any more.",
        "You can return items within 30 days.",
    ),
    "german unit": (
        "Nach 6 Wochen?",
        "Nein, nach 6 Wochen ist eine Rückgabe nicht mehr möglich.",
        "Die Rückgabe ist innerhalb von 30 Tagen möglich.",
    ),
    "amount of the question": (
        "¿Después de 40 días?",
        "No, después de 40 días ya no se puede devolver.",
        "Se puede devolver en un plazo de 30 días.",
    ),
    "korean duration": (
        "20일 지났는데요",
        "20일이 지나면 반품할 수 없습니다.",
        "14일 이내에 반품할 수 있습니다.",
    ),
    "french duration": (
        "3 semaines",
        "Après trois semaines, un remboursement n'est plus possible.",
        "Remboursement possible dans les 14 jours.",
    ),
    "named and closed": ("Sunday?", "On Sundays we're closed.", "Open Monday to Saturday, closed at night"),
    "range of unknown words": ("Quarta-feira?", "Sim, na quarta-feira.", "Aberto de segunda a sábado"),
    "days that stand apart": (
        "Çarşamba?",
        "Evet, çarşamba günü açığız.",
        "Hafta içi 9–18, cumartesi ve pazar 10–16",
    ),
    "open beside a closed day": ("Tuesday?", "Yes, we're open on Tuesdays.", "Closed on Mondays."),
    "age": ("He is 15", "No, 15-year-olds can't join yet.", "You can join from the age of 16."),
}
LEFT_OUT = {
    "closed": (
        "When?",
        "We're open Tuesday to Sunday and closed on Mondays.",
        "Tuesday to Sunday 10:00 to 18:00",
    ),
    "german": (
        "Wann?",
        "Dienstag bis Sonntag, montags ist geschlossen.",
        "Dienstag bis Sonntag 10 bis 18 Uhr",
    ),
    "french": ("Quand ?", "Ouvert du mardi au dimanche, fermé le lundi.", "Du mardi au dimanche"),
    "turkish": ("Ne zaman?", "Salıdan pazara açığız, pazartesi kapalıyız.", "Salı-Pazar 10:00-18:00"),
    "dutch small letters": (
        "Wanneer?",
        "We zijn maandag tot en met vrijdag open van 9 tot 17 uur.",
        "ma t/m vr 9-17 uur",
    ),
    "dutch list": (
        "Is Noord dinsdag open?",
        "Nee, Noord is op maandag, woensdag en vrijdag open.",
        "Openingstijden van filiaal Noord: ma, wo en vr 13-18 uur",
    ),
    "russian small letters": ("Когда?", "Мы работаем с понедельника по пятницу.", "пн-пт 9-18"),
    "excepted": ("Any day?", "You can come any day except Monday.", "Open Tuesday to Sunday."),
    "range with days": (
        "Winter?",
        "From November to February we close at 16:30.",
        "From 1 November to the end of February we close at 16:30.",
    ),
}
SAYS_WHY = {
    "price": (
        "Is the pool included?",
        "No, the pool is not part of it; you can add it for €30.",
        "Pool surcharge €30 a month.",
    ),
    "contains": ("Is it vegan?", "No, it isn't vegan: it contains milk.", "Contains milk and wheat."),
    "one word": ("Extra?", "Nein, das kostet nichts extra, es ist inklusive.", "Frühstück inklusive."),
    "non-": ("Smoking?", "The whole building is non-smoking.", "No smoking in the building."),
    "contracted": ("Extra?", "No, it isn't extra: it's included in the price.", "Included in the price."),
    "due": (
        "Pay later?",
        "No, you can't pay later; payment is due at booking.",
        "Payment is due at booking.",
    ),
}
EXCEPTED = {
    "french": (
        "Je déménage",
        "Oui, en cas de déménagement la cotisation est remboursée.",
        "La cotisation n'est pas remboursée, sauf en cas de déménagement, sur justificatif.",
    ),
    "german": (
        "Blindenhund?",
        "Ja, Blindenhunde dürfen mit.",
        "Hunde dürfen nicht mit, außer Blindenhunden.",
    ),
    "limited any time": (
        "When can I cancel?",
        "You can cancel at any time up to 24 hours before.",
        "Cancellation is possible until 24 hours before.",
    ),
    "limited french any time": (
        "Quand ?",
        "Vous pouvez annuler à tout moment jusqu'à 24 heures avant.",
        "Annulation jusqu'à 24 heures avant.",
    ),
    "another thing than the excepted": (
        "My poodle?",
        "Yes, dogs are welcome.",
        "Dogs are welcome except fighting dogs.",
    ),
    "rule for the excepted": (
        "Do you ship to Alaska?",
        "Shipping to Alaska costs $20.",
        "We ship for free, except to Alaska.\nShipping to Alaska costs $20.",
    ),
    "not always": (
        "Is delivery free?",
        "Not always: it's free from £60.",
        "Delivery is £5.95 for orders under £60, and free from £60.",
    ),
}
ON_CONDITION = {
    "named": ("Dogs?", "Yes, dogs on a lead are welcome.", "Dogs are welcome only on a lead."),
    "asked": (
        "Can I return it with the receipt?",
        "Yes, you can return it.",
        "You can return goods only with the receipt.",
    ),
    "time": ("Saturday?", "Yes, we're open on Saturdays.", "On Saturdays we're open only until 13:00."),
    "german": ("Hunde?", "Ja, Hunde sind an der Leine erlaubt.", "Hunde sind nur an der Leine erlaubt."),
    "french": (
        "On peut annuler ?",
        "Oui, vous pouvez annuler par écrit.",
        "Vous pouvez annuler si vous prévenez par écrit.",
    ),
    "circumstance of the question": (
        "Our concert did not take place, a refund?",
        "Yes, you get a refund.",
        "You get a refund only if the show is cancelled.",
    ),
    "guest": (
        "I'm staying with you. Is parking free?",
        "Yes, parking is free.",
        "Parking is free for hotel guests only.",
    ),
    "first time": ("At 4 pm?", "Yes, you can check in at 4 pm.", "Check-in is from 3 pm."),
    "time before noon or after": ("At 5:30?", "Yes, we are open at 5:30.", "We are open 9:00 to 6:00."),
    "another matter of the day": (
        "Is the bar open on Monday?",
        "On Monday the bar is open.",
        "The restaurant is closed on Mondays, the bar is open.",
    ),
    "number of another predicate": (
        "Is delivery free?",
        "Yes, delivery is free.",
        "Delivery is free and takes up to 3 days.",
    ),
    "price for the rest": (
        "Le vestiaire est gratuit mardi ?",
        "Oui, le vestiaire est gratuit.",
        "Le vestiaire est gratuit le mardi, sinon 2 €.",
    ),
    "group of the question": (
        "I'm at university. What do I pay?",
        "You pay $5.",
        "Students pay $5, adults $9.",
    ),
    "young enough": (
        "Does my 5 year old pay?",
        "No, your child enters free.",
        "Children under 6 enter free.",
    ),
}
TOTALS = {
    "price of a count": ("3 Stunden?", "Drei Stunden kosten 4,50 Euro.", "Parken: 1,50 Euro pro Stunde."),
    "dutch": ("Voor 3 personen?", "Voor drie personen kost het € 54.", "€ 18 per persoon"),
    "polish": ("Dla 3 osób?", "Dla trzech osób to 54 zł.", "18 zł za osobę"),
    "turkish": ("3 kişi?", "3 kişi için 1.350 TL.", "Kişi başı 450 TL'dir."),
    "japanese": ("3人でいくら", "3名様で5,400円です。", "お一人様1,800円"),
    "both ways": ("Tam i z powrotem?", "W obie strony to 240 zł, więc drogo.", "W jedną stronę 120 zł."),
    "at the door": ("Price?", "Adults pay €15 on site.", "Adults pay €12 online, €15 at the door."),
    "two quotes": ("Yearly?", "Team costs €490 annually.", "€490 a year\nTeam costs €49 a month"),
    "without": ("Without breakfast?", "€80 without breakfast.", "The room costs €80, breakfast €12."),
    "later clause": ("Kinder?", "Kinder zahlen 6 Euro.", "Eintritt 12 Euro, Kinder 6 Euro."),
    "months that last a year": ("Preis?", "Es kostet 49 € und läuft ein Jahr.", "Tarif: 49 € pro Monat"),
    "two prices": (
        "2 adults, 2 kids?",
        "Two adults and two children pay €56 in total.",
        "Adults €18, children €10.",
    ),
    "first and further": (
        "Three dogs?",
        "Three dogs cost €480 a year: €96 for the first and €192 for each of the other two.",
        "€96 for the first, €192 for each further dog.",
    ),
    "three factors": (
        "2 nights for 2?",
        "For two adults, two nights cost €320: 2 × 2 × €80.",
        "€80 per person and night.",
    ),
    "month in a year": ("Yearly?", "That's €72 a year.", "Team: €6 per month."),
    "year in months": ("Pro Monat?", "Der Jahresbeitrag von 240 Euro sind 20 Euro im Monat.", "240 Euro"),
    "minutes": ("90 min?", "90 minutes of parking cost €2.25.", "Parking: €1.50 per hour."),
    "hours and minutes": ("1h30 ?", "L'éclairage coûte 6 € pour 1 h 30.", "L'éclairage coûte 4 € de l'heure"),
    "minutes in hours": (
        "10 lessons?",
        "Ten lessons of 45 minutes are 7.5 hours.",
        "A lesson has 45 minutes.",
    ),
    "hidden discount": ("Student?", "Students pay €24.", "Regular price €30. Students get 20 % off."),
    "one of the guests": (
        "Can I bring 3 friends?",
        "One guest is free, and the other two pay $10 each, so $20 in total.",
        "One guest is free; additional guests pay $10.",
    ),
    "year of a voucher": (
        "Ich habe einen Gutschein von 2025",
        "Ein Gutschein von 2025 gilt bis Ende 2028.",
        "Gutscheine gelten drei Jahre bis zum Jahresende.",
    ),
    "pence": ("6 eggs?", "Six eggs cost £2.40.", "Eggs: 40p each"),
    "share of a count": ("I spend 1500", "At 10 % off you'd save €150.", "The card gives 10 % off."),
    "limited any": (
        "Deposit?",
        "For any booking of more than 8 people we take €10 each.",
        "For groups of more than 8 people we ask for a deposit of 10 euros per person.",
    ),
    "rate": ("Wie oft?", "Nur zwei Abholungen pro Jahr sind frei.", "2 Abholungen sind frei."),
    "net price": ("Net?", "The net price is €100, as the €119 include 19 % VAT.", "€119 incl. 19 % VAT"),
    "time zone": ("In CET?", "It ends at 06:00 UTC, 07:00 CET.", "It ends on Monday at 06:00 UTC."),
    "time zone of the west": ("When?", "It starts at 10 am EST.", "It starts at 15:00 UTC."),
    "litres": ("How big?", "It holds 1 l, that is 1,000 ml.", "It holds 1.0 l."),
}
WRONG = {
    "any time": ("Cancel?", "You can cancel at any time.", "Cancellation is possible until 24 hours before."),
    "another closed day": ("Open?", "We're closed on Thursday.", "Closed on Monday."),
    "no to a named day": (
        "Saturdays?",
        "No, we're not open on Saturdays.",
        "Monday to Saturday 9:00 to 18:00",
    ),
    "no to a named month": ("In June?", "No, the pool is not open in June.", "Open from May to September."),
    "no without a reason": ("By card?", "No, you cannot pay by card.", "You can pay by card at the desk."),
    "yes with the amount of the question": ("40 days?", "Yes, within 40 days.", "Returns within 30 days."),
    "dropped exception": ("Dogs?", "All dogs are welcome.", "All dogs except fighting dogs are welcome."),
    "german dropped exception": (
        "Hunde?",
        "Alle Hunde sind auf dem Platz willkommen.",
        "Alle Hunde außer Kampfhunden sind auf dem Platz willkommen.",
    ),
    "yes to another day": (
        "Sundays?",
        "Yes, we're open on Sundays.",
        "Open Monday to Saturday 9:00 to 18:00",
    ),
    "german short days": ("Sonntags?", "Ja, sonntags ist offen.", "Geöffnet Mo–Sa 9 bis 18 Uhr"),
    "dutch day": ("Zondag?", "Ja, op zondag zijn we open.", "Maandag t/m zaterdag van 9 tot 18 uur"),
    "dutch day in small letters": ("Zondag?", "Ja, op zondag zijn we open.", "ma t/m za 10-20 uur"),
    "turkish day": ("Pazar günü?", "Evet, pazar günü açığız.", "Pazartesiden cumartesiye 9.30–19.00"),
    "yes to another month": ("In May?", "Yes, in May we're open.", "Open from June to September"),
    "plain yes": ("A refund?", "Yes, you get a refund.", "You get a refund only if the show is cancelled."),
    "italian plain yes": ("Il cane?", "Sì, i cani sono ammessi.", "I cani sono ammessi solo al guinzaglio."),
    "yes in another unit": (
        "After 5 weeks?",
        "Yes, you can return it after 5 weeks.",
        "Returns within 30 days.",
    ),
    "non-smoking": ("Smoking?", "Smoking is allowed in the house.", "The house is non-smoking."),
    "free for guests": (
        "Is parking free?",
        "Yes, parking is free.",
        "Parking is free for hotel guests only.",
    ),
    "free with a price for the rest": (
        "La carte est gratuite ?",
        "Oui, la carte est gratuite.",
        "La carte est gratuite la première année, puis 45 € par an.",
    ),
    "free above an amount": (
        "هل التوصيل مجاني؟",
        "نعم، التوصيل مجاني.",
        "التوصيل مجاني داخل الرياض للطلبات فوق 200 ريال",
    ),
    "named exception": (
        "Do you ship to Alaska?",
        "Yes, we ship for free.",
        "We ship for free, except to Alaska.",
    ),
    "exception in another form": (
        "Gilt das auch an Feiertagen?",
        "Ja, die Karte gilt täglich.",
        "Die Karte gilt täglich, ausgenommen Feiertage.",
    ),
    "chinese exception": ("新疆包邮吗？", "包邮，满99元包邮。", "满99元包邮，新疆、西藏除外"),
    "verb at the end": ("Hunde?", "Ja, Hunde sind erlaubt.", "Hunde sind nur an der Leine erlaubt."),
    "one letter": (
        "Paspoort ophalen?",
        "Ja, u kunt het paspoort ophalen.",
        "U kunt het paspoort ophalen als u vooraf betaalt.",
    ),
    "price of a group": (
        "Was kostet der Eintritt?",
        "Der Eintritt kostet 6 Euro.",
        "Der Eintritt kostet 12 Euro. Studierende zahlen 6 Euro.",
    ),
    "another period": ("Equipa?", "O plano Equipa custa 49 € por ano.", "O plano Equipa custa 49 € por mês"),
    "not the excepted": ("Hunde?", "Ja, Hunde dürfen mit.", "Hunde dürfen nicht mit, außer Blindenhunden."),
    "no with another reason": (
        "By card?",
        "No, you cannot pay by card, cash only at the desk.",
        "You can pay by card at the desk.",
    ),
    "total": ("2 adults?", "Two adults pay €40.", "Adults €18, children €10."),
    "discount": ("Students?", "Students pay €20.", "Regular price €30. Students get 20 % off."),
    "time zone": ("In CET?", "It ends at 08:00 CET.", "It ends on Monday at 06:00 UTC."),
    "thousands": ("Limit?", "You have 6,000 requests.", "Team costs €6 and has 60 requests."),
    "minutes of a clock": (
        "I come at 10:30",
        "Please come 30 minutes early.",
        "Please come 15 minutes early.",
    ),
}


def _noticed(question: str, draft: str, quoted: str, *, beside: str = "") -> list[str]:
    return [
        f"{each.kind}: {each.detail}"
        for sentence in split_sentences(draft)
        for each in disagreements(
            sentence,
            draft=draft,
            quoted=quoted,
            beside=beside or quoted,
            passages=beside or quoted,
            question=question,
            asked=question,
        )
    ]


@pytest.mark.parametrize("kind", BEYOND)
def test_a_no_may_rest_on_what_the_quotes_name_instead(kind: str) -> None:
    """A day, month, time or amount that the quotes do not name needs no negation of theirs."""
    assert _noticed(*BEYOND[kind]) == []


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_days_and_months_that_the_quotes_leave_out_are_closed(kind: str) -> None:
    """Who names when it is open says when it is closed; a range has all its months."""
    assert _noticed(*LEFT_OUT[kind]) == []


@pytest.mark.parametrize("kind", SAYS_WHY)
def test_a_no_may_say_why_in_the_words_of_the_quotes(kind: str) -> None:
    """A clause that repeats the quotes is the reason of a no."""
    assert _noticed(*SAYS_WHY[kind]) == []


@pytest.mark.parametrize("kind", EXCEPTED)
def test_exceptions_go_the_other_way(kind: str) -> None:
    """A yes to what a no excepts, and "not always", follow."""
    assert _noticed(*EXCEPTED[kind]) == []


@pytest.mark.parametrize("kind", ON_CONDITION)
def test_a_yes_says_on_which_condition(kind: str) -> None:
    """The draft or the question names what follows "only" or "if"."""
    assert _noticed(*ON_CONDITION[kind]) == []


@pytest.mark.parametrize("kind", TOTALS)
def test_totals_follow(kind: str) -> None:
    """Customers ask for totals, shares and other periods, and replies name them without "so"."""
    assert _noticed(*TOTALS[kind]) == []


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_totals_and_limits_are_noticed(kind: str) -> None:
    """What is inside the limit, adds up otherwise or drops an exception is noticed."""
    assert _noticed(*WRONG[kind])


def test_other_sentences_of_a_quote_deny_nothing() -> None:
    """Each line of the quotes is compared by what it says of the reply's words."""
    asked, said = "¿Para el bus en La Vega?", "Sí, el bus para en La Vega."
    denied = "El bus no para en La Vega."

    assert _noticed(asked, said, "El bus para en La Vega. En agosto no hay excursiones.") == []
    assert _noticed(asked, said, f"{denied} El bus es azul.")
    assert _noticed(asked, said, f"El bus es azul.\n{denied}")


def test_a_day_may_head_the_column_of_a_quote() -> None:
    """Its row does not name the day that the question asks for, but its table does."""
    quoted = "| Chat | 10:00 |\nCalls are taken from Monday to Friday."
    table = "| Channel | Sunday |\n|---|---|\n| Chat | 10:00 |"

    assert not _noticed("Sunday?", "On Sundays the chat opens at 10:00.", quoted, beside=f"{table}\n{quoted}")
    assert _noticed("Sunday?", "On Sundays the chat opens at 10:00.", quoted)


def test_a_time_of_the_paragraph_does_not_replace_that_of_the_quotes() -> None:
    """Lunch begins at 12, breakfast ends at 11."""
    quoted = "Breakfast is served until 11:00"
    beside = f"{quoted}, lunch from 12:00 to 14:30."

    assert _noticed("Breakfast?", "Breakfast is served until 12:00.", quoted, beside=beside)
    assert not _noticed("Lunch?", "Lunch is from 12:00.", "lunch from 12:00 to 14:30", beside=beside)
