"""Facts of a sentence against the quotes that a judge names for it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from worker.assessment.reading.facts import disagreements
from worker.assessment.reading.verbatim import is_verbatim
from worker.assessment.text.words import split_sentences

WRONG = {
    "time in words": ("It opens at half past six.", "It opens at 18:00."),
    "german time in words": ("Es öffnet um halb sieben.", "Es öffnet um 19:00 Uhr."),
    "other number in words": ("Avise cinquenta e oito horas antes.", "Avise 50 ou 8 horas antes."),
    "other million": ("Giá 2,5 triệu đồng ạ.", "Giá 2.500 đồng"),
    "price like a time": ("It costs $6.30.", "It opens at 6:30."),
    "length like an hour": ("Keep 2 m away.", "It opens at 14:00."),
    "other holiday": ("Dr. Klein works on Christmas Day.", "Dr. Meier works on 25 December."),
    "single name": ("Oslo", "Our shop is in Bergen."),
    "added sentence": ("The shop has a private jet in Norway.", "The shop opens at 9 am."),
    "flipped no": (
        "No, after laughing gas you may not drive for 24 hours.",
        "After laughing gas you may drive again after 30 minutes.",
    ),
    "flipped yes": ("Yes, you can pause the code once.", "Time runs from the start and cannot be paused."),
    "changed number": ("You have 14 days.", "You have 30 days from delivery."),
    "other unit": ("Each page costs 50 euros.", "Up to 50 pages a month are included."),
    "changed day": ("New slots come every Monday.", "New slots are released every Thursday."),
    "changed time": ("We close at 8 pm.", "We close at 7 pm."),
    "no limit": ("You can pay any amount in cash.", "You may pay in cash up to 3,000 euros."),
    "boundless": ("You can change as often as you like.", "You may change once in 12 months."),
    "dropped unless": ("All customers get it.", "Customers get it unless they pay late."),
    "german number": ("Sie haben 14 Tage Zeit.", "Sie haben 30 Tage Zeit."),
    "french number": ("Vous avez 14 jours.", "Vous avez 30 jours."),
    "spanish number": ("Tiene 14 días.", "Tiene 30 días."),
    "vietnamese number": ("Bạn có 14 ngày để trả hàng.", "Bạn có 30 ngày để trả hàng."),
    "chinese number": ("您有14天时间退货。", "您有30天时间退货。"),
    "other month": ("It opens on 1 May.", "It opens on 1 March."),
    "month alone": ("The pool is closed until May.", "The pool is closed until March."),
    "other mail": ("Write to help@shop.example.", "Write to care@shop.example."),
    "other page": ("See https://www.shop.example/returns.", "See https://www.shop.example/swaps."),
    "german short days": ("Wir haben am Sonntag auf.", "Öffnungszeiten: Mo–Sa, und so fort."),
    "outside of a range": ("The pool is open in October.", "The pool is open from June to August."),
    "vietnamese day": ("Mở cửa vào thứ 7.", "Mở cửa từ thứ 2 đến thứ 6."),
    "japanese month": ("月曜日に開いています。", "3月10日に開いています。"),
    "german page": ("Bestellen Sie auf muster-shop.de.", "Bestellen Sie im Onlineshop."),
    "vietnamese page": ("Bạn đặt hàng tại cuahang.vn nhé.", "Bạn đặt hàng tại cửa hàng."),
    "shorter page": ("Order at shop.co.", "Order at shop.com."),
    "longer page": ("Order at shop.com.vn.", "Order at shop.com."),
    "part of a mail": ("Write to info@shop.com.", "Write to your-info@shop.com."),
    "floor": ("Breakfast costs 3 euros.", "Breakfast is served on the third floor."),
    "japanese number": ("返品は14日以内です。", "返品は30日以内です。"),
    "thousands of money": ("It costs €1,500.", "Price: €1.50"),
    "german thousands of money": ("Das kostet 1.500 Euro.", "Preis: 1,50 Euro"),
    "other doctor": ("Dr. Miller treats children.", "Dr. Smith treats children."),
    "other spanish doctor": ("El Dr. Ruiz atiende a niños.", "El Dr. García atiende a niños."),
    "other german doctor": ("Sie sind bei Dr. Meier in guten Händen.", "Ihre Ärztin ist Dr. Klein."),
    "german date": ("Bewerbung bis zum 15. Februar 2027.", "Bewerbungsschluss: 15.01.2027"),
    "german date in digits": ("Bewerbung bis zum 15.02.2027.", "Bewerbungsschluss: 15. Januar 2027"),
    "other day of a date": ("Bewerbung bis zum 16. Januar 2027.", "Bewerbungsschluss: 15.01.2027"),
    "american date": ("The deadline is March 15, 2027.", "Deadline: 01/15/2027"),
    "other short month": ("The course starts on 8 November.", "Course: Tue 8 Dec 2026"),
    "other short day": ("Der Kurs ist am Mittwoch, 8. Dezember.", "Kurs: Di., 08.12.2026"),
    "other phone number": ("Call us at 030 / 12 34 57.", "Phone: 030/123456"),
    "other phone number abroad": ("Call us at +49 30 123457.", "Phone: 030 123456"),
    "other height": ("Taille maximale : 1m80.", "Jusqu'à 1,90 m"),
    "other length": ("The table is 1.90 m long.", "Table: 180 x 90 cm"),
    "forbidden": ("The pot can be used on a gas hob.", "The pot must not be used on a gas hob."),
    "french forbidden": ("On peut fumer dans la chambre.", "On ne doit pas fumer dans la chambre."),
    "chinese at any time": ("随时都可以免费取消。", "入住前一天18:00之前可免费取消。"),
    "arabic day": ("نغلق يوم السبت.", "العيادة مغلقة يوم الجمعة."),
    "russian day": ("Музей закрыт во вторник.", "Музей закрыт в понедельник."),
    "turkish day": ("Salı günü kapalıyız.", "Pazartesi günleri kapalıyız."),
    "turkish month": ("It is open in April.", "Havuz mayıstan ekime kadar açıktır."),
    "japanese day": ("日曜日も開いています。", "月曜日〜土曜日に開いています。"),
    "korean day": ("일요일에도 영업합니다.", "영업시간: 월요일~토요일"),
    "polish day": ("Muzeum jest zamknięte w sobotę.", "Muzeum jest zamknięte w niedzielę."),
    "other unit by arithmetic": ("Another 7 of them cost €6 each.", "Up to 15 metres are included, then €5."),
    "discount": ("With 15 % off it is €35.", "It costs €40. Students have 15 % off."),
    "no without a ground": ("No, you cannot pay by card.", "You can pay by card at the desk."),
    "other name in another script": ("You can pay by Diners.", "クレジットカード(VISA、Mastercard)"),
    "hindi unit": ("It takes 45 days.", "45 मिनट लगते हैं।"),
}
RIGHT = {
    "christmas": ("We're closed on Christmas Day.", "25 December: closed"),
    "french christmas": ("Nous fermons le jour de Noël.", "Fermé le 25 décembre"),
    "time in words": ("It opens at half past six.", "It opens at 18:30."),
    "quarter in words": ("It opens at a quarter to nine.", "It opens at 8:45."),
    "german time in words": ("Es öffnet um halb sieben.", "Es öffnet um 18:30 Uhr."),
    "dutch time in words": ("Het begint om kwart over negen.", "Het begint om 21.15 uur."),
    "spanish time in words": ("Abre a las seis y media.", "Abre a las 18:30."),
    "portuguese number in words": ("Avise quarenta e oito horas antes.", "Avise 48 horas antes."),
    "polish number in words": ("Kosztuje trzydzieści pięć złotych.", "Kosztuje 35 zł."),
    "turkish number in words": ("Muayene dokuz yüz lira.", "Muayene 900 TL."),
    "dutch range": ("Op woensdag zijn we open.", "Maandag tot en met zaterdag open"),
    "date with a slash": ("Cerrado el 25 de diciembre.", "Cerrado: 25/12"),
    "ending of a unit": ("Su 28 °C'dir.", "Suyun sıcaklığı 28 derecedir."),
    "list signs": ("- **They** leave on Monday.", "Parcels leave on Monday."),
    "vietnamese million": ("Giá 2,5 triệu đồng ạ.", "Giá 2.500.000 đồng"),
    "chinese ten thousand": ("价格是1万元。", "价格10000元"),
    "korean ten thousand": ("가격은 3만 원입니다.", "가격 30,000원"),
    "pm in capitals": ("It opens at 6:30 PM.", "It opens at 18:30."),
    "time with a dot": ("Si apre alle 18.30.", "Si apre alle 18:30."),
    "time with a colon": ("Saat 18:30'da açılır.", "Saat 18.30'da açılır."),
    "form of address": ("Please ask for Ms Schneider.", "Contact: Frau Schneider"),
    "thousands of money": ("It costs 1.500 euros.", "The price is €1,500."),
    "decimals of a weight": ("The parcel has 1.5 kg.", "Weight of the parcel: 1.500 kg"),
    "abbreviated street": ("We are at 12 Main Street, near Mount Road.", "12 Main St., near Mt. Rd."),
    "vietnamese days in capitals": ("Bác sĩ khám thứ Ba và thứ Năm.", "Bác sĩ khám thứ 3, thứ 5."),
    "list of short days": ("Our hours: - Mon–Fri: nine to six", "We are open from nine to six on weekdays."),
    "inverted marks": ("Abrimos a las 9. ¡Nos vemos pronto!", "La tienda abre a las 9."),
    "german date": ("Bewerbung bis zum 15. Januar 2027.", "Bewerbungsschluss: 15.01.2027"),
    "german date in digits": ("Bewerbung bis 15.1.2027 oder am 16.1. möglich.", "15. und 16. Januar 2027"),
    "date without a year": ("Der Kurs beginnt am 3. März um 9 Uhr.", "Kursbeginn: 03.03., 9 Uhr"),
    "french date": ("Vous pouvez postuler jusqu'au 15 janvier 2027.", "Date limite : 15/01/2027"),
    "american date": ("The deadline is January 15, 2027.", "Deadline: 01/15/2027"),
    "iso date": ("The deadline is January 15, 2027.", "Deadline: 2027-01-15"),
    "short month": ("The course starts on 8 December.", "Course: Tue 8 Dec 2026"),
    "german short month": ("Der Kurs beginnt am 3. Oktober.", "Kursbeginn: 3. Okt. 2026"),
    "french short month": ("Le cours commence le 14 février.", "Début : 14 févr. 2027"),
    "short day before a date": ("Der Kurs ist am Dienstag, 8. Dezember.", "Kurs: Di., 08.12.2026"),
    "french day before a date": ("Le cours est mardi 8 décembre.", "Cours : mar. 08/12/2026"),
    "phone number": ("Call us at 030 / 12 34 56, Monday to Friday.", "Phone: 030/123456, Mon–Fri"),
    "phone number abroad": ("Call us at +49 30 123456.", "Phone: (030) 123 456"),
    "height": ("Jusqu'à 1m90.", "Taille maximale : 1,90 m"),
    "code of money": ("It is $1,299.99 with tax.", "Price: USD 1299.99 incl. tax"),
    "lengths with a cross": ("The table is 1.80 m long and 90 cm wide.", "Table: 180 x 90 × 75 cm"),
    "no gluten": ("No, it does not contain gluten.", "Almond cookies: gluten-free, with nuts."),
    "german no gluten": ("Nein, die Kekse enthalten kein Gluten.", "Glutenfrei, enthält Schalenfrüchte."),
    "french no gluten": ("Non, il ne contient pas de gluten.", "Biscuits sans gluten, avec des noix."),
    "nothing to pay": ("No, you don't pay anything.", "Returns are free for customers."),
    "german nothing to pay": ("Nein, das kostet nichts.", "Die Rücksendung ist für Kunden kostenlos."),
    "german relative clause": (
        "Ja, bei Absagen weniger als 24 Stunden vorher berechnen wir 30 €.",
        "Termine, die nicht mindestens 24 Stunden vorher abgesagt werden, werden mit 30 € berechnet.",
    ),
    "closed": ("No, we are not open on Boxing Day.", "On Boxing Day we are closed."),
    "german closed": ("Nein, montags haben wir nicht auf.", "Montags geschlossen."),
    "not and still": ("It is open in summer, so it is not open in winter.", "It is open in summer."),
    "spanish idiom": ("Ten en cuenta que no se devuelven.", "Las cuotas no se devuelven."),
    "french bag": ("Les sacs à dos sont interdits.", "Les sacs à dos sont interdits."),
    "thousands in a letter": ("Giá là 35k.", "Giá 35.000đ."),
    "polish you": ("Dziś wyślemy Państwa paczkę.", "Paczki wysyłamy tego samego dnia, czyli dziś."),
    "discount": ("With 15 % off it is €34.", "It costs €40. Students have 15 % off."),
    "price less a discount": ("学生は1,100円引きで6,600円です。", "月会費は7,700円、学生は1,100円引き"),
    "half a price": (
        "We charge half of the price, which is £29.",
        "A colour is £58. Later we charge half of it.",
    ),
    "german factor": ("Bei 20 Tagen sind das 64 € (20 × 3,20 €).", "20 Tage, pro Tag 3,20 €."),
    "yen": ("午餐1200日元。", "ランチは1,200円です。"),
    "half an hour": ("The pool closes at 19:30.", "We close at 20:00, the pool half an hour earlier."),
    "german half an hour": (
        "Die Kasse schließt um 17:30 Uhr.",
        "Bis 18 Uhr, Kasse eine halbe Stunde kürzer.",
    ),
    "a year": ("The guarantee lasts 12 months.", "We give a guarantee of a year."),
    "around the clock": ("You can call 24 hours a day.", "Our line is open around the clock."),
    "japanese weekend": ("日曜日は20時までです。", "土日は9時から20時まで"),
    "arabic days": ("We are closed on Fridays and Saturdays.", "الجمعة والسبت إجازة"),
    "arabic range": ("We work on Monday.", "نعمل من الأحد إلى الخميس"),
    "russian days": ("It is open Tuesday to Sunday.", "Открыто со вторника по воскресенье"),
    "turkish days": ("We are closed on Mondays in March.", "Mart ayında pazartesileri kapalıyız."),
    "polish days": ("Open on Saturdays and Sundays.", "Czynne w sobotę i niedzielę."),
    "turkish range": ("It is open from May to October, not in April.", "Havuz mayıstan ekime kadar açıktır."),
    "turkish range of days": ("We are open on Thursday.", "Salıdan pazara açığız."),
    "polish month": ("It is open in May.", "Basen jest otwarty w maju."),
    "weeks": ("You have two weeks.", "You have 14 days."),
    "german weeks": ("Sie haben zwei Wochen.", "You have 14 days."),
    "time": ("We close at 19:00.", "We close at 7 pm."),
    "german time": ("Wir schließen um 19 Uhr.", "We close at 7 pm."),
    "hours of a day": ("Vous avez 24 heures.", "You have one day, that is 24 hours."),
    "arithmetic": ("That is 5 × 12 euros = 60 euros.", "It costs 12 euros a day for 5 days."),
    "cents": ("A page costs 0.40 euros.", "A page costs 40 cents."),
    "elliptical": ("A colour page costs 40 cents.", "Black pages cost 10 cents, colour 40."),
    "neutral no": ("No more than three bags.", "Up to three bags."),
    "other side": ("After noon you may not cancel.", "You may cancel until noon."),
    "spanish": ("Tiene dos semanas para devolverlo.", "You have 14 days to return it."),
    "french": ("Vous avez deux semaines.", "You have 14 days."),
    "vietnamese": ("Bạn có 14 ngày.", "You have 14 days."),
    "chinese": ("您有14天。", "You have 14 days."),
    "japanese": ("14日以内に返品できます。", "You can return it within 14 days."),
    "example": ("Any day from the 10th to the 28th, for example the 26th.", "From the 10th to the 28th."),
    "may": ("You may return it in March.", "Returns are possible in March."),
    "french mais": ("Il peut consulter, mais rien modifier.", "Il peut consulter et ne change rien."),
    "mail": ("Write to Care@shop.example.", "Our address: care@shop.example"),
    "page": ("See www.shop.example/returns.", "Returns: https://shop.example/returns."),
    "german short days": ("Wir haben Montag bis Freitag auf.", "Öffnungszeiten: Mo.–Fr. 9–18 Uhr, Sa/So zu."),
    "short days": ("We are open on Wednesday and Saturday.", "Open Mon-Fri 9-18, Sat 10-14."),
    "french short days": ("Ouvert le mardi.", "Ouvert lun.-ven. de 9 h à 19 h."),
    "vietnamese short days": ("Cửa hàng mở cửa thứ ba.", "Mở cửa T2-T7."),
    "chinese short days": ("我们星期三营业。", "周一至周五营业。"),
    "vietnamese days": ("Mở cửa từ thứ 2 đến thứ 7.", "Mở cửa từ thứ hai đến thứ bảy."),
    "vietnamese days in digits": ("Mở cửa từ thứ hai đến thứ bảy.", "Mở cửa từ thứ 2 đến thứ 7."),
    "range of months": ("The pool is open in July.", "The pool is open from June to August."),
    "german range of months": ("Im Januar ist geöffnet.", "Geöffnet von November bis Februar."),
    "range from May": ("The pool is open in May.", "Pool: May-September."),
    "late hour": ("Wir haben bis 20 Uhr geöffnet.", "We are open until 8 pm."),
    "vietnamese hours": ("Cửa hàng mở từ 8 giờ đến 21 giờ.", "Cửa hàng mở cửa từ 8h đến 21h."),
    "chinese count": ("最多可以带3位客人。", "每位会员最多可带三位客人。"),
    "link": ("Here: [https://shop.com/a](https://shop.com/a)", "See https://shop.com/a within 14 days."),
    "bold link": ("Here: **https://shop.com/a**", "See https://shop.com/a."),
    "quoted link": ("See “https://shop.com/a”.", "See https://shop.com/a."),
    "chinese mail": ("请发邮件至info@shop.com联系我们。", "客服邮箱：info@shop.com"),
    "chinese page": ("请访问https://shop.com/a了解详情。", "详情：https://shop.com/a"),
    "german ordinal": ("Ab dem 3. Monat gilt der Rabatt.", "Ab dem dritten Monat gilt der Rabatt."),
    "ordinal": ("After three failed attempts it is locked.", "After the third attempt it is locked."),
    "year": ("It is valid until 2027.", "Bought in 2024, valid until the end of the third year."),
    "turkish languages": ("Derslerimiz İngilizce ve Almancadır.", "Courses are in English and German."),
    "dutch languages": ("We hebben Franse en Duitse boeken.", "We have French and German books."),
    "vietnamese language": ("Chúng tôi nói tiếng Nhật.", "We speak Japanese."),
    "name in another script": ("Bring your My Number card.", "マイナンバーカードをご提示ください。"),
    "hindi times": ("On Fridays we close at 1 am.", "शुक्रवार को रात 1 बजे तक।"),
    "hindi minutes": ("It takes 45 minutes, after 45 days.", "45 मिनट लगते हैं, 45 दिन बाद।"),
    "arabic unit": ("Noor 10 has 10 GB.", "نور 10 | 10 جيجابايت"),
}


def _found(sentence: str, quoted: str) -> list[str]:
    asked = "How is it?"
    noticed = disagreements(
        sentence, draft=sentence, quoted=quoted, beside=quoted, passages=quoted, question=asked, asked=asked
    )
    return [f"{each.kind}: {each.detail}" for each in noticed]


@pytest.mark.parametrize("kind", WRONG)
def test_a_sentence_that_differs_from_its_quote_is_flagged(kind: str) -> None:
    """A changed fact is seen although the quote stands in the passages."""
    assert _found(*WRONG[kind])


@pytest.mark.parametrize("kind", RIGHT)
def test_a_right_paraphrase_passes(kind: str) -> None:
    """The same fact in other words, units or another language is no disagreement."""
    assert _found(*RIGHT[kind]) == []


@pytest.mark.parametrize(
    ("draft", "sentence", "noticed"),
    [
        ("Two pots are £48. One pan is £58. That's £106.", "That's £106.", []),
        ("Two pots are £48. One pan is £58. That's £116.", "That's £116.", ["number"]),
        ("That's £106. Two pots are £48. One pan is £58.", "That's £106.", ["number"]),
    ],
)
def test_a_total_may_stand_in_a_sentence_of_its_own(draft: str, sentence: str, noticed: list[str]) -> None:
    """The sentences before it, each compared with its own quotes, show what is added."""
    quoted = "A pot costs £24."
    found = disagreements(
        sentence, draft=draft, quoted=quoted, beside=quoted, passages=quoted, question="?", asked="?"
    )

    assert [each.kind for each in found] == noticed


@pytest.mark.parametrize(
    ("sentence", "quoted", "held"),
    [
        ("No, today is Sunday; we are open Monday to Saturday.", "We are open Monday to Saturday.", False),
        ("No, today is Friday; we are open Monday to Saturday.", "We are open Monday to Thursday.", True),
        ("We are open on Sunday.", "We are open on Monday and Tuesday.", True),
    ],
)
def test_the_day_of_the_message_is_known(sentence: str, quoted: str, held: bool) -> None:
    """It may be said, and takes the place of no day of the quotes."""
    texts = {"draft": sentence, "quoted": quoted, "beside": quoted, "passages": quoted}
    asked = "Are you open today?"
    found = disagreements(sentence, **texts, question=asked, asked=asked, written="Sunday, 29 November 2026")

    assert bool(found) is held


def test_days_are_counted_on_the_calendar() -> None:
    """A day that lies the quote's days before the day of the question follows."""
    sentence = "Please tell us by 11 May."
    quoted = "Tell us at least 21 calendar days before."

    assert not disagreements(
        sentence,
        draft=sentence,
        quoted=quoted,
        beside=quoted,
        passages=quoted,
        question="We move on 1 June.",
        asked="We move on 1 June.",
    )


