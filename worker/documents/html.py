"""HTML by the HTML5 rules: headings, paragraphs, list items, table rows and listings of the main content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from worker.documents import markup_limits
from worker.documents.cleaning import BLANKS, clean_text, single_line, trimmed_lines
from worker.documents.model import Block, ParsedDocument

DROPPED: Final = (
    "script,style,noscript,template,svg,iframe,object,nav,footer,button,select,textarea,dialog,[hidden]"
)
HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
INLINE: Final = frozenset([
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "img", "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span",
    "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "br", "table", "thead",
    "tbody", "tfoot", "tr", "td", "th",
])  # fmt: skip
TEXT: Final = "-text"
CELL_END: Final = re.compile(r" \|$", re.MULTILINE)


def parse_html(text: str) -> ParsedDocument:
    """Blocks of ``main``, or of the body, without scripts, menus and forms.

    Raises:
        DocumentRejected: a tag has too many attributes, or elements are nested too deeply.
    """
    text = clean_text(text)
    markup_limits.check_markup(text)
    tree = LexborHTMLParser(text)
    heading = tree.css_first("title")
    title = single_line(heading.text()) if heading else ""
    for node in tree.css(DROPPED):
        node.decompose()
    root = tree.css_first("main") or tree.css_first("[role=main]") or tree.body
    return ParsedDocument(title=title, blocks=tuple(_blocks(root)) if root else ())


def _blocks(root: LexborNode) -> Iterator[Block]:
    """A block at each start or end of a block-level element, if text was collected before it."""
    parts: list[str] = []
    verbatim = 0
    for node, tag, entering in _walk(root):
        if tag == TEXT:
            parts.append(_text(node, verbatim=verbatim > 0))
        elif tag == "br" and entering:
            parts.append("\n")
        elif tag == "img" and entering:
            parts.append(node.attributes.get("alt") or "")
        elif tag in ("td", "th") and not entering:
            parts.append(" | ")
        elif tag == "tr" and not entering:
            parts.append("\n")
        elif tag not in INLINE:
            yield from _flushed(parts, 0 if entering else HEADINGS.get(tag, 0), verbatim=verbatim > 0)
            verbatim += (1 if entering else -1) if tag == "pre" else 0
            if tag == "li" and entering:
                parts.append("- ")
    yield from _flushed(parts, 0, verbatim=False)


def _flushed(parts: list[str], level: int, *, verbatim: bool) -> Iterator[Block]:
    text = "".join(parts)
    parts.clear()
    if not text or text.isspace():
        return
    text = text.strip("\n").rstrip() if verbatim else CELL_END.sub("", trimmed_lines(text))
    if text and text != "-":
        yield Block(text=single_line(text) if level else text, level=level)


def _text(node: LexborNode, *, verbatim: bool) -> str:
    text = node.text_content or ""
    return text if verbatim else BLANKS.sub(" ", text.replace("\n", " "))


def _walk(root: LexborNode) -> Iterator[tuple[LexborNode, str, bool]]:
    """Every node below ``root`` with its tag, on entering and on leaving.

    Without recursion: the depth is untrusted.
    """
    open_nodes: list[tuple[LexborNode, str]] = []
    node = root.first_child
    while node is not None:
        tag = node.tag or ""
        yield node, tag, True
        if tag != TEXT and (inner := node.first_child) is not None:
            open_nodes.append((node, tag))
            node = inner
            continue
        if tag != TEXT:
            yield node, tag, False
        while (following := node.next) is None and open_nodes:
            node, tag = open_nodes.pop()
            yield node, tag, False
        node = following
