"""Text that people do not see and models read: invisible characters and encoded text."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from worker.displayed import carried_texts, overridden_texts

INVISIBLE: Final = re.compile(
    "[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)
CARRIER: Final = re.compile(
    "[\u200b\u200c\u200d\u2060-\u2064\ufeff]{8,}|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}"
)
"""So many invisible characters in a row carry data; scripts need one or two."""
BLOB: Final = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,4000}={0,2}(?![A-Za-z0-9+/=])")
SPACED: Final = re.compile(r"(?<![^\W_])(?:[^\W\d_][._·•*|-]){3,}[^\W\d_](?![^\W_])")
"""Single letters with signs between them, as in ``i.g.n.o.r.e``, or an abbreviation."""
SIGNS: Final = re.compile(r"[._·•*|-]")
MOST_BLOBS: Final = 5
VARIANTS: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
UNSEEN: Final = re.compile(f"{INVISIBLE.pattern[:-1]}{VARIANTS}]")
"""Any character that the other patterns look for; most texts have none."""
QUOTES: Final = {"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableText:
    """A text as patterns expect it, and the text that was hidden in it.

    Attributes:
        text: NFKC, lower case, straight quotes, without invisible characters, single spaces.
        carries_data: whether a run of invisible characters is too long to belong to the script.
        decoded: texts in invisible characters, in overridden direction, in base64 or with signs between
            letters, in the form of ``text``.
    """

    text: str
    carries_data: bool
    decoded: tuple[str, ...]


def readable_text(text: str) -> ReadableText:
    """The text for the patterns, with everything that was hidden in it."""
    blobs = (*_blobs(text), *_unspaced(text))
    if text.isascii():
        return ReadableText(text=_folded(text), carries_data=False, decoded=blobs)
    if UNSEEN.search(text) is None:
        return ReadableText(text=_folded(text), carries_data=False, decoded=blobs)
    hidden = tuple(map(_folded, (*carried_texts(text), *overridden_texts(text))))
    return ReadableText(
        text=_folded(INVISIBLE.sub("", text)),
        carries_data=CARRIER.search(text) is not None,
        decoded=hidden + blobs,
    )


def _folded(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode())
        for mark, plain in QUOTES.items():
            text = text.replace(mark, plain)
    return "\n".join(" ".join(line.split()) for line in text.lower().split("\n"))


def _unspaced(text: str) -> Iterator[str]:
    if SPACED.search(text) is not None:
        yield _folded(SPACED.sub(lambda match: SIGNS.sub("", match[0]), text))


def _blobs(text: str) -> Iterator[str]:
    """Base64 that is text; pictures and keys are not."""
    for number, match in enumerate(BLOB.finditer(text)):
        if number == MOST_BLOBS:
            return
        blob = match[0].rstrip("=")
        try:
            decoded = base64.b64decode(blob + "=" * (-len(blob) % 4), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
        if decoded.isprintable() or "\n" in decoded:
            yield _folded(decoded)
