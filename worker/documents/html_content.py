"""Which elements of a page its reader sees as content: not hidden, not struck, no banner, menu or footer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from worker.documents.model import NoteCode
from worker.documents.superscripts import CURRENCY

DROPPED: Final = frozenset([
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "video", "audio", "canvas",
    "map", "select", "datalist", "textarea", "input", "progress", "meter", "dialog", "nav", "footer", "head",
    "search", "title", "rt", "rp",
])  # fmt: skip
ROLES: Final = frozenset([
    "navigation", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar", "tooltip",
])  # fmt: skip
STRUCK_TAGS: Final = frozenset(["s", "del", "strike"])
HIDING: Final = re.compile(
    r"display\s*:\s*none|(?:content-)?visibility\s*:\s*(?:hidden|collapse)|mso-hide\s*:\s*all"
    r"|opacity\s*:\s*(?:0+(?:\.0*)?|\.0+)%?\s*(?:;|!|\Z)|filter\s*:[^;}]{0,100}opacity\(\s*0(?:\.0*)?%?\s*\)"
    r"|(?<![-\w])color\s*:\s*(?:transparent|rgba\([^()]*,\s*0(?:\.0*)?%?\s*\))"
    r"|font(?:-size)?\s*:\s*(?:0+(?:\.0*)?(?:px|pt|em|rem|%)?|[0-2]?(?:\.\d+)?p[xt])\s*(?:/|;|!|\Z)"
    r"|text-indent\s*:\s*-\d{3,}|(?:left|top)\s*:\s*-\d{4,}|(?<![-\w])(?:left|top)\s*:\s*-[5-9]\d\d(?!\d)"
    r"|transform\s*:[^;}]{0,100}scale(?:3d|x|y)?\(\s*0\s*[,)]|clip-path\s*:\s*(?:inset\(\s*(?:50|100)%|circle\(\s*0)"
    r"|clip\s*:\s*rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]"
    r"|(?<![-\w])(?:width|height)\s*:\s*[01]px(?=[^}]{0,200}overflow\s*:\s*(?:hidden|clip))",
    re.IGNORECASE,
)
COLOUR: Final = re.compile(
    r"(?<![-\w])(background(?:-color)?|color)\s*:\s*(?!inherit|initial|unset|revert)(#?\w+(?:\([^()]*\))?)",
    re.IGNORECASE,
)
WHITE: Final = {"white": "#ffffff", "#fff": "#ffffff", "black": "#000000", "#000": "#000000"}
STRIKING: Final = re.compile(r"text-decoration(?:-line)?\s*:[^;}]*line-through", re.IGNORECASE)
RAISING: Final = re.compile(
    r"vertical-align\s*:\s*(?:super|top|text-top)|position\s*:\s*relative[^}]{0,100}top\s*:\s*-",
    re.IGNORECASE,
)
COMMENT: Final = re.compile(r"(?s)/\*.*?(?:\*/|\Z)")
BRACE: Final = re.compile(r"[{}]")
PLAIN_CONDITION: Final = re.compile(
    r"@(?:media\s+(?:only\s+)?(?:screen|all)\s*|layer\b[^;{}]{0,100}|supports\b[^{}]{0,200})\{"
)
"""Conditions that hold for every reader of a page."""
PRICE: Final = re.compile(rf"\d[.,]\d\d(?!\d)|{CURRENCY}\s?\d|\d\s?{CURRENCY}")
OFFER_CHARS: Final = 200
NEIGHBOURS: Final = 4
SEVERAL_PARTS: Final = re.compile(r"[\w.#> \-]{3,120}")
MOST_SELECTORS: Final = 50
"""Selectors of several parts that are looked for, each in the whole page."""
SIMPLE_SELECTOR: Final = re.compile(r"(?:[a-z][a-z0-9]*)?([.#][\w-]+)", re.IGNORECASE)


def _words(*names: str) -> re.Pattern[str]:
    """Matches names of classes and ids that contain one of these words as a part of its own."""
    return re.compile(rf"(?:^|[\s_-])(?:{'|'.join(names)})(?=$|[\s_-])", re.IGNORECASE)


HIDDEN_NAMES: Final = _words(
    "sr[-_]only", "screen-reader-(?:text|only)", "invisible", "is-invisible", "assistive-text",
    "visually-?hidden", "visuallyhidden", "is-hidden", "u-hidden", "hidden",
    "hide", "d-none", "a11y-hidden", "element-invisible",
)  # fmt: skip
SHOWN_AGAIN: Final = re.compile(
    r"(?:^|\s)(?:(?:sm|md|lg|xl|2xl|xxl|tablet|desktop|print)[-:](?:block|flex|grid|inline|table|contents|visible|show)"
    r"|d-(?:sm|md|lg|xl|xxl|print)-(?!none))",
    re.IGNORECASE,
)
"""Shown on larger screens."""
HIDDEN_ELSEWHERE: Final = re.compile(
    r"\S*overflow\S*|\S*:hidden|backface-\S+|no-hide\S*"
    r"|(?:hidden|hide)-(?:on-|for-)?(?:xs|sm|mobile|phone|small|touch|print)\S*"
    r"|(?:xs|sm|mobile|phone|small|touch|print)-(?:hidden|hide)",
    re.IGNORECASE,
)
"""Hidden on telephones or paper only, or no hiding at all."""
OTHER_PRICE_NAMES: Final = re.compile(
    r"(?:original|regular|previous|initial|full)[-_]{0,2}(?:price|amount)|price[-_]{0,2}(?:item)?[-_]{0,2}(?:original|regular|previous)"
    r"|(?:^|\s)(?:was|old)(?:$|\s)",
    re.IGNORECASE,
)
"""A former price, when another price stands beside it."""
STRUCK_NAMES: Final = _words(
    "old-?price", "price-?old", "was-?price", "price-?-?was", "compare-?at(?:-price)?", "price-?-?compare",
    "price-?before", "before-price", "strike", "strike-?through", "line-?through", "crossed(?:-out)?", "rrp",
    "list-?price", "msrp", "uvp", "statt(?:-?preis)?", "prix-(?:barre|avant)", "ancien-?prix",
    "streich-?preis",
    "alter-preis", "preis-alt", "prec?io-(?:anterior|antes|tachado)", "prezzo-(?:vecchio|barrato)",
    "discounted-from",
)  # fmt: skip
RAISED_NAMES: Final = _words(
    "cents?", "centimes?", "fraction", "decimals?", "price[-_]{0,2}dec(?:imal)?", "minor", "sup(?:erscript)?"
)
BANNER_NAMES: Final = re.compile(
    r"cookie|consent|gdpr|onetrust|cybot|usercentrics|didomi|klaro|borlabs|iubenda|truste|trustarc|qc-cmp|osano"
    r"|termly|cmplz|complianz|cc-(?:window|banner)|sp_message|cookiefirst|axeptio|tarteaucitron|uc-banner"
    r"|newsletter|mailing-?list|subscribe|sign-?up-?(?:form|box)|klaviyo|breadcrumb|skip-?(?:to|link|nav|content)"
    r"|announcement|promo-?(?:bar|banner|strip)|top-?bar|notice-?bar|ticker|marquee|mini-?cart|cart-?(?:drawer|popup"
    r"|side|notification)|side-?cart|off-?canvas|modal|pop-?up|lightbox|overlay|site-?(?:footer|nav|header)"
    r"|(?:main|primary|mobile|global|top|header|footer)-?(?:nav|menu|links)|page-?footer|global-?(?:footer|header)"
    r"|footer-?(?:widgets?|columns?|bottom|top|inner|content|container|wrapper|area)|share-?(?:buttons?|bar|links)"
    r"|social-?(?:icons?|links?|media|share|buttons?|bar)|related-?(?:products?|articles?|posts?|items?|content)"
    r"|you-?may-?(?:also-?)?like|also-?(?:like|bought)|recently-?viewed|up-?sells?\b|cross-?sells?\b|recommend(?:ation|ed)"
    r"|search-?(?:form|box|bar)|login-?(?:form|box)|(?:language|locale|currency|country)-?(?:switch|select|picker)"
    r"|chat-?(?:widget|bubble|launcher)|intercom-|crisp-client|tawk|zendesk-?widget|back-?to-?top|scroll-?top"
    r"|article-?(?:votes|relatives|vote)|was-?this-?helpful|wpadminbar|paginat|pager\b|comment-?(?:form|respond)",
    re.IGNORECASE,
)
MENU_NAMES: Final = _words(
    "menu", "nav", "navi", "navbar", "navigation", "header", "footer", "side-?bar", "sidenav", "links", "toc",
    "masthead", "toolbar", "topnav", "bottom", "social", "share", "related", "widget", "categories", "tags",
)  # fmt: skip
"""Names of menus that are also names of content, such as a restaurant's menu: only when links fill them."""
FOOTER_NAMES: Final = _words("footer", "foot", "colophon", "impressum-?footer", "site-?info", "copyright")
OPENED_NAMES: Final = re.compile(
    r"accordi?on|collaps|faq|toggle|tab-?(?:pane|panel|content)|answer|expand|spoiler|panel|disclosure",
    re.IGNORECASE,
)
"""Content that opens by a click is hidden only until then."""
OPENING: Final = frozenset(
    ["aria-expanded", "aria-controls", "data-target", "data-bs-target", "data-toggle", "data-bs-toggle"]
)
"""Attributes of a control that opens something."""
SMALL_SIZES: Final = frozenset(["1", "2", "-1", "-2", "-3"])
LINKS_SHARE: Final = 0.5
MENU_LINKS: Final = 3
FIELDS: Final = (
    "input[type=email],input[type=text],input[type=search],input[type=password],input:not([type]),textarea"
)
SHORT_FORM_CHARS: Final = 400
FOOTER_CHARS: Final = 1_500


