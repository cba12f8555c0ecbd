"""What a document's owner should look at before it answers customers: odd prices, damaged letters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from worker.documents.model import Block, Note, NoteCode, ParsedDocument
from worker.documents.superscripts import CURRENCY

LITTLE_CHARS: Final = 20
LITTLE_OF_FILE_CHARS: Final = 60
"""A page or file is expected to say more than a pasted line does."""
SPLIT_PRICE: Final = re.compile(
    rf"{CURRENCY}\s?\d{{1,3}} \d{{2}}(?![\d.,])|(?<![\d.,])\d{{1,3}} \d{{2}} ?[€$£]"
)
TWO_POINTS: Final = re.compile(
    rf"{CURRENCY}\s?\d+[.,]\d{{1,2}}[.,]\d{{1,2}}(?!\d)|(?<![\d.,])\d+[.,]\d{{2}}[.,]\d{{2}} ?[€$£]"
)
NUMBER: Final = re.compile(r"\d[\d.,'’\u00a0\u202f ]*")
DECIMALS: Final = re.compile(r"[.,](?:\d{2}|-|–|—)\s*$")
LEAST_PRICES: Final = 5
FAR: Final = 20
DAMAGED: Final = re.compile(
    r"(?:Ã[\u0080-\u00bf¤¶¼ŸŒœžŽš„–©¨§]|â(?:‚¬|€[\u0080-\u02ff™œ“”¦])|Â[£°§«»€]|\ufffd)\w{0,20}"
)
"""UTF-8 that a program read in the encoding of Windows, and letters that were lost before."""
LEAST_DAMAGED: Final = 2
EXAMPLES: Final = 5


def checked_notes(document: ParsedDocument, *, least_chars: int) -> Iterator[Note]:
    """Notes on the text as a whole, beside those of its reader."""
    count = sum(map(str.isalnum, document.text))
    if count < least_chars:
        yield Note(code=NoteCode.LITTLE_TEXT, count=count, examples=(document.text[:200],))
    damaged = [found[0] for found in DAMAGED.finditer(document.text)]
    if len(damaged) >= LEAST_DAMAGED:
        examples = tuple(dict.fromkeys(damaged))[:EXAMPLES]
        yield Note(code=NoteCode.WRONG_ENCODING, count=len(damaged), examples=examples)
    odd = list(dict.fromkeys(each for block in document.blocks for each in _odd_prices(block)))
    if odd:
        yield Note(code=NoteCode.ODD_PRICES, count=len(odd), examples=tuple(odd[:EXAMPLES]))


def _odd_prices(block: Block) -> Iterator[str]:
    for pattern in (SPLIT_PRICE, TWO_POINTS):
        yield from (found[0] for found in pattern.finditer(block.text))
    if block.is_table:
        rows = [line.split("|") for line in block.text[block.head :].splitlines()]
        for column in range(max(map(len, rows))):
            yield from _odd_in_column([row[column].strip() for row in rows if len(row) > column])


def _odd_in_column(cells: Sequence[str]) -> Iterator[str]:
    """Prices of a column that lack the decimals of the others, or are far from all of them."""
    prices = [cell for cell in cells if re.search(CURRENCY, cell) and NUMBER.search(cell)]
    if len(prices) < LEAST_PRICES:
        return
    digits = [NUMBER.search(cell) for cell in prices]
    numbers = [found[0].strip() for found in digits if found]
    exact = [number for number in numbers if DECIMALS.search(number)]
    if len(exact) >= 0.75 * len(numbers):
        yield from (cell for cell, number in zip(prices, numbers, strict=True) if number not in exact)
    values = [_value(number) for number in numbers]
    middle = median(values)
    yield from (cell for cell, value in zip(prices, values, strict=True) if middle and value > FAR * middle)


def _value(number: str) -> float:
    whole = DECIMALS.sub("", number)
    return float(re.sub(r"\D", "", whole) or 0)