@pytest.mark.parametrize(
    "text", ["", "\ud800 12 days", "9" * 100_000, "12 " * 30_000, "1" + "0" * 400, "ร้านเปิด 9.00", "٩ أيام"]
)
def test_any_text_is_compared(text: str) -> None:
    """Empty, huge and broken texts raise nothing."""
    for one, other in ((text, "It costs 12 euros."), ("It costs 12 euros.", text), (text, text)):
        disagreements(one, draft=one, quoted=other, beside=other, passages=other, question=text, asked=text)


@pytest.mark.parametrize(
    "unit",
    ["Open Ab ", "9:30 Monday 3 May 2024 ", "We are open. ", "(", "Yes, except us, ", "closed, ", "not all "],
)
def test_names_are_searched_in_linear_time(unit: str) -> None:
    """One endless sentence of a model, or of a program that has a draft checked, does not stop the worker."""
    text, quoted = f"Yes, 12 {unit * 5_000}", f"No 7. {unit * 500}"
    started = time.process_time()
    disagreements(text, draft=text, quoted=quoted, beside=quoted, passages=quoted, question="", asked="")

    assert time.process_time() - started < 2


def test_invented_answers_are_hardly_ever_verbatim() -> None:
    """Of the invented answers of the shipped set at most 1 in 200 passes without a reader."""
    folder = Path("bench/conversations")
    cases = [json.loads(line) for line in (folder / "cases.jsonl").read_text("utf-8").splitlines()]
    cases = [case for case in cases if case["doc"]]
    passed = 0
    for case in cases:
        text = (folder / "docs" / f"{case['doc']}.md").read_text("utf-8")
        passed += is_verbatim(case["query"], split_sentences(case["invented"]), [("", text)])
    print(f"verbatim: {passed} of {len(cases)} invented answers")

    assert passed * 200 <= len(cases)