@dataclass(slots=True)
class PageContent:
    """What a page's style sheets and controls say of its elements.

    Attributes:
        hidden: selectors ``.class`` and ``#id`` that a style sheet hides.
        struck: selectors that a style sheet strikes through.
        raised: selectors that a style sheet raises.
        opened: ids that a control opens.
        hidden_nodes: elements that selectors of several parts hide.
    """

    hidden: set[str] = field(default_factory=set)
    struck: set[str] = field(default_factory=set)
    raised: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    hidden_nodes: set[int] = field(default_factory=set)

    def left_out(self, node: LexborNode, tag: str, attributes: Mapping[str, str | None]) -> NoteCode | None:
        """Why an element is no content; None when it is."""
        if tag in STRUCK_TAGS:
            return NoteCode.STRUCK
        if tag in DROPPED or _is_page_element(node, tag, attributes):
            return NoteCode.PAGE_PARTS
        return self._by_attributes(node, tag, attributes) if attributes else None

    def is_raised(self, tag: str, attributes: Mapping[str, str | None]) -> bool:
        """Whether an element may stand above or below the line."""
        if tag in ("sup", "sub", "small"):
            return True
        if not attributes or tag not in ("span", "b", "strong", "font", "em", "i", "ins", "bdi"):
            return False
        names = attributes.get("class") or ""
        return bool(
            (tag == "font" and attributes.get("size") in SMALL_SIZES)
            or (names and RAISED_NAMES.search(names))
            or RAISING.search(attributes.get("style") or "")
            or (self.raised and not self.raised.isdisjoint(_selectors(attributes)))
        )

    def _by_attributes(
        self, node: LexborNode, tag: str, attributes: Mapping[str, str | None]
    ) -> NoteCode | None:
        names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".strip()
        style = attributes.get("style") or ""
        meaning = _meaning(names)
        if self._is_hidden(node, meaning, style, attributes):
            return NoteCode.HIDDEN
        selectors = _selectors(attributes) if names and self.struck else ()
        is_struck = (style and STRIKING.search(style)) or meaning.struck or "data-a-strike" in attributes
        if is_struck or not self.struck.isdisjoint(selectors) or (meaning.former and _has_other_price(node)):
            return NoteCode.STRUCK
        if (attributes.get("role") or "").lower() in ROLES or "aria-modal" in attributes:
            return NoteCode.PAGE_PARTS
        is_content = tag in ("body", "main", "html", "article", "table", "td", "tr")
        return NoteCode.PAGE_PARTS if not is_content and _is_page_part(node, meaning) else None

    def _is_hidden(
        self, node: LexborNode, meaning: _Meaning, style: str, attributes: Mapping[str, str | None]
    ) -> bool:
        by_class = (
            meaning.hidden
            or node.mem_id in self.hidden_nodes
            or (bool(self.hidden) and not self.hidden.isdisjoint(_selectors(attributes)))
        )
        by_style = bool(style) and (HIDING.search(style) is not None or _is_unseen_colour(style))
        by_attribute = "hidden" in attributes or "popover" in attributes
        if not (by_class or by_style or by_attribute or attributes.get("aria-hidden") == "true"):
            return False
        opened = (attributes.get("id") or "") in self.opened or meaning.opened
        return not opened or meaning.banner


