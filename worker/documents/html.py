"""HTML by the HTML5 rules: headings, paragraphs, list items, tables and listings of a page's content."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from worker.documents import html_tables, markup_limits
from worker.documents.cleaning import BLANKS, clean_text, single_line, trimmed_lines
from worker.documents.html_content import PageContent, page_content
from worker.documents.model import Block, Note, NoteCode, ParsedDocument
from worker.documents.superscripts import lowered, raised
from worker.documents.titles import own_title

HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
BLOCKS: Final = frozenset([
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dir",
    "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "form", "header", "hgroup", "hr", "legend", "li", "main",
    "menu", "ol",
    "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
    "xmp", *HEADINGS,
])  # fmt: skip
"""Elements that start a line of their own; browsers show every other element, known or not, within a line."""
TEXT: Final = "-text"
LITTLE: Final = 0.2
"""A part named ``main`` with less than this share of the page's text is not where its content is."""
NOTE_LINK: Final = (
    "a[href^='#'],a[role=doc-noteref],a[epub\\:type=noteref],a[href*='#footnote'],a[href*='#cite']"
)
CENTS: Final = re.compile(r"\d\d")
EXAMPLES: Final = 5


def parse_html(text: str) -> ParsedDocument:
    """The blocks of a page's content, without what its reader does not see, and without menus and banners.

    Raises:
        DocumentRejected: a tag has too many attributes, or elements are nested too deeply.
    """
    text = clean_text(text)
    markup_limits.check_markup(text)
    tree = LexborHTMLParser(text)
    heading = tree.css_first("title")
    title = own_title(heading.text()) if heading else ""
    reader = _Reader(page_content(tree))
    root = _content_root(tree)
    return ParsedDocument(
        title=title, blocks=tuple(reader.blocks(root)) if root else (), notes=tuple(reader.notes())
    )


def fragment_text(text: str) -> str:
    """The lines of a piece of HTML, as a page shows them."""
    return "\n".join(block.text for block in parse_html(text).blocks)


def _content_root(tree: LexborHTMLParser) -> LexborNode | None:
    mains = tree.css("main,[role=main]")
    if len(mains) == 1 and tree.body is not None and mains[0].tag != "body":
        whole, part = (len("".join(each.text().split())) for each in (tree.body, mains[0]))
        return mains[0] if part >= LITTLE * whole else tree.body
    return tree.body