PASSAGE = (
    "Returns",
    "You may return shoes within 30 days. Worn shoes are not accepted. Only with the receipt.",
)


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("return worn shoes", "Worn shoes are not accepted.", False),
        ("return shoes", "You may return shoes within 30 days.", True),
        ("return shoes", "You may return shoes within 14 days.", False),
        ("return shoes", "You may not return shoes within 30 days.", False),
        ("return shoes", "You may return shoes.", False),
        ("return sandals", "You may return shoes within 30 days.", False),
    ],
)
def test_only_whole_sentences_are_verbatim(question: str, sentence: str, expected: bool) -> None:
    """A cut condition, a changed number or negation, or a question word that is missing, ends it."""
    assert is_verbatim(question, [sentence], [PASSAGE]) is expected


@pytest.mark.parametrize(
    ("sentence", "quoted"),
    [
        ("Gift cards expire.", "Gift cards do not expire."),
        ("We ship to Norway.", "We do not ship to Norway."),
        ("Die Lieferung ist möglich.", "Die Lieferung ist nicht möglich."),
        ("No.", "Are dogs allowed in the shop? Yes."),
        ("Yes, we deliver bikes outside the town.", "We do not deliver bikes outside the town."),
    ],
)
def test_words_of_another_language_hide_no_contradiction(sentence: str, quoted: str) -> None:
    """The Polish "do" limits, the English one does not; the German "die" begins a main clause."""
    assert disagreements(
        sentence, draft=sentence, quoted=quoted, beside=quoted, passages=quoted, question="?", asked="?"
    )


