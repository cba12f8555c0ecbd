"""Limits on HTML before it is parsed: attributes of one tag, and nested elements.

The parser compares every attribute of a tag with all before it and searches the open elements at every tag,
so its time grows with the square of both. This scan is linear. It follows the HTML5 tokenizer closely enough
to count what the parser counts. A document that the scan misjudges reaches the time limit of the process.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from worker.errors import DocumentRejected

MOST_ATTRIBUTES: Final = 256
"""More than twice as many as any element of HTML has."""
MOST_DEPTH: Final = 512
"""The depth at which browsers stop nesting."""
MARKUP: Final = re.compile(r"<(?:!--(?P<comment>-?>)?|(?P<close>/)?(?P<name>[a-zA-Z][^\s/>]*+))")
SPACE: Final = re.compile(r"[\s/]*+")
ATTRIBUTE: Final = re.compile(
    r"(?:=[^\s/>=]*+|[^\s/>=]++)(?:\s*+=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|(?=>)|[^\s>\"'][^\s>]*+))?+[\s/]*+"
)
COMMENT_END: Final = re.compile(r"--!?>")
RAW: Final = frozenset([
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "plaintext",
])  # fmt: skip
RAW_END: Final = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW}
VOID: Final = frozenset([
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
])  # fmt: skip
ENDED_BY_NEXT: Final = frozenset([
    "a", "body", "button", "dd", "dt", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "html",
    "li", "optgroup", "option", "p", "rp", "rt", "tbody", "td", "tfoot", "th", "thead", "tr",
])  # fmt: skip
"""Elements that are never nested: the parser ends one at the start of the next."""

NEVER_DEEPER: Final = VOID | ENDED_BY_NEXT


def check_markup(text: str) -> None:
    """Refuse HTML whose parsing time would grow with the square of its length.

    Raises:
        DocumentRejected: with the value and the limit.
    """
    inside: Counter[str] = Counter()
    depth = at = 0
    while (found := MARKUP.search(text, at)) is not None:
        name = (found["name"] or "").lower()
        if not name:
            at = found.end() if found["comment"] else _after(COMMENT_END, text, found.end())
            continue
        at = _after_attributes(text, found.end())
        if found["close"]:
            depth -= min(1, inside[name])
            inside[name] = max(0, inside[name] - 1)
        elif name in RAW:
            at = _after(RAW_END[name], text, at)
        elif name not in NEVER_DEEPER:
            inside[name] += 1
            depth += 1
        if depth > MOST_DEPTH:
            raise DocumentRejected(
                f"has more than {MOST_DEPTH} elements inside each other, the last of them <{name[:20]}>:"
                f" the limit is {MOST_DEPTH}"
            )


def _after(end: re.Pattern[str], text: str, at: int) -> int:
    found = end.search(text, at)
    return found.end() if found else len(text)


def _after_attributes(text: str, at: int) -> int:
    """The end of a tag."""
    tag, count = at, 0
    at = _past(SPACE, text, at)
    while at < len(text) and text[at] != ">":
        at = _past(ATTRIBUTE, text, at)
        count += 1
        if count > MOST_ATTRIBUTES:
            raise DocumentRejected(
                f"has a tag with more than {MOST_ATTRIBUTES} attributes at character {tag:,}:"
                f" the limit is {MOST_ATTRIBUTES}"
            )
    return at


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
