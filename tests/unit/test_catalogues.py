"""Catalogues are complete and add no HTML; the pseudo-locale, numbers and times follow the reader."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from babel.messages.catalog import Catalog, Message
from jinja2 import DictLoader

from db.schema import baseline
from review.http import templating
from review.languages import gettext, ngettext
from review.languages.catalogues import LANGUAGES, LOCALES, fits, read_catalogue, usable_part
from review.languages.choice import choose_language, choose_zone
from review.languages.pseudo_locale import PSEUDO, pseudo_text
from review.languages.reader import NO_READER, PageReader, answer_in
from review.languages.times import PATTERNS, clock_time_element, exact_time_element, time_element
from review.words import decisions as wording
from review.words.states import FIRST_QUEUES
from tools import catalogues

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
COUNTED = re.compile(r"%\(\w+\)s (?:[a-z]+ )?([a-z]+s)\b")
NEVER_ONE = {"most", "least", "weeks", "all", "many", "share", "times", "points", "now"}
"""Bounds, shares, rounded large numbers and numbers with a fraction."""
TRANSLATED = [language for language in LANGUAGES if language != "en"]


@pytest.fixture(autouse=True)
def english() -> object:
    """Each test begins and ends with the default reader."""
    yield
    answer_in(NO_READER)


@pytest.fixture(scope="module")
def collected() -> Catalog:
    """Every text of the product."""
    return catalogues.collect()


@pytest.mark.parametrize("language", TRANSLATED)
def test_catalogues_are_complete(collected: Catalog, language: str) -> None:
    """Each text is translated, none is fuzzy, HTML and placeholders fit; the file has no other text."""
    found = catalogues.updated(language, collected)
    stored = {(message.id, message.context) for message in read_catalogue(language)}

    assert catalogues.problems_of(found) == []
    assert {(message.id, message.context) for message in found} == stored


def test_no_text_of_a_page_names_a_file_of_the_source(collected: Catalog) -> None:
    """An installed package has no such file, and its customers have no repository."""
    named = re.compile(r"\b(?:docs|deploy|examples|bench)/\w")

    assert [message.id for message in collected if named.search(str(message.id))] == []


def test_a_filter_of_a_constant_follows_each_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jinja2 would apply it once, when it compiles the template, in the language of the first reader."""
    folder = DictLoader({"page": "{{ 'respond' | decision_label }}"})
    monkeypatch.setattr(templating._environment(), "loader", folder)
    shown = []
    for language in ("en", PSEUDO):
        answer_in(replace(NO_READER, language=language))
        shown.append(templating.Templates().render("page", {}))

    assert shown == ["Replied", pseudo_text("Replied")]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('{{ _("by <bdi>%(name)s</bdi>, 5%%", name=x) }}', "by <bdi>&lt;a&gt;</bdi>, 5%"),
        ('{{ _("by %(name)s", name=x | safe) }}', "by <a>"),
        ('{{ ngettext("%(num)s reply of %(name)s", "%(num)s replies", 1, name=x) }}', "1 reply of &lt;a&gt;"),
        ('{{ ngettext("%(num)s reply", "%(num)s replies", 2) }}', "2 replies"),
        ('{{ pgettext("verb", "open %(name)s", name=x) }}', "open &lt;a&gt;"),
        ("{% trans name=x %}<b>{{ name }}</b> 5%{% endtrans %}", "<b>&lt;a&gt;</b> 5%"),
    ],
)
def test_a_text_of_a_template_has_its_own_html_and_escaped_values(template: str, expected: str) -> None:
    """A value keeps its HTML only when it is marked as safe."""
    shown = templating._environment().from_string(template).render(x="<a>")

    assert expected == shown


def test_a_count_before_a_noun_has_a_plural_form(collected: Catalog) -> None:
    """“1 days” cannot appear; placeholders of bounds and of shares are never 1."""
    plurals = [message.id[1] for message in collected if isinstance(message.id, tuple)]
    nouns = {noun for text in plurals for noun in COUNTED.findall(text)} - {"is", "has", "was", "as", "its"}
    counted = re.compile(rf"%\((\w+)\)s (?:of %\((\w+)\)s )?(?:[a-z]+ )?(?:{'|'.join(sorted(nouns))})\b")
    singles = [message.id for message in collected if isinstance(message.id, str)]
    found = {text for text in singles for names in counted.findall(text) if not NEVER_ONE & set(names)}

    assert {"days", "decisions", "messages"} <= nouns
    assert found == set()


@pytest.mark.parametrize(
    ("english_text", "translated", "expected"),
    [
        ("Save", "Lưu", True),
        ("Save", "<b>Lưu</b>", False),
        ("Save", "Lưu &lt;", False),
        ("by <bdi>%(name)s</bdi>", "bởi <bdi>%(name)s</bdi>", True),
        ("by <bdi>%(name)s</bdi>", "bởi <bdi onclick=x>%(name)s</bdi>", False),
        ("by %(name)s", "bởi %(nam)s", False),
        ("by %(name)s", "bởi", False),
        (("%(num)s day", "%(num)s days"), ("%(num)s ngày",), True),
        (("one attempt (%(what)s)", "%(num)s attempts (%(what)s)"), ("%(num)s lần (%(what)s)",), True),
        (("%(num)s day", "%(num)s days"), ("%(num)s <i>ngày</i>",), False),
    ],
)
def test_a_translation_adds_no_html(
    english_text: str | tuple[str, str], translated: str | tuple[str, ...], expected: bool
) -> None:
    """Other tags or placeholders than the English text has: the English text is shown."""
    stored = Catalog(locale="vi")
    stored.add(english_text, translated)

    assert fits(Message(english_text, translated)) is expected
    assert len(usable_part(stored)) == int(expected)