@pytest.mark.parametrize(
    ("question", "sentence", "quoted", "noticed"),
    [
        ("4 kg?", "For 4 kg it is €8.", "To 2 kg €5, to 5 kg €8, to 10 kg €12.", []),
        ("40 kg?", "For 40 kg it is €12.", "To 2 kg €5, to 5 kg €8, to 10 kg €12.", ["number"]),
        ("175 cm?", "For 175 cm we recommend size M.", "S 160–169 cm, M 170–179 cm, L 180–189 cm.", []),
        ("After 25 days?", "You can return it after 25 days.", "Returns within 14 to 30 days.", ["number"]),
        ("In 60 days?", "Yes, within 60 days.", "Returns within 30 days.", ["number"]),
    ],
)
def test_an_amount_of_the_question_is_looked_up_in_a_table(
    question: str, sentence: str, quoted: str, noticed: list[str]
) -> None:
    """It stands between the amounts of a table; a limit, a range and what lies outside say otherwise."""
    found = disagreements(
        sentence,
        draft=sentence,
        quoted=quoted,
        beside=quoted,
        passages=quoted,
        question=question,
        asked=question,
    )

    assert [each.kind for each in found] == noticed


def test_an_abbreviation_ends_no_sentence() -> None:
    """A judge reads whole sentences, and the name after a title is compared."""
    sentences = (
        "Please ask Mrs. Miller or Dr. Lee, e.g. Monday.",
        "Offen z. B. am 24. Dezember, bis zum 3. Stock.",
        "1. Prof. Kim too.",
        "Seit dem 2. Mai.",
        "It costs 15.",
        "We ship.",
    )

    assert split_sentences(" ".join(sentences)) == list(sentences)