class _Meaning(NamedTuple):
    """What the names of an element's classes and its id say."""

    hidden: bool
    struck: bool
    former: bool
    banner: bool
    footer: bool
    menu: bool
    opened: bool


@lru_cache(maxsize=4096)  # a page repeats its classes thousands of times
def _meaning(names: str) -> _Meaning:
    patterns = (STRUCK_NAMES, OTHER_PRICE_NAMES, BANNER_NAMES, FOOTER_NAMES, MENU_NAMES, OPENED_NAMES)
    hidden = HIDDEN_NAMES.search(HIDDEN_ELSEWHERE.sub(" ", names)) and not SHOWN_AGAIN.search(names)
    return _Meaning(bool(hidden), *(pattern.search(names) is not None for pattern in patterns))


def page_content(tree: LexborHTMLParser) -> PageContent:
    """The facts of a page, from its style sheets and controls."""
    found = PageContent()
    several = [each for sheet in tree.css("style") for each in _read_sheet(sheet.text() or "", found)]
    for selector in several[:MOST_SELECTORS]:
        with suppress(SelectolaxError):
            found.hidden_nodes.update(node.mem_id for node in tree.css(selector))
    for control in tree.css("[aria-controls],[data-target],[data-bs-target],[data-toggle],[data-bs-toggle]"):
        attributes = control.attributes
        for name in ("aria-controls", "data-target", "data-bs-target", "href"):
            found.opened.update((attributes.get(name) or "").replace("#", " ").split())
    return found