def test_every_language_has_formats() -> None:
    """A new language needs a locale and patterns of times."""
    assert set(LOCALES) == {*LANGUAGES, PSEUDO}
    assert set(LOCALES.values()) == set(PATTERNS)


@pytest.mark.parametrize(
    ("stored", "cookie", "accepted", "expected"),
    [
        (None, None, "", "en"),
        (None, None, "vi-VN,vi;q=0.9,en;q=0.8", "vi"),
        (None, None, "de,en;q=0.5,vi;q=0.4", "en"),
        (None, None, "en;q=0.3,vi;q=0.9", "vi"),
        (None, None, "vi;q=0", "en"),
        (None, None, "%;;q=x, ,*", "en"),
        (None, "vi", "en", "vi"),
        ("en", "vi", "vi", "en"),
        ("xx", "../vi", "vi", "vi"),
        (None, PSEUDO, "vi", PSEUDO),
    ],
)
def test_the_language_is_the_persons_the_cookies_or_the_browsers(
    stored: str | None, cookie: str | None, accepted: str, expected: str
) -> None:
    """In this order; English where none is known."""
    assert choose_language(stored, cookie, accepted) == expected


@pytest.mark.parametrize(
    ("stored", "cookie", "expected"),
    [
        (None, None, "UTC"),
        (None, "Asia/Ho_Chi_Minh", "Asia/Ho_Chi_Minh"),
        ("Europe/Berlin", "Asia/Ho_Chi_Minh", "Europe/Berlin"),
        (None, "../../etc/passwd", "UTC"),
        ("Nowhere/Land", None, "UTC"),
    ],
)
def test_the_time_zone_is_the_persons_or_the_browsers(
    stored: str | None, cookie: str | None, expected: str
) -> None:
    """UTC where no zone has this name."""
    assert choose_zone(stored, cookie).key == expected


@pytest.mark.parametrize(
    ("language", "age_s", "expected"),
    [
        ("en", 20, "just now"),
        ("en", 240, "4 min ago"),
        ("en", 5400, "2 hr ago"),
        ("en", -300, "in 5 min"),
        ("en", 90_000, "22 Nov, 18:00"),
        ("en", 400 * 86_400, "19 Oct 2025, 19:00"),
        ("vi", 240, "4 phút trước"),
        ("vi", 90_000, "18:00 22/11"),
    ],
)
def test_times_are_relative_within_a_day_and_local_beyond(language: str, age_s: int, expected: str) -> None:
    """The title has the exact time with its zone, the attribute the time in UTC."""
    answer_in(PageReader(language=language, zone=ZoneInfo("Asia/Ho_Chi_Minh"), now=NOW))
    at = NOW - timedelta(seconds=age_s)
    shown = time_element(at)

    assert f">{expected}</time>" in shown
    assert f'datetime="{at.isoformat()}"' in shown
    assert "UTC+7" in shown


def test_logs_show_utc_to_the_second() -> None:
    """Whatever the reader's zone is."""
    answer_in(PageReader(language="vi", zone=ZoneInfo("Asia/Ho_Chi_Minh"), now=NOW))

    assert ">2026-11-23 12:00:00</time>" in exact_time_element(NOW)


def test_texts_and_numbers_follow_the_reader() -> None:
    """Words, plural forms and the signs of numbers; English without a request."""
    seen = []
    for language in ("en", "vi", PSEUDO):
        answer_in(PageReader(language=language, now=NOW))
        count = ngettext("%(num)s day", "%(num)s days", 2) % {"num": 2}
        seen.append((gettext("Sign in"), count, wording.amount(12_345), wording.percent(0.055)))

    assert seen[0] == ("Sign in", "2 days", "12\N{NARROW NO-BREAK SPACE}345", "5.5 %")
    assert seen[1] == ("Đăng nhập", "2 ngày", "12.345", "5,5 %")
    assert seen[2][0].startswith("⟦Šîĝñ îñ")


def test_the_pseudo_locale_keeps_tags_and_placeholders() -> None:
    """It is longer and bracketed, and does not change twice."""
    text = pseudo_text('Add <a href="%(url)s">a document</a> for %(name)s')

    assert '<a href="%(url)s">' in text
    assert "%(name)s" in text
    assert len(text) > 1.3 * len("Add a document for ")
    assert pseudo_text(text) == text


def test_a_time_of_today_has_no_date() -> None:
    """A deadline of today is a clock time in the reader's zone; one of another day there keeps its date."""
    answer_in(PageReader(zone=ZoneInfo("Asia/Ho_Chi_Minh"), now=NOW))
    moments = (NOW + timedelta(minutes=5), NOW + timedelta(hours=6))
    shown = [clock_time_element(moment).striptags() for moment in moments]

    assert shown == ["19:05", "24 Nov, 01:00"]


def test_the_queues_of_a_new_database_have_names_in_every_language() -> None:
    """People give all other names, which no catalogue has."""
    created = re.findall(r"gen_random_uuid\(\), '([^']+)'", baseline.statements("first_queues", "public"))

    assert set(created) == FIRST_QUEUES