def test_an_article_is_no_unit() -> None:
    """The French "an" is a year, the English one is not."""
    quoted = "Children under 12 need an adult with them."
    sentence = "No, children under 12 need an adult with them."

    assert not disagreements(
        sentence, draft=sentence, quoted=quoted, beside=quoted, passages=quoted, question="?", asked="?"
    )


@pytest.mark.parametrize(
    ("sentence", "noticed"),
    [
        ("It takes two weeks and costs 18 euros.", []),
        ("It takes two weeks and costs 9 euros.", ["number"]),
        ("It takes 9 weeks.", ["number"]),
    ],
)
def test_a_number_of_another_paragraph_does_not_help(sentence: str, noticed: list[str]) -> None:
    """A sentence beside the quote may give it; a judge names a quote for any other number."""
    quoted = "A spare key takes two weeks."
    beside = f"{quoted} It costs 18 euros."
    passages = f"{beside}\n\nA basket costs 9 euros and takes 9 weeks."
    found = disagreements(
        sentence,
        draft=sentence,
        quoted=quoted,
        beside=beside,
        passages=passages,
        question="Price?",
        asked="Price?",
    )

    assert [each.kind for each in found] == noticed


@pytest.mark.parametrize(
    ("sentence", "earlier", "noticed"),
    [
        ("Yes, the refund is 40 euros.", "Your colleague promised me 40 euros.", ["number"]),
        ("For 4 people that makes 60 euros.", "There are 4 of us.", []),
        ("It costs 15 euros each.", "There are 4 of us.", []),
    ],
)
def test_what_a_customer_said_before_is_no_evidence(sentence: str, earlier: str, noticed: list[str]) -> None:
    """Counts may be repeated and multiplied; an amount of an earlier line may not."""
    quoted, question = "A refund is paid for each ticket. A ticket costs 15 euros each.", "And now?"
    found = disagreements(
        sentence,
        draft=sentence,
        quoted=quoted,
        beside=quoted,
        passages=quoted,
        question=question,
        asked=f"{question}\n{earlier}",
    )

    assert [each.kind for each in found] == noticed