def _read_sheet(sheet: str, found: PageContent) -> Iterator[str]:
    """Rules of a style sheet that hold everywhere: not those for print or for narrow screens.

    Yields the selectors of several parts that hide; those of one class or id are added to ``found``.
    """
    plain = PLAIN_CONDITION.sub("", COMMENT.sub("", sheet))
    for part in _without_conditions(plain).split("}"):
        selectors, _, rule = part.partition("{")
        kinds = ((HIDING, found.hidden), (STRIKING, found.struck), (RAISING, found.raised))
        for wanted in (into for pattern, into in kinds if pattern.search(rule)):
            for selector in map(str.strip, selectors.split(",")):
                if match := SIMPLE_SELECTOR.fullmatch(selector):
                    wanted.add(match[1])
                elif wanted is found.hidden and SEVERAL_PARTS.fullmatch(selector):
                    yield selector


def _is_unseen_colour(style: str) -> bool:
    """Whether letters have the colour of their background."""
    found = {
        name.lower()[:5]: WHITE.get(value.lower(), value.lower()) for name, value in COLOUR.findall(style)
    }
    return "color" in found and found["color"] == found.get("backg")


def _has_other_price(node: LexborNode) -> bool:
    """Whether a price stands beside an element, or beside what is around it alone."""
    parent = node.parent
    if parent is not None and node.prev is None and node.next is None and parent.tag not in ("body", "main"):
        node = parent
    for direction in ("prev", "next"):
        beside: LexborNode | None = node
        for _ in range(NEIGHBOURS):
            beside = getattr(beside, direction) if beside is not None else None
            if beside is not None and PRICE.search((beside.text() or "")[:OFFER_CHARS]):
                return True
    return False


