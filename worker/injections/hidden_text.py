"""Text that people do not see and models read: invisible characters and encoded text."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final
from urllib.parse import unquote

from worker.displayed import carried_texts, displayed, overridden_texts

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
BLANKED: Final = re.compile(r"(?<![^\W_])(?:[^\W\d_] ){3,}[^\W\d_](?![^\W_])")
"""Single letters with a space between them; words have more spaces between them."""
HEX: Final = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}[ :]?){12,2000}(?![0-9A-Fa-f])")
PERCENT: Final = re.compile(r"(?:%[0-9A-Fa-f]{2}){6}")
TURNED_WORDS: Final = ("ignore", "instruction", "prompt", "disregard", "forget", "previous", "reveal")
REVERSED: Final = tuple(word[::-1] for word in TURNED_WORDS)
ROTATED: Final = tuple(codecs.encode(word, "rot13") for word in TURNED_WORDS)
LEET_WORD: Final = re.compile(r"[a-z][0134578@$!|][a-z]|\b[0134578@$!|]+[a-z]{2}|[a-z]{2}[0134578@$|]+\b")
MARKED_UP: Final = re.compile(r"</?[A-Za-z]|&#?\w+;|\w[*_]{1,3}\w|\w~~\w")
"""Markup within words; around words it may quote them."""
LEET: Final = str.maketrans("0134578@$!|", "oieastbasil")
LOOK_ALIKES: Final = str.maketrans("аеорсухіјѕԁһӏӀαορυνικτ", "aeopcyxijsdhllaopuvikt")
"""Cyrillic and Greek letters that look like Latin ones."""
MARKS: Final = re.compile("[\u0300-\u036f]")
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
        decoded: texts in invisible characters, in overridden direction, in base64, hexadecimal or percent
            codes, backwards, in ROT13 or with signs between letters, in the form of ``text``.
        disguised: the text as people read it: without markup and accents, with look-alike letters and digits
            replaced; such spellings hide nothing, so they weigh as they stand.
    """

    text: str
    carries_data: bool
    decoded: tuple[str, ...]
    disguised: tuple[str, ...] = ()


def readable_text(text: str) -> ReadableText:
    """The text for the patterns, with everything that was hidden in it."""
    decoded = (*_blobs(text), *_codes(text), *_unspaced(text), *_backwards(text))
    if text.isascii() or UNSEEN.search(text) is None:
        read, carries_data = _folded(text), False
    else:
        decoded = (*map(_folded, (*carried_texts(text), *overridden_texts(text))), *decoded)
        read, carries_data = _folded(INVISIBLE.sub("", text)), CARRIER.search(text) is not None
    return ReadableText(
        text=read, carries_data=carries_data, decoded=decoded, disguised=tuple(_disguised(text, read))
    )


def _disguised(text: str, read: str) -> Iterator[str]:
    shown = displayed(text) if MARKED_UP.search(text) else None
    plain = read if shown is None else _folded(INVISIBLE.sub("", shown.text))
    if not plain.isascii():
        plain = MARKS.sub("", unicodedata.normalize("NFD", plain)).translate(LOOK_ALIKES)
    plain = plain.replace("\n", " ")
    if plain != read:
        yield plain
    if LEET_WORD.search(plain):
        yield plain.translate(LEET)


def _codes(text: str) -> Iterator[str]:
    """Text in hexadecimal and in percent codes."""
    for match in islice(HEX.finditer(text), MOST_BLOBS):
        try:
            yield _folded(bytes.fromhex(match[0]).decode())
        except ValueError:
            continue
    if PERCENT.search(text):
        yield _folded(unquote(text))


def _backwards(text: str) -> Iterator[str]:
    """The text from its end, and in ROT13, where it has a word that says so."""
    lowered = text.lower()
    if any(map(lowered.__contains__, REVERSED)):
        yield _folded(text[::-1])
    if any(map(lowered.__contains__, ROTATED)):
        yield _folded(codecs.encode(text, "rot13"))


def _folded(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode())
        for mark, plain in QUOTES.items():
            text = text.replace(mark, plain)
    return "\n".join(" ".join(line.split()) for line in text.lower().split("\n"))


def _unspaced(text: str) -> Iterator[str]:
    if BLANKED.search(text) is not None:
        yield _folded(BLANKED.sub(lambda match: match[0].replace(" ", ""), text))
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
