"""Writes a word in disguises that people use against keyword lists, from tables of its own."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable

Disguise = Callable[[str, random.Random], str]

LEET = {
    "a": "4@", "b": "8", "e": "3", "g": "9", "i": "1!", "l": "1", "o": "0", "s": "5$", "t": "7+", "z": "2",
}  # fmt: skip
LOOKS = {
    "a": "аαａɑ𝐚", "b": "ЬƄᖯ𝗯", "c": "сϲⅽｃᴄ", "d": "ԁⅾ𝒅", "e": "еｅ℮ҽ",
    "f": "ꬵք𝖿", "g": "ɡց𝗀", "h": "һհ𝒽", "i": "іɩⅰι",
    "j": "јϳ𝗃", "k": "𝗄ｋ𝐤", "l": "ӏⅼ", "m": "ⅿ𝐦ｍ",
    "n": "ոռ𝗇", "o": "оοօᴏ", "p": "рρ𝗉", "q": "ԛզ𝗊",
    "r": "гᴦ𝗋", "s": "ѕꜱ𝗌", "t": "𝗍𝐭ｔ", "u": "υսᴜ",
    "v": "νѵⅴ", "w": "ԝᴡ𝗐", "x": "хⅹ", "y": "уүʏ", "z": "ᴢ𝗓ｚ",
    "A": "АΑᎪ", "B": "ВΒᏴ", "C": "СϹᏟ", "E": "ЕΕᎬ", "H": "НΗᎻ", "I": "ІΙ",
    "J": "ЈᎫ", "K": "КΚᏦ", "M": "МΜᎷ", "N": "Ν",
    "O": "ОΟՕ", "P": "РΡᏢ", "S": "ЅᏚՏ", "T": "ТΤᎢ", "X": "ХΧ", "Y": "ΥҮ", "Z": "ΖᏃ",
    "а": "aα", "е": "eҽ", "о": "oοօ", "р": "pρ", "с": "cϲ", "у": "yү", "х": "x",
    "і": "i", "ј": "j", "к": "κᴋ",
    "ο": "oо", "ι": "i", "α": "aа", "ν": "v", "ρ": "pр", "υ": "u",
}  # fmt: skip
ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u180e\ufe0f\u034f\u2063"
MARKS = [
    chr(point) for point in (*range(0x300, 0x315), *range(0x316, 0x334), 0x335, 0x336, *range(0x339, 0x34F))
]
SEPARATORS = " .-_*·•/|~,:;+=#'^\u2009\u00a0\u3000…—‧"
BY_SCRIPT_SEPARATORS = ".*-·_ "


def clusters(word: str) -> list[str]:
    """The letters of a word with their combining marks."""
    found: list[str] = []
    for char in word:
        if found and (unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Mc"}):
            found[-1] += char
        else:
            found.append(char)
    return found


def case(word: str, rng: random.Random) -> str:
    """Upper case, title case or any mixture."""
    how = rng.randrange(3)
    if how < 2:
        return word.upper() if how else word.title()
    return "".join(char.upper() if rng.random() < 0.5 else char for char in word)


def accents(word: str, rng: random.Random) -> str:
    """One mark on most letters, composed where Unicode has the letter."""
    marked = (
        c + rng.choice("\u0300\u0301\u0302\u0303\u0308\u030a\u0323\u0331")
        if c.isalpha() and rng.random() < 0.7
        else c
        for c in word
    )
    return unicodedata.normalize("NFC", "".join(marked))


def bare(word: str, _: random.Random) -> str:
    """The word without its marks."""
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def zalgo(word: str, rng: random.Random) -> str:
    """Two to four marks on every letter."""
    return "".join(c + "".join(rng.choices(MARKS, k=rng.randint(2, 4))) if c.isalpha() else c for c in word)


def compatibility(word: str, rng: random.Random) -> str:
    """Full-width, circled, boxed and mathematical letters, one kind for the word."""
    offset, upper = rng.choice(
        [(0xFF41, 0xFF21), (0x24D0, 0x24B6), (0x1D41A, 0x1D400), (0x1D5EE, 0x1D5D4),
         (0x1D68A, 0x1D670), (0x1F130, 0x1F130),
         (0x1D586, 0x1D56C), (0x249C, 0x249C)]
    )  # fmt: skip
    return "".join(
        chr(offset + ord(c) - 97) if "a" <= c <= "z" else chr(upper + ord(c) - 65) if "A" <= c <= "Z" else c
        for c in word
    )


def homoglyphs(word: str, rng: random.Random) -> str:
    """Look-alike letters of other scripts, at least one."""
    places = [at for at, char in enumerate(word) if LOOKS.get(char)]
    chosen = set(rng.sample(places, rng.randint(min(1, len(places)), len(places))))
    return "".join(rng.choice(LOOKS[c]) if at in chosen else c for at, c in enumerate(word))


def leet(word: str, rng: random.Random) -> str:
    """Digits and signs for letters, at least one; a letter stays in every word, and no ``!`` ends it."""
    tokens = (_leet_token(token, rng) for token in word.split(" "))
    return " ".join(token[:-1] + "1" if token.endswith("!") else token for token in tokens)


def leet_one(word: str, rng: random.Random) -> str:
    """Exactly one digit or sign for a letter."""
    places = [at for at, char in enumerate(word) if char in LEET]
    if not places:
        return word
    at = rng.choice(places)
    sign = rng.choice(LEET[word[at]])
    return word[:at] + ("1" if sign == "!" and at == len(word) - 1 else sign) + word[at + 1 :]


def _leet_token(word: str, rng: random.Random) -> str:
    places = [at for at, char in enumerate(word) if char in LEET]
    if not places:
        return word
    most = len(places) if len(places) < len(word) else len(places) - 1
    chosen = set(rng.sample(places, rng.randint(min(1, most), most)))
    return "".join(rng.choice(LEET[c]) if at in chosen else c for at, c in enumerate(word))


def zero_width(word: str, rng: random.Random) -> str:
    """One or two invisible characters between all letters."""
    parts = clusters(word)
    return "".join(p + "".join(rng.choices(ZERO_WIDTH, k=rng.randint(1, 2))) for p in parts[:-1]) + parts[-1]


def repeats(word: str, rng: random.Random) -> str:
    """One to three letters three to eight times."""
    parts = clusters(word)
    places = [at for at, part in enumerate(parts) if part.isalpha()]
    chosen = set(rng.sample(places, min(len(places), rng.randint(1, 3))))
    return "".join(p * rng.randint(3, 8) if at in chosen else p for at, p in enumerate(parts))


def separators(word: str, rng: random.Random) -> str:
    """One sign, or a sign with spaces, between all letters of each word; no sign that is a letter there."""
    sign = rng.choice([sign for sign in SEPARATORS if sign not in "+|" or not set(word) & set("+!1$@37")])
    sign = rng.choice([sign, sign, sign * 2, f" {sign} "])
    gap = "   " if sign.isspace() else " "
    return gap.join(sign.join(clusters(token)) for token in word.split(" "))


def script_separators(word: str, rng: random.Random) -> str:
    """One common sign between all letters of a word of a script without case."""
    sign = rng.choice(BY_SCRIPT_SEPARATORS)
    gap = "   " if sign.isspace() else " "
    return gap.join(sign.join(clusters(token)) for token in word.split(" "))


def mixed_separators(word: str, rng: random.Random) -> str:
    """Another sign after each letter."""
    return " ".join(
        "".join(c + rng.choice(".-_*·~") for c in clusters(token)[:-1]) + clusters(token)[-1]
        for token in word.split(" ")
    )


LATIN: dict[str, tuple[Disguise, ...]] = {
    "case": (case,),
    "accents": (accents,),
    "accents bare": (bare,),
    "nfkc": (compatibility,),
    "homoglyph": (homoglyphs,),
    "homoglyph case": (case, homoglyphs),
    "zero width": (zero_width,),
    "zalgo": (zalgo,),
    "leet": (leet,),
    "leet one": (leet_one,),
    "repeats": (repeats,),
    "separators": (separators,),
    "separators mixed": (mixed_separators,),
    "leet+repeats": (leet, repeats),
    "leet+separators": (leet, separators),
    "leet+homoglyph": (leet, homoglyphs),
    "leet+case": (leet_one, case),
    "homoglyph+separators": (homoglyphs, separators),
    "zero width+separators": (separators, zero_width),
    "zero width+homoglyph": (homoglyphs, zero_width),
    "accents+zero width": (accents, zero_width),
    "repeats+case": (repeats, case),
    "nfkc+repeats": (repeats, compatibility),
    "case+separators": (case, separators),
    "leet+zalgo": (leet, zalgo),
    "homoglyph+repeats+zero width": (homoglyphs, repeats, zero_width),
    "leet+homoglyph+separators": (leet, homoglyphs, separators),
    "case+leet+repeats": (leet_one, repeats, case),
}
CASED: dict[str, tuple[Disguise, ...]] = {
    name: LATIN[name]
    for name in (
        "case", "accents bare", "homoglyph", "zero width",
    "zalgo", "repeats", "separators", "separators mixed",
        "homoglyph+separators", "zero width+separators", "repeats+case", "case+separators",
    )
}  # fmt: skip
UNCASED: dict[str, tuple[Disguise, ...]] = {
    "zero width": (zero_width,), "repeats": (repeats,), "script separators": (script_separators,),
    "zero width+separators": (script_separators, zero_width),
}  # fmt: skip
