"""Generated texts with and without personal data, by country and kind; the formats are written down here."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

PHONES: Final = {
    "de": (
        "0151 ########",
        "0171/#######",
        "030 ########",
        "(089) 2######",
        "+49 160 #######",
        "0049 30 2#######",
    ),
    "fr": ("06 1# ## ## ##", "01.4#.##.##.##", "+33 6 2# ## ## ##", "075#######", "+33 (0)1 42 ## ## ##"),
    "es": ("612 ### ###", "91 2## ## ##", "+34 655 ## ## ##", "6########"),
    "it": ("347 #######", "06 4#######", "+39 333 ### ####", "02 3### ####"),
    "gb": ("07812 ######", "020 7### ####", "+44 7400 ######", "(0161) 496 0###", "+44 (0)20 7946 0###"),
    "us": ("(212) 555-2###", "415-555-2###", "+1 650 253 ####", "312.555.2###", "2125552###"),
    "vn": ("0912 ### ###", "098#######", "+84 90 ### ## ##", "024 3### ####", "0283 8## ####"),
    "cn": ("138 #### ####", "139########", "+86 135 #### ####", "010-8### ####"),
    "jp": ("090-3###-####", "03-3###-####", "+81 80 4### ####", "06-6###-####"),
    "br": ("(11) 9####-####", "(21) 2###-####", "+55 11 9#### ####", "11 9########"),
    "in": ("98### #####", "+91 99### #####", "080 2### ####", "99########"),
    "pl": ("501 ### ###", "22 6## ## ##", "+48 601 ### ###"),
    "nl": ("06 12######", "020 6## ####", "+31 6 2#######"),
    "au": ("0412 ### ###", "(02) 9### ####", "+61 412 ### ###"),
}
IBANS: Final = {
    "de": "DE" + "9" * 18, "fr": "FR" + "9" * 23, "es": "ES" + "9" * 20, "it": "ITA" + "9" * 22,
    "gb": "GBAAAA" + "9" * 14, "pl": "PL" + "9" * 24, "nl": "NLAAAA" + "9" * 10, "br": "BR" + "9" * 23 + "AC",
    "ch": "CH" + "9" * 17, "at": "AT" + "9" * 16, "be": "BE" + "9" * 12, "se": "SE" + "9" * 20,
}  # fmt: skip
CARDS: Final = (
    ("4", 16), ("4", 13), ("51", 16), ("55", 16), ("2221", 16), ("34", 15), ("37", 15), ("6011", 16),
    ("65", 16), ("3528", 16), ("36", 14), ("62", 16), ("6304", 18),
)  # fmt: skip
NAMES: Final = (
    "ann", "j.smith", "nguyen.van.a", "maria_lopez", "o'neill", "li-wei", "jörg", "andré", "info", "иван",
    "k.kowalska", "sales+eu", "x1", "first.middle.last",
)  # fmt: skip
DOMAINS: Final = (
    "example.org", "mail.example.co.uk", "firma.de", "müller.de", "cong-ty.vn", "empresa.com.br", "qq.com",
    "example.museum", "sub.dept.example.edu", "пример.рф", "exámple.es",
)  # fmt: skip
CARRIERS: Final = (
    "Please write to {} today.", "{}", "Bitte melden Sie sich unter {}, danke.", "Mi dato es {}.",
    "Voici : {} (merci)", "Il mio contatto: {}!", "Gọi hoặc viết cho tôi: {} nhé", "请联系{}谢谢",
    "連絡先は{}です", "Meu contato é {};", "My data:\n{}\nand nothing else", "<b>{}</b>", "[{}]", "\"{}\"",
    "contact={}&x=1", "Kontakt: {} - proszę", "Bel {} of mail.", "Is {} correct?",
)  # fmt: skip
ORDER_LABELS: Final = (
    "order", "Order no.", "Bestellung", "pedido n.º", "commande nº", "đơn hàng", "订单号", "invoice #",
    "Rechnung Nr.", "ticket", "customer number", "Kassenbon", "zamówienie nr", "ordine",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalRow:
    """A text with one value, or with none; ``family`` is its kind, or the kind of the innocent number."""

    family: str
    country: str
    value: str
    text: str


def personal_rows(seed: int) -> list[PersonalRow]:
    """About 2,400 rows with personal data."""
    rng, rows = random.Random(seed), []
    for country, formats in PHONES.items():
        rows += [_row(rng, "phone", country, _filled(rng, rng.choice(formats))) for _ in range(70)]
    for country, shape in IBANS.items():
        rows += [_row(rng, "iban", country, _iban(rng, shape)) for _ in range(35)]
    rows += [_row(rng, "card", "any", _card(rng)) for _ in range(400)]
    for _ in range(600):
        rows.append(_row(rng, "email", "any", f"{rng.choice(NAMES)}@{rng.choice(DOMAINS)}"))
    return rows


def innocent_rows(seed: int) -> list[PersonalRow]:
    """About 1,300 rows with other numbers."""
    rng = random.Random(seed)
    return [
        PersonalRow(family=family, country="any", value="", text=rng.choice(CARRIERS).format(make(rng)))
        for family, make in INNOCENT.items()
        for _ in range(100)
    ]


def _digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choice(string.digits) for _ in range(count))


def _filled(rng: random.Random, shape: str) -> str:
    return "".join(rng.choice(string.digits) if char == "#" else char for char in shape)


def _row(rng: random.Random, family: str, country: str, value: str) -> PersonalRow:
    return PersonalRow(family=family, country=country, value=value, text=rng.choice(CARRIERS).format(value))


def _iban(rng: random.Random, shape: str) -> str:
    country, rest = (
        shape[:2],
        "".join(
            rng.choice(string.digits) if c == "9" else rng.choice(string.ascii_uppercase) for c in shape[2:]
        ),
    )
    number = int("".join(str(int(char, 36)) for char in f"{rest}{country}00"))
    plain = f"{country}{98 - number % 97:02}{rest}"
    spaced = " ".join(plain[at : at + 4] for at in range(0, len(plain), 4))
    return rng.choice((plain, spaced, spaced, plain.lower()))


def _card(rng: random.Random) -> str:
    prefix, length = rng.choice(CARDS)
    body = prefix + _digits(rng, length - len(prefix) - 1)
    doubled = [int(digit) * (2 - (at + length) % 2) for at, digit in enumerate(body)]
    check = -sum(each - 9 if each > 9 else each for each in doubled) % 10
    plain = f"{body}{check}"
    sign = rng.choice((" ", "-", " "))
    grouped = sign.join(plain[at : at + 4] for at in range(0, len(plain), 4))
    return rng.choice((plain, grouped, grouped))


def _date(rng: random.Random) -> str:
    y, m, d = rng.randint(1990, 2030), rng.randint(1, 12), rng.randint(1, 28)
    shown = (
        f"{y}-{m:02}-{d:02}",
        f"{d:02}.{m:02}.{y}",
        f"{d}/{m}/{y}",
        f"{y}年{m}月{d}日",
        f"{y}{m:02}{d:02}",
    )
    return f"{rng.choice(shown)} {rng.randint(0, 23):02}:{rng.randint(0, 59):02}"


def _order(rng: random.Random) -> str:
    return f"{rng.choice(ORDER_LABELS)} {_digits(rng, rng.randint(6, 12))}"


def _price(rng: random.Random) -> str:
    euros = rng.randint(1, 9_999_999)
    return rng.choice(
        (f"{euros:,}.{rng.randint(0, 99):02} EUR", f"$ {euros}", f"{euros:,} ₫".replace(",", "."))
    )


def _tracking(rng: random.Random) -> str:
    return rng.choice((
        f"1Z{_digits(rng, 16)}", f"RR{_digits(rng, 9)}DE", f"tracking {_digits(rng, 12)}",
        f"JD{_digits(rng, 18)}", f"parcel {_digits(rng, 14)}", f"tracking {_digits(rng, 20)}",
    ))  # fmt: skip


def _isbn(rng: random.Random) -> str:
    body = "978" + _digits(rng, 9)
    check = -sum(int(d) * (3 if at % 2 else 1) for at, d in enumerate(body)) % 10
    return rng.choice((f"ISBN {body}{check}", f"ISBN {body[:3]}-{body[3]}-{body[4:8]}-{body[8:]}-{check}"))


INNOCENT: Final[dict[str, Callable[[random.Random], str]]] = {
    "order number": _order,
    "bare number": lambda rng: _digits(rng, rng.randint(5, 12)),
    "date": _date,
    "price": _price,
    "version": lambda rng: (
        f"v{rng.randint(0, 20)}.{rng.randint(0, 99)}.{rng.randint(0, 999)}.{rng.randint(0, 9999)}"
    ),
    "tracking number": _tracking,
    "ip address": lambda rng: ".".join(str(rng.randint(0, 255)) for _ in range(4)),
    "isbn": _isbn,
    "uuid": lambda rng: f"{rng.getrandbits(128):032x}"[:8] + f"-{rng.getrandbits(64):016x}"[:13],
    "16 digits": lambda rng: _digits(rng, 16),
    "coordinates": lambda rng: f"{rng.uniform(-90, 90):.6f}, {rng.uniform(-180, 180):.6f}",
    "hash": lambda rng: f"{rng.getrandbits(160):040x}",
    "handle": lambda rng: f"@{rng.choice(('ann', 'shop', 'kim'))}{_digits(rng, 3)} at 5 @ 3.50",
}
