"""Markdown (CommonMark with tables): its blocks as plain text without markup; code is unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from worker.documents import html
from worker.documents.cleaning import clean_text, single_line, trimmed_lines
from worker.documents.model import Block, ParsedDocument, table_block

READER: Final = (
    MarkdownIt("commonmark", {"maxNesting": 40}).enable(["table", "strikethrough"]).disable("inline")
)
"""Reads blocks only, at most 20 nested, each of two levels; ``_inline`` reads their content."""
RENDERER: Final = RendererHTML()
INLINE_CHARS: Final = 2_000
"""Links and emphasis are searched within this many characters, because the search is quadratic."""
SLICE: Final = re.compile(rf"(?s).{{1,{INLINE_CHARS}}}(?:(?<=\s)|\Z)|.{{1,{INLINE_CHARS}}}")
FRONT_MATTER: Final = re.compile(r"\A(---|\+\+\+)\n(.*?\n)?\1\n", re.DOTALL)
FRONT_TITLE: Final = re.compile(r"^title\s*[:=](.+)$", re.MULTILINE)
EXTENSIONS: Final = (
    (re.compile(r"(?<=\S)\[\^[^\]\s]{1,30}\](?!:)"), ""),
    (re.compile(r"^\[\^[^\]\s]{1,30}\]:\s*"), ""),
    (re.compile(r"(?<=[\w.,])\^([^\s^]{1,10})\^"), r"<sup>\1</sup>"),
    (re.compile(r"(?<=\w)~(\w{1,4})~(?!~)"), r"<sub>\1</sub>"),
    (re.compile(r"(?<![\w~\\])~(?=[^\s~])([^~\n]*[^\s~])~(?![\w~])"), r"~~\1~~"),
)
"""Marks of notes, raised and lowered signs and struck text, as GitHub and Pandoc write them."""


def parse_markdown(text: str) -> ParsedDocument:
    """Blocks of a Markdown text; the title is the front matter's, else the first heading of level 1."""
    text = clean_text(text)
    title = ""
    if front := FRONT_MATTER.match(text):
        named = FRONT_TITLE.search(front[2] or "")
        title = _unquoted(single_line(named[1])) if named else ""
        text = text[front.end() :]
    known: dict[str, Any] = {}
    blocks = tuple(_blocks(READER.parse(text, known), known))
    first = next((block.text for block in blocks if block.level == 1), "")
    return ParsedDocument(title=title or first, blocks=blocks)


def _unquoted(text: str) -> str:
    return text[1:-1].strip() if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"" else text


def _blocks(tokens: Sequence[Token], known: dict[str, Any]) -> Iterator[Block]:
    """The blocks of the tokens; ``known`` has the document's link targets, which the reader collects."""
    level, prefix = 0, ""
    rows: list[list[str]] = []
    for token in tokens:
        match token.type:
            case "heading_open":
                level = int(token.tag[1:])
            case "list_item_open":
                prefix = f"{token.info}. " if token.info else "- "
            case "tr_open":
                rows.append([])
            case "table_close":
                yield from _table(rows)
                rows = []
            case "inline" if rows:
                rows[-1].append(single_line(_inline(token, known)))
            case "inline":
                yield from _block(prefix + trimmed_lines(_inline(token, known)), level)
                level, prefix = 0, ""
            case "fence" | "code_block":
                yield from _block(token.content.strip("\n"), 0)
            case "html_block":
                yield from html.parse_html(token.content).blocks


def _table(rows: list[list[str]]) -> Iterator[Block]:
    if any(map(any, rows)):
        yield table_block(rows, head=1)


def _block(text: str, level: int) -> Iterator[Block]:
    if text.strip(" |-\n"):
        yield Block(text=single_line(text) if level else text.rstrip(), level=level)


def _inline(token: Token, known: dict[str, Any]) -> str:
    """The text of a paragraph or cell; with tags in it, or struck text, as a page shows it."""
    found: list[Token] = []
    content = token.content
    for pattern, plain in EXTENSIONS if "`" not in content else ():
        content = pattern.sub(plain, content)
    for piece in SLICE.findall(content):
        READER.inline.parse(piece, READER, known, found)
    if any(child.type in ("html_inline", "s_open") for child in found):
        return html.fragment_text(RENDERER.renderInline(found, READER.options, known))
    breaks = {"softbreak": "\n", "hardbreak": "\n"}
    return "".join(breaks.get(child.type, child.content) for child in found)
