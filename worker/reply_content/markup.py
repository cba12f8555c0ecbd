"""Markup, pictures, mentions and formulas that a program behind the channel may carry out."""

from __future__ import annotations

import re
from typing import Final

ELEMENTS: Final = frozenset([
    "a", "abbr", "acronym", "address", "applet", "area", "article", "aside", "audio", "b", "base",
    "basefont", "bdi", "bdo", "bgsound", "big", "blink", "blockquote", "body", "br", "button", "canvas",
    "caption", "center", "cite", "code", "col", "colgroup", "data", "datalist", "dd", "del", "details",
    "dfn", "dialog", "dir", "div", "dl", "dt", "em", "embed", "fieldset", "figcaption", "figure", "font",
    "footer", "form", "frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr",
    "html", "i", "iframe", "image", "img", "input", "ins", "isindex", "kbd", "keygen", "label", "layer",
    "legend", "li", "link", "listing", "main", "map", "mark", "marquee", "math", "menu", "meta", "meter",
    "mstyle", "nav", "nobr", "noembed", "noframes", "noscript", "object", "ol", "optgroup", "option",
    "output", "p", "param", "picture", "plaintext", "portal", "pre", "progress", "q", "rp", "rt", "ruby",
    "s", "samp", "script", "section", "select", "slot", "small", "source", "span", "strike", "strong",
    "style", "sub", "summary", "sup", "svg", "table", "tbody", "td", "template", "textarea", "tfoot",
    "th", "thead", "time", "title", "tr", "track", "tt", "u", "ul", "var", "video", "wbr", "xml", "xmp",
    "xss", "animate", "set", "use", "foreignobject", "at",
])  # fmt: skip
TAG: Final = re.compile(r"<\s*/?\s*([A-Za-z][A-Za-z0-9:-]*)((?:[\s/][^<>]*)?)(>|\Z|(?=<))")
OPENED: Final = re.compile(r"<!--|<!(?:doctype|\[cdata|entity)|<\?(?:xml|php|=)", re.IGNORECASE)
BBCODE: Final = re.compile(r"\[(?:img|url|iframe|media|video)(?:=[^\]\n]*)?\]", re.IGNORECASE)
IMAGE: Final = re.compile(r"!\[[^\]\n]{0,500}\]\s?[(\[]|!\[[^\]\n]{1,500}\](?=$|[\s.,])", re.MULTILINE)
EVERYONE: Final = (
    "everyone|here|channel|all|room|everybody|group|team|followers|highlight|alle|jeder|tous|toutlemonde|todos"
    "|tutti|allemaal|semua|все|всем|全体成员|所有人|全員|全体|모두|전체|mọi người|tất cả"
)
MENTION: Final = re.compile(
    rf"(?<![\w.@+-])@(?:{EVERYONE})(?![\w-]|\.\w)|<!(?:everyone|channel|here|group|subteam\^)[^>\s]*>?"
    r"|<@[&!]?[A-Z0-9]{2,}(?:\|[^>]*)?>|<#[A-Z0-9]{2,}(?:\|[^>]*)?>|<users/all>",
    re.IGNORECASE,
)
FORMULA: Final = re.compile(
    r"(?<![^\s\"'(])[=+@-]\s*(?:[A-Za-z][\w.]*\|\s*'|(?:hyperlink|webservice|image|import(?:xml|html|data|feed"
    r"|range)|rtd|dde|call|exec|register)\s*\()",
    re.IGNORECASE,
)


def raw_markup(text: str) -> str | None:
    """The first HTML, XML or BBCode tag of a text, or None.

    An invented name in angle brackets is none, nor is a comparison: no browser reads ``< b`` as an element.
    """
    for pattern in (OPENED, BBCODE):
        if (found := pattern.search(text)) is not None:
            return found[0]
    if "<" not in text:
        return None
    for tag in TAG.finditer(text):
        name, attributes, closed = tag[1].lower(), tag[2], tag[3] == ">"
        is_element = (name in ELEMENTS or "-" in name) and not tag[0][1].isspace()
        if (closed and is_element) or "=" in attributes or (closed and tag[0][1:].lstrip().startswith("/")):
            return tag[0]
    return None


def image(text: str) -> str | None:
    """The first picture of Markdown, inline or by reference, or None."""
    found = IMAGE.search(text)
    return found[0] if found else None


def mention(text: str) -> str | None:
    """The first mention of everyone or of an account by its id, in the forms of chat programs, or None."""
    found = MENTION.search(text)
    return found[0] if found else None


def formula(text: str) -> str | None:
    """The first formula that makes a spreadsheet start a program or fetch an address, or None."""
    found = FORMULA.search(text)
    return found[0] if found else None
