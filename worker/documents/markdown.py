"""Markdown (CommonMark with tables): its blocks as plain text, marks taken off, code kept as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from worker.documents import html
from worker.documents.cleaning import clean, lines, one_line
from worker.documents.model import Block, Parsed

READER: Final = MarkdownIt("commonmark", {"maxNesting": 80}).enable("table")  # deeper is dropped
FRONT_MATTER: Final = re.compile(r"\A---\n(.*?\n)?---\n", re.DOTALL)
FRONT_TITLE: Final = re.compile(r"^title:[^\S\n]*(['\"]?)(.+?)\1[^\S\n]*$", re.MULTILINE)


def parsed(text: str) -> Parsed:
    """Blocks of a Markdown text; the title is the front matter's, else the first heading of level 1."""
    text = clean(text)
    title = ""
    if front := FRONT_MATTER.match(text):
        named = FRONT_TITLE.search(front[1] or "")
        title = one_line(named[2]) if named else ""
        text = text[front.end() :]
    blocks = tuple(_blocks(READER.parse(text)))
    first = next((block.text for block in blocks if block.level == 1), "")
    return Parsed(title=title or first, blocks=blocks)


def _blocks(tokens: Sequence[Token]) -> Iterator[Block]:
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
                yield from _block("\n".join(" | ".join(row) for row in rows), 0)
                rows = []
            case "inline" if rows:
                rows[-1].append(one_line(_inline(token)))
            case "inline":
                yield from _block(prefix + lines(_inline(token)), level)
                level, prefix = 0, ""
            case "fence" | "code_block":
                yield from _block(token.content.strip("\n"), 0)
            case "html_block":
                yield from html.parsed(token.content).blocks


def _block(text: str, level: int) -> Iterator[Block]:
    if text.strip(" |-\n"):
        yield Block(text=one_line(text) if level else text.rstrip(), level=level)


def _inline(token: Token) -> str:
    breaks = {"softbreak": "\n", "hardbreak": "\n", "html_inline": ""}
    return "".join(breaks.get(child.type, child.content) for child in token.children or ())
