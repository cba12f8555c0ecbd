"""Which elements of a page its reader sees as content: not hidden, not struck, no banner, menu or footer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from worker.documents.model import NoteCode

DROPPED: Final = frozenset([
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "video", "audio", "canvas",
    "map", "select", "datalist", "textarea", "input", "progress", "meter", "dialog", "nav", "footer", "head",
    "search", "title",
])  # fmt: skip
ROLES: Final = frozenset([
    "navigation", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar", "tooltip",
])  # fmt: skip
STRUCK_TAGS: Final = frozenset(["s", "del", "strike"])
HIDING: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0+)?\s*(?:;|!|\Z)"
    r"|(?<![-\w])color\s*:\s*transparent|font-size\s*:\s*0(?:px|pt|em|rem|%)?\s*(?:;|!|\Z)"
    r"|mso-hide\s*:\s*all|text-indent\s*:\s*-\d{3,}"
    r"|(?:left|top)\s*:\s*-\d{4,}|clip\s*:\s*rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]",
    re.IGNORECASE,
)
STRIKING: Final = re.compile(r"text-decoration(?:-line)?\s*:[^;}]*line-through", re.IGNORECASE)
RAISING: Final = re.compile(r"vertical-align\s*:\s*(?:super|top|text-top)", re.IGNORECASE)
COMMENT: Final = re.compile(r"(?s)/\*.*?(?:\*/|\Z)")
BRACE: Final = re.compile(r"[{}]")
SIMPLE_SELECTOR: Final = re.compile(r"(?:[a-z][a-z0-9]*)?([.#][\w-]+)", re.IGNORECASE)


def _words(*names: str) -> re.Pattern[str]:
    """Matches names of classes and ids that contain one of these words as a part of its own."""
    return re.compile(rf"(?:^|[\s_-])(?:{'|'.join(names)})(?=$|[\s_-])", re.IGNORECASE)


HIDDEN_NAMES: Final = _words(
    "sr-only", "screen-reader-text", "visually-?hidden", "visuallyhidden", "is-hidden", "u-hidden", "hidden",
    "hide", "d-none", "a11y-hidden", "element-invisible",
)  # fmt: skip
STRUCK_NAMES: Final = _words(
    "old-?price", "price-?old", "was-?price", "price-?-?was", "compare-?at(?:-price)?", "price-?-?compare",
    "price-?before", "before-price", "strike", "strike-?through", "line-?through", "crossed(?:-out)?", "rrp",
    "list-?price", "msrp", "uvp", "statt(?:-?preis)?", "prix-barre",
)  # fmt: skip
RAISED_NAMES: Final = _words(
    "cents?", "centimes?", "fraction", "decimals?", "price-?dec(?:imal)?", "minor", "sup(?:erscript)?"
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
        struck: those that it strikes through.
        raised: those that it raises.
        opened: ids that a control opens.
    """

    hidden: set[str] = field(default_factory=set)
    struck: set[str] = field(default_factory=set)
    raised: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)

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
            (names and RAISED_NAMES.search(names))
            or RAISING.search(attributes.get("style") or "")
            or (self.raised and not self.raised.isdisjoint(_selectors(attributes)))
        )

    def _by_attributes(
        self, node: LexborNode, tag: str, attributes: Mapping[str, str | None]
    ) -> NoteCode | None:
        names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".strip()
        style = attributes.get("style") or ""
        meaning = _meaning(names)
        if self._is_hidden(meaning, style, attributes):
            return NoteCode.HIDDEN
        selectors = _selectors(attributes) if names and self.struck else ()
        if (style and STRIKING.search(style)) or meaning.struck or not self.struck.isdisjoint(selectors):
            return NoteCode.STRUCK
        if (attributes.get("role") or "").lower() in ROLES or "aria-modal" in attributes:
            return NoteCode.PAGE_PARTS
        is_content = tag in ("body", "main", "html", "article", "table", "td", "tr")
        return NoteCode.PAGE_PARTS if not is_content and _is_page_part(node, meaning) else None

    def _is_hidden(self, meaning: _Meaning, style: str, attributes: Mapping[str, str | None]) -> bool:
        by_class = meaning.hidden or (
            bool(self.hidden) and not self.hidden.isdisjoint(_selectors(attributes))
        )
        by_style = bool(style) and HIDING.search(style) is not None
        if not (by_class or by_style or "hidden" in attributes or attributes.get("aria-hidden") == "true"):
            return False
        opened = (attributes.get("id") or "") in self.opened or meaning.opened
        return not opened or meaning.banner


class _Meaning(NamedTuple):
    """What the names of an element's classes and its id say."""

    hidden: bool
    struck: bool
    banner: bool
    footer: bool
    menu: bool
    opened: bool


@lru_cache(maxsize=4096)  # a page repeats its classes thousands of times
def _meaning(names: str) -> _Meaning:
    patterns = (HIDDEN_NAMES, STRUCK_NAMES, BANNER_NAMES, FOOTER_NAMES, MENU_NAMES, OPENED_NAMES)
    return _Meaning(*(bool(names) and pattern.search(names) is not None for pattern in patterns))


def page_content(tree: LexborHTMLParser) -> PageContent:
    """The facts of a page, from its style sheets and controls."""
    found = PageContent()
    for sheet in tree.css("style"):
        _read_sheet(sheet.text() or "", found)
    for control in tree.css("[aria-controls],[data-target],[data-bs-target],[data-toggle],[data-bs-toggle]"):
        attributes = control.attributes
        for name in ("aria-controls", "data-target", "data-bs-target", "href"):
            found.opened.update((attributes.get(name) or "").replace("#", " ").split())
    return found


def _read_sheet(sheet: str, found: PageContent) -> None:
    """Rules of a style sheet that hold everywhere: not those for print or for narrow screens."""
    for part in _without_conditions(COMMENT.sub("", sheet)).split("}"):
        selectors, _, rule = part.partition("{")
        kinds = ((HIDING, found.hidden), (STRIKING, found.struck), (RAISING, found.raised))
        for wanted in (into for pattern, into in kinds if pattern.search(rule)):
            each = (SIMPLE_SELECTOR.fullmatch(selector.strip()) for selector in selectors.split(","))
            wanted.update(match[1] for match in each if match)


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
            return not {"aria-expanded", "aria-controls"} & attributes.keys()
        case "header":
            return _is_site_header(node)
        case "aside":
            return links_share(node) > LINKS_SHARE
        case "form":
            return _is_short_form(node)
        case "ul" | "ol":
            return _is_menu_list(node)
    return False


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
