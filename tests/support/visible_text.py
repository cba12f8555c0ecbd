"""What a reader sees of a page, and the words in it that are not of the pseudo-locale."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from babel.dates import get_month_names
from selectolax.lexbor import LexborHTMLParser, LexborNode

from review.languages.pseudo_locale import ACCENTS

DATA = (
    "script, style, code, pre, kbd, samp, svg, time, bdi, datalist, [dir=auto], .mono, [lang]:not(html),"
    " [translate=no]"
)
"""Elements that hold what no catalogue has: data, codes, times and names of languages."""
SHOWN = (
    *("title", "aria-label", "placeholder", "alt", "data-label", "data-confirm"),
    *("data-action", "data-actions", "data-nothing", "data-over", "data-not-set", "data-one", "data-many"),
)
"""Attributes with texts, which the browser or a script shows."""
PLAIN = "".join(re.escape(chr(code)) for code in ACCENTS)
WORD = re.compile(r"[^\s,;()“”\"'…⟦⟧]+")
LETTERS = re.compile(rf"[A-Za-z]*[{PLAIN}][A-Za-z]+|[A-Za-z]+[{PLAIN}][A-Za-z]*")
CODE = re.compile(r"[A-Z0-9_]{2,}|\S*[_/:@*+<>=\d]\S*|\S*\w\.\w\S*|-+\w.*")
MONTHS = frozenset(get_month_names("abbreviated", locale="en_GB").values())
"""Dates follow the locale, and that of the pseudo-locale is English."""
NAMES = MONTHS | frozenset(
    {"Hushgate", "calibrated", "now", "UTC", "USD", "ms", "KiB", "MiB", "URL", "https", "Ctrl", "Enter"}
    | {"curl", "Python", "Node", "Slack", "Discord", "Intercom", "Zendesk", "YouTube"}
    | {"passages"}
)
"""``calibrated`` is the name of a policy, ``now`` a value that a filter takes, ``passages`` of a setting."""


def shown_texts(page: str) -> Iterator[str]:
    """Every text and shown attribute of a page, without elements that hold data."""
    yield from _texts_of(LexborHTMLParser(page))


def content_texts(page: str) -> Iterator[str]:
    """The same of the page's own content, without header and navigation."""
    tree = LexborHTMLParser(page)
    main = tree.css_first("main")
    yield from _texts_of(LexborHTMLParser(main.html or "") if main else tree)


def _texts_of(tree: LexborHTMLParser) -> Iterator[str]:
    for node in tree.css(DATA):
        node.decompose()
    for node in tree.css("*"):
        for name in SHOWN:
            if value := node.attributes.get(name):
                yield value
        yield from _own_texts(node)


def _own_texts(node: LexborNode) -> Iterator[str]:
    if node.tag in {"html", "head", "textarea"}:
        return
    for child in node.iter(include_text=True):
        if child.tag == "-text" and (text := child.text(deep=False).strip()):
            yield text


def english_words(texts: Iterable[str]) -> set[str]:
    """Shown words that were not translated to the pseudo-locale and are no codes or names."""
    return {
        f"{word} in {text[:80]!r}"
        for text in texts
        for word in WORD.findall(text)
        if LETTERS.search(word) and not CODE.fullmatch(word.strip(".")) and word.strip(".:") not in NAMES
    }