class _Reader:
    """Reads one page; counts what it leaves out."""

    def __init__(self, content: PageContent) -> None:
        self._content = content
        self._left_out: Counter[NoteCode] = Counter()
        self._examples: dict[NoteCode, list[str]] = {}

    def notes(self) -> Iterator[Note]:
        """What was left out, by reason."""
        for code, count in self._left_out.items():
            yield Note(code=code, count=count, examples=tuple(self._examples[code]))

    def blocks(self, root: LexborNode) -> Iterator[Block]:
        """A block at each start or end of a block-level element, if text was collected before it."""
        parts: list[str] = []
        verbatim = 0
        walk = self._walk(root)
        for node, tag, entering in walk:
            if entering and html_tables.is_table(node, tag) and (table := self._table(node)):
                yield from _flushed(parts, 0, verbatim=False)
                if caption := html_tables.caption(node):
                    yield Block(text=caption)
                yield from html_tables.table_blocks(table)
                walk.skip_children()
            elif tag == "dl" and entering and (pairs := html_tables.short_pairs(node)):
                yield from _flushed(parts, 0, verbatim=False)
                rows: list[html_tables.HtmlRow] = [
                    (self._cell_text(name), self._cell_text(value))
                    for name, value in pairs
                    if not any(map(self._is_left_out, html_tables.pair_parts(name, value)))
                ]
                yield from html_tables.table_blocks(html_tables.Table(rows, 0))
                walk.skip_children()
            elif tag in BLOCKS:
                yield from _flushed(parts, 0 if entering else HEADINGS.get(tag, 0), verbatim=verbatim > 0)
                verbatim += (1 if entering else -1) if tag in ("pre", "xmp") else 0
                if tag == "li" and entering:
                    parts.append("- ")
            elif entering and self._inline(node, tag, parts, verbatim=verbatim > 0):
                walk.skip_children()
        yield from _flushed(parts, 0, verbatim=False)

    def _table(self, table: LexborNode) -> html_tables.Table | None:
        """A table of values; None for one that only arranges the page."""
        if not html_tables.holds_values(table):
            return None
        found = [
            [html_tables.HtmlCell(self._cell_text(cell), *html_tables.spans(cell)) for cell in row]
            for row in html_tables.cells_of(table, self._is_left_out)
            if row
        ]
        return html_tables.spread(found, html_tables.head_rows(table))

    def _cell_text(self, cell: LexborNode) -> str:
        """A cell on one line: what starts a line in it becomes a space."""
        parts: list[str] = []
        walk = self._walk(cell)
        for node, tag, entering in walk:
            if tag in BLOCKS:
                parts.append(" ")
            elif entering and self._inline(node, tag, parts, verbatim=False):
                walk.skip_children()
        return single_line("".join(parts))

    def _inline(self, node: LexborNode, tag: str, parts: list[str], *, verbatim: bool) -> bool:
        """Append an inline node; True when its children have been read with it."""
        if tag == TEXT:
            parts.append(_text(node, verbatim=verbatim))
        elif tag == "br":
            parts.append("\n")
        elif tag == "img":
            parts.append(node.attributes.get("alt") or "")
        elif tag == "wbr" or not self._content.is_raised(tag, node.attributes):
            return False
        else:
            return self._raised(node, tag, parts)
        return False

    def _raised(self, node: LexborNode, tag: str, parts: list[str]) -> bool:
        text = single_line(node.text())
        if len(text) > 12:
            return False  # small print, not a sign
        before, after = "".join(parts[-6:])[-40:], _following(node)
        if tag == "sub":
            read = lowered(before, text, after)
        elif tag not in ("sup", "small") and CENTS.fullmatch(text) and before[-1:].isdigit():
            read = f".{text}"
        elif tag == "sup" or (before[-1:].isdigit() and text[:1].isdigit()):
            is_note = node.css_first(NOTE_LINK) is not None or (
                node.parent is not None and node.parent.tag == "a"
            )
            read = raised(before, text, after, marks_note=is_note)
        else:
            return False
        if read.startswith("."):
            parts[-1] = parts[-1].rstrip()
        parts.append(read)
        return True

    def _is_left_out(self, node: LexborNode) -> bool:
        tag = node.tag or ""
        code = None if tag == TEXT else self._content.left_out(node, tag, node.attributes)
        if code is None:
            return False
        words = single_line(node.text() or "")[:120] if tag not in ("script", "style") else ""
        if any(map(str.isalnum, words)):
            self._left_out[code] += 1
            examples = self._examples.setdefault(code, [])
            if len(examples) < EXAMPLES:
                examples.append(words)
        return True

    def _walk(self, root: LexborNode) -> HtmlWalk:
        return HtmlWalk(root, self._is_left_out)


class HtmlWalk:
    """Every node of the content below ``root`` with its tag, on entering and on leaving.

    Without recursion: the depth is untrusted.
    """

    def __init__(self, root: LexborNode, is_left_out: Callable[[LexborNode], bool]) -> None:
        self._next = root.first_child
        self._is_left_out = is_left_out
        self._open: list[tuple[LexborNode, str]] = []
        self._skipped = False

    def __iter__(self) -> Iterator[tuple[LexborNode, str, bool]]:
        node = self._next
        while node is not None:
            tag = node.tag or ""
            if tag == TEXT:
                yield node, tag, True
            elif not tag.startswith("-") and not self._is_left_out(node):
                self._skipped = False
                yield node, tag, True
                if not self._skipped and (inner := node.first_child) is not None:
                    self._open.append((node, tag))
                    node = inner
                    continue
                yield node, tag, False
            while (following := node.next) is None and self._open:
                node, tag = self._open.pop()
                yield node, tag, False
            node = following

    def skip_children(self) -> None:
        """Do not read the children of the node just entered."""
        self._skipped = True


def _flushed(parts: list[str], level: int, *, verbatim: bool) -> Iterator[Block]:
    text = "".join(parts)
    parts.clear()
    if not text or text.isspace():
        return
    text = text.strip("\n").rstrip() if verbatim else trimmed_lines(text)
    if text and text != "-":
        yield Block(text=single_line(text) if level else text, level=level)


def _text(node: LexborNode, *, verbatim: bool) -> str:
    text = node.text_content or ""
    return text if verbatim else BLANKS.sub(" ", text.replace("\n", " "))


def _following(node: LexborNode) -> str:
    """The beginning of the text behind a node, in its own paragraph."""
    following = node.next
    return (following.text() or "")[:20] if following is not None else ""
