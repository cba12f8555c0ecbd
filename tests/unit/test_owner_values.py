"""Durations, presets, reasons and what-if figures of the owner's pages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from db.people.records import ADMINISTERING, Role
from review.access import RIGHTS, Right
from review.accounts import what_if
from review.accounts.settings_form import account_from_form, form_of_account
from review.accounts.settings_page import WEEKDAYS
from review.owner.held_reasons import BUDGET, FAMILIES, held_groups
from review.owner.home_page import owned_account
from review.typed.durations import TimeUnit, as_number_and_unit, duration_s
from review.typed.problems import problem_wording
from worker.account_settings import changed
from worker.assessment.text.language import text_for_author
from worker.model import Account, Weekday
from worker.presets import PRESETS, PresetKind, PresetName, new_account, preset_changes, preset_of, presets_of
from worker.reasons import ReasonFamily

SHOP = Account(user_id="shop", version=1)


@pytest.mark.parametrize(
    ("seconds", "number", "unit"),
    [
        (86_400, "1", TimeUnit.DAYS),
        (300, "5", TimeUnit.MINUTES),
        (5_400, "90", TimeUnit.MINUTES),
        (0, "0", TimeUnit.MINUTES),
        (1.5, "1.5", TimeUnit.SECONDS),
    ],
)
def test_a_duration_has_the_longest_unit_without_a_fraction(
    seconds: float, number: str, unit: TimeUnit
) -> None:
    """A number and a unit mean the same seconds again."""
    assert as_number_and_unit(seconds) == (number, unit)
    assert duration_s(number, unit) == seconds


@pytest.mark.parametrize(("number", "unit"), [("soon", "minutes"), ("5", "weeks"), ("", "days")])
def test_a_duration_without_number_or_unit_is_refused(number: str, unit: str) -> None:
    """The message says what was expected."""
    with pytest.raises(ValueError, match=r"Write a number|Choose one of seconds"):
        duration_s(number, unit)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("assessment_policy.send_at", "710", "Write a percentage from 0 to 100, not “710”."),
        ("auto_from_confidence", "x", "Write a percentage from 0 to 100, not “x”."),
        ("burst_window_s", "60", "Write at most 30 seconds, not 1 hour."),
        ("budget_day_usd", "0", "Write more than 0, not 0."),
        (
            "business_hours.mon",
            "9-5",
            'Write hours such as 09:00-12:00, 13:00-17:00, not "9-5"; hours past midnight belong to the next'
            " day.",
        ),
    ],
)
def test_a_wrong_field_has_its_problem_in_the_units_of_the_form(name: str, text: str, expected: str) -> None:
    """Percent and durations as they are typed, not as they are stored."""
    typed = form_of_account(SHOP)
    typed.fields |= {"burst_window_s": "0", "burst_window_s.unit": "minutes"} | {name: text}

    assert account_from_form(typed, SHOP) is None
    assert typed.errors == {name: expected}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("expected 'auto' or 'suggest', got \"x\"", 'Choose one of auto, suggest, not "x".'),
        ('0: expected one of at, be, bg, got "x"', '0: Choose one of at, be, bg, not "x".'),
        ('x: expected a valid number, got "y"', 'x: Write a number, not "y".'),
        (
            "expected a text of the pattern '^[a-z]{2}$', got \"y\"",
            'Write a country code such as de or vn, not "y".',
        ),
        (
            'expected a language code such as en or de, got "vn"',
            'Write a language code such as en or de, not "vn".',
        ),
        ("expected a text of the pattern '^z$', got \"y\"", 'Write another text: "y" cannot be used here.'),
        ('expected at most 9 characters, got "y"', 'Write at most 9 characters, not "y".'),
        ("expected a number from 0 to 1, got 7", "Write a number from 0 to 1, not 7."),
        ("there is no such field", "There is no such setting."),
        ("something else: no", "something else: no"),
    ],
)
def test_problems_of_settings_are_known_by_their_words(text: str, expected: str) -> None:
    """With the place of an entry before them; an unknown one stays as it is."""
    assert problem_wording(text) == expected


@pytest.mark.parametrize("name", PresetName)
def test_a_preset_can_be_stored_and_is_recognised(name: PresetName) -> None:
    """Its settings pass the checks of accounts, and any of them that differs ends the preset."""
    kind, own = PRESETS[name].kind, replace(SHOP, assessment_policy={"send_at": 0.8}, injection_check=False)
    after = changed(own, preset_changes(name, own))
    differing = {
        PresetKind.STRICTNESS: replace(after, injection_check=False),
        PresetKind.DESIGN: replace(after, assessment_policy=own.assessment_policy),
    }

    assert preset_of(after, kind) is name
    assert preset_of(differing[kind], kind) is None


def test_the_levels_of_strictness_set_the_same_settings() -> None:
    """No level leaves a rest of another one, and none touches what a design sets."""
    first, *others = presets_of(PresetKind.STRICTNESS).values()

    assert all(each.settings.keys() == first.settings.keys() for each in others)
    assert "assessment_policy" not in first.settings


def test_the_texts_of_an_account_are_kept_where_a_design_needs_any() -> None:
    """A design brings its own text to an account without one."""
    name, own = PresetName.CONFIDENCE_GUARDRAIL, {"vi": "Chờ một chút."}
    before = replace(SHOP, handoff_texts=own)

    assert preset_changes(name, before)["handoff_texts"] == own
    assert "team member" in preset_changes(name, SHOP)["handoff_texts"]["en"]


def test_each_design_can_be_chosen_by_a_preset() -> None:
    """Every policy that continues a published design, and the default."""
    chosen = {
        each.settings["assessment_policy"].get("name") for each in presets_of(PresetKind.DESIGN).values()
    }

    assert chosen == {None, "failsafe", "guardrail", "validators", "safety"}


def test_families_and_weekdays_are_total() -> None:
    """Every reason has a heading for owners, and every day a name."""
    assert set(FAMILIES) == set(ReasonFamily)
    assert set(WEEKDAYS) == set(Weekday)
    assert set(PRESETS) == set(PresetName)


def test_messages_without_reply_are_grouped_by_family() -> None:
    """Replies and codes of another release are left out; the most frequent reason comes first."""
    counts = [("FLAGGED_RULE", 1), ("MODERATION_FLAGGED", 3), ("REPLIED", 5), ("LATER", 2), ("TOO_LATE", 1)]
    counts += [("BUDGET_SPENT", 2), ("AI_DISABLED", 1)]
    found = held_groups([{"reason_code": code, "events": events} for code, events in counts])

    assert [(each.title, each.events) for each in found] == [
        (FAMILIES[ReasonFamily.BLOCKED], 4),
        (FAMILIES[ReasonFamily.SETTINGS], 1),
        (FAMILIES[ReasonFamily.TOO_LATE], 1),
        (BUDGET, 2),
    ]
    assert found[0].reasons == (("MODERATION_FLAGGED", 3), ("FLAGGED_RULE", 1))


def test_a_higher_confidence_stops_replies_below_it() -> None:
    """A reply that was not measured is unknown."""
    rows = [{"confidence": each, "measured": True} for each in (0.7, 0.8, 0.9)]
    found = what_if.with_confidence([*rows, {"confidence": 1.0, "measured": False}], 0.8)

    assert (found.replies, found.stopped, found.unknown) == (4, 1, 1)


@pytest.mark.parametrize(
    ("scores", "threshold", "result"),
    [
        ({"hate": {"score": 0.6}}, 0.6, (1, 0)),
        ({"hate": {"score": 0.6}}, 0.7, (0, 0)),
        ({"violence": {"score": 0.2}}, 0.5, (0, 0)),
        ({"violence": {"score": 0.2}}, 0.3, (0, 1)),
        ({"a": {"score": 0.2}, "b": {"score": 0.1}, "c": {"score": 0.05}}, 0.06, (0, 0)),
        ({"a": {"score": 0.2}, "b": {"score": 0.1}, "c": {"score": 0.05}}, 0.05, (0, 1)),
        ({"x:a": {"score": 0.2}, "x:b": {"score": 0.1}, "x:c": {"score": 0.0}}, 0.3, (0, 1)),
        (None, 0.9, (0, 1)),
    ],
)
def test_a_category_that_was_not_stored_is_known_only_above_the_stored_ones(
    scores: object, threshold: float, result: tuple[int, int]
) -> None:
    """Stored are scores from 0.5 on and the three highest, so another score lies below them."""
    found = what_if.with_category([{"scores": scores}], "hate", threshold)

    assert (found.stopped, found.unknown) == result


def test_roles_that_administer_are_those_with_the_right() -> None:
    """The last of them on every account is protected, and their invitations can be accepted."""
    assert set(ADMINISTERING) == {role for role, rights in RIGHTS.items() if Right.ADMIN in rights}
    assert Right.AUDIT not in RIGHTS[Role.OWNER]
    assert callable(owned_account)


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("de", "Wann kommt meine Bestellung endlich an?"),
        ("es", "¿Cuándo llega mi pedido, por favor?"),
        ("fr", "Quels sont vos horaires ?"),
        ("it", "Quando arriva il mio ordine, per favore?"),
        ("pt", "Quando é que a minha encomenda chega?"),
        ("nl", "Wanneer komt mijn bestelling eindelijk aan?"),
        ("pl", "Kiedy przyjdzie moje zamówienie?"),
        ("vi", "Khi nào đơn hàng của tôi đến?"),
        ("zh", "我的订单什么时候到？"),
        ("ja", "注文した商品はいつ届きますか？"),
        ("ko", "제 주문은 언제 도착하나요?"),
        ("ru", "Когда придёт мой заказ?"),
        ("uk", "Коли прийде моє замовлення?"),
        ("tr", "Siparişim ne zaman gelecek?"),
        ("ar", "متى يصل طلبي؟"),
        ("hi", "मेरा ऑर्डर कब आएगा?"),
        ("es", "¿y los lunes?"),
        ("pl", "zapomniałem hasła"),
        ("de", "Hallo"),
        ("en", "When will my order arrive?"),
        ("en", "Når kommer bestillingen min?"),
        ("en", "wen do yuo opn on saterday??"),
        ("en", "pls send invoice agn thx"),
        ("en", "is teh shop opn tomorow"),
    ],
)
def test_a_new_account_speaks_to_customers_in_their_language(language: str, message: str) -> None:
    """Disclosure and handoff have a text in each; other languages get the English texts."""
    account = new_account("shop")
    found = [
        text_for_author(texts, message, published=None, languages=())
        for texts in (account.disclosure_texts, account.handoff_texts)
    ]

    assert found == [account.disclosure_texts[language], account.handoff_texts[language]]


@pytest.mark.parametrize(
    ("message", "published", "reply", "language"),
    [
        ("is teh shop opn tomorow", None, "The shop is open from Monday to Friday.", "en"),
        ("is teh shop opn tomorow", "pl", "The shop is open from Monday to Friday.", "pl"),
        ("Wann habt ihr auf?", None, "9:30", "de"),
        ("accettate amex?", None, "No, ci dispiace, non accettiamo American Express.", "it"),
        ("when's double xp end in CET?", None, "Double XP ends on Monday at 06:00 UTC, 07:00 CET.", "en"),
        ("Når kommer bestillingen min?", None, "Butikken er åpen mandag til fredag fra 9.30 til 18.", "en"),
    ],
)
def test_a_text_beside_a_reply_is_in_the_language_of_the_reply(
    message: str, published: str | None, reply: str, language: str
) -> None:
    """A published language counts first; a reply of unknown language changes nothing."""
    texts = new_account("shop").disclosure_texts
    found = text_for_author(texts, message, published=published, languages=(), reply=reply)

    assert found == texts[language]