def _without_conditions(sheet: str) -> str:
    """A style sheet without its blocks ``@media`` and the like."""
    kept, at = [], 0
    while (start := sheet.find("@", at)) >= 0:
        kept.append(sheet[at:start])
        opening, end = sheet.find("{", start), sheet.find(";", start)
        if opening < 0 or 0 <= end < opening:
            at = end + 1 if end >= 0 else len(sheet)
            continue
        depth, at = 1, opening + 1
        for brace in BRACE.finditer(sheet, at):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                at = brace.end()
                break
        else:
            at = len(sheet)
    return "".join([*kept, sheet[at:]])


def _selectors(attributes: Mapping[str, str | None]) -> set[str]:
    found = {f".{name}" for name in (attributes.get("class") or "").split()}
    return found | {f"#{attributes['id']}"} if attributes.get("id") else found


def _is_page_element(node: LexborNode, tag: str, attributes: Mapping[str, str | None]) -> bool:
    """Whether an element is a banner, menu or form by its tag and what is in it."""
    match tag:
        case "button":
            return not OPENING & attributes.keys() and not _is_question(node, attributes)
        case "header":
            return _is_site_header(node)
        case "aside":
            return links_share(node) > LINKS_SHARE
        case "form":
            return _is_short_form(node)
        case "ul" | "ol":
            return _is_menu_list(node)
    return False


def _is_question(button: LexborNode, attributes: Mapping[str, str | None]) -> bool:
    """Whether a button is the question of an answer that it opens."""
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    text = button.text(strip=True)
    return text.endswith(("?", "？", "؟")) or (len(text) > 3 and OPENED_NAMES.search(names) is not None)


def _is_page_part(node: LexborNode, meaning: _Meaning) -> bool:
    """Whether a name says banner, menu or footer, and the element looks it."""
    if meaning.banner:
        return node.css_first("main,h1,[role=main]") is None
    if meaning.footer:
        return node.css_first("main,h1,article") is None and len(node.text()) < FOOTER_CHARS
    return meaning.menu and links_share(node) > LINKS_SHARE


def _is_menu_list(node: LexborNode) -> bool:
    """Whether a list holds short links only, outside of the text's own part of the page."""
    links = node.css("a")
    if len(links) < MENU_LINKS or links_share(node) < 0.95:
        return False
    short = sum(len(link.text(strip=True)) for link in links) / len(links) < 25
    return short and not _is_inside(node, ("main", "article"))


def _is_inside(node: LexborNode, tags: tuple[str, ...]) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.tag in tags:
            return True
        parent = parent.parent
    return False


def links_share(node: LexborNode) -> float:
    """The share of an element's text that is text of links."""
    whole = len("".join(node.text().split()))
    linked = sum(len("".join(link.text().split())) for link in node.css("a,button"))
    return linked / whole if whole else 0.0


def _is_site_header(node: LexborNode) -> bool:
    return node.css_first("h1,main,p") is None or node.css_first("nav,form,[role=navigation]") is not None


def _is_short_form(node: LexborNode) -> bool:
    is_asking = node.css_first(FIELDS) is not None
    return is_asking and len(node.text()) < SHORT_FORM_CHARS and node.css_first("table,h1") is None
