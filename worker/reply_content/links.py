"""The links of a text, and whether a reply may have them: compared as parsed URLs, never as strings."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from yarl import URL

from worker.reply_content.top_level import TOP_LEVEL

_END: Final = '[^\\s<>"|`，。；：！？、）》」』】]'
_HOST: Final = r"[A-Za-z0-9\u00c0-\u024f\u0370-\u052f_-]+"
WITH_SCHEME: Final = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]{{1,30}}:[/\\]{{2}}{_END}+|https?:[/\\]?(?:{_HOST}\.)+{_END}+", re.IGNORECASE
)
NEVER: Final = re.compile(
    r"(?<![\w-])(?:java\s?script|vbscript|livescript|view-source|ms-[a-z-]{3,}|search-ms|itms-services|intent"
    rf"|blob|jar|mhtml|shell):{_END}+|(?<![\w-])data:(?:[a-z]+/[a-z0-9.+-]+\s*[;,]|[;,]){_END}*"
    rf"|(?<![\w-])file:[/\\]{_END}*|(?<!\S)\\\\[\w.-]+\\{_END}*",
    re.IGNORECASE,
)
"""Code, data and local files instead of an address; data: and file: as words need more than the colon."""
WITHOUT_SCHEME: Final = re.compile(rf"(?<![\w:/.\\])//(?:{_HOST}\.)+{_END}+")
BARE: Final = re.compile(
    rf"(?<![A-Za-z0-9\u00c0-\u024f\u0370-\u052f@＠._/\\-])(?:(?:{_HOST}\.)+"
    r"(?:[A-Za-z][A-Za-z0-9-]{1,23}|[\u0370-\u052f]{2,8}(?![\u0370-\u052f]))|(?:\d{1,3}\.){3}\d{1,3})"
    rf"(?![A-Za-z0-9@-]|_\w|\.[A-Za-z0-9])(?P<rest>(?::\d{{2,5}})?(?:[/?#]{_END}*)?)"
)
TARGET: Final = re.compile(r"\]\(\s*<?([^)\s>]+)")
DEFINITION: Final = re.compile(r"(?m)^ {0,3}\[[^\]\n]+\]:[ \t]*<?(\S*[/.:#?][^\s>]*)")
DEFANGED: Final = re.compile(r"\s?[\[({](?:\.|dot|punkt|punto|point)[\])}]\s?", re.IGNORECASE)
FULL_STOP: Final = re.compile("(?<=[A-Za-z0-9])\u3002(?=[a-z]{2,})")
"""A full stop that browsers read as a dot."""
ENDINGS_OF_FILES: Final = frozenset([
    "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "txt", "csv", "tsv", "rtf", "odt", "ods", "png",
    "jpg", "jpeg", "gif", "svg", "webp", "heic", "mp3", "mp4", "avi", "wav", "js", "ts", "jsx", "tsx",
    "css", "scss", "html", "htm", "php", "asp", "aspx", "json", "xml", "yaml", "yml", "toml", "ini",
    "cfg", "conf", "log", "exe", "msi", "dmg", "apk", "ipa", "jar", "bat", "cmd", "iso", "bin", "dat",
    "db", "sql", "ics", "vcf", "key", "pem", "crt", "cer", "epub", "psd", "bak", "tmp", "tar", "gz",
    "rar", "java", "cpp", "rb", "vue", "lock", "env", "gpx", "fit",
])  # fmt: skip
"""Last parts of names that are no top-level domains."""
GENERIC: Final = frozenset([
    "com", "net", "org", "info", "biz", "io", "app", "dev", "xyz", "top", "site", "online", "shop",
    "store", "club", "live", "link", "click", "icu", "vip", "pro", "zip", "mov", "edu", "gov", "mil",
    "int", "name", "mobi", "asia", "jobs", "cloud", "page", "web", "test", "example", "invalid",
    "localhost", "onion", "local",
])  # fmt: skip
"""Top-level domains that count in any letter case; others only in small letters, as sentences may lack the
space after their full stop."""
ABBREVIATION: Final = re.compile(r"(?:[^\W\d_]{1,3}\.)*[^\W\d_]{1,3}\.[^\W\d_]\.[a-z]+\Z")
"""Such as ``p.m.`` with the next word: no single letter can be registered below a country."""
DEFAULT_PORTS: Final = frozenset({80, 443})
FIRST_UNSPACED: Final = "\u0e00"
"""Scripts from Thai on write no space between a link and the next word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link as written, and where it leads.

    Attributes:
        shown: as written.
        host: ASCII (IDNA), lower case, without ``www.``; empty for a place in the same site.
        place: port, path, query and fragment; the port is empty for the usual ones.
        is_safe: False for code, data, local files, a user name before the host, and what no parser reads.
    """

    shown: str
    host: str = ""
    place: tuple[str, str, str, str] = ("", "", "", "")
    is_safe: bool = True


def readings(text: str) -> tuple[str, ...]:
    """The text as written, and as programs and people read it: entities, wide letters, ``[.]`` and hxxp."""
    if text.isascii() and "&" not in text and DEFANGED.search(text) is None and "hxxp" not in text.lower():
        return (text,)
    read = unicodedata.normalize("NFKC", html.unescape(text))
    read = FULL_STOP.sub(".", DEFANGED.sub(".", read))
    read = re.sub("hxxp", "http", read, flags=re.IGNORECASE)
    return (text,) if read == text else (text, read)


def links_of(text: str) -> tuple[Link, ...]:
    """The links of a text, each once: with and without a scheme, of Markdown, and of scripts and data."""
    found: dict[Link, None] = {}
    for reading in readings(text):
        if not ({".", ":", "/", "\\"} & set(reading)):
            continue
        for link in _links(reading):
            found[link] = None
    return tuple(found)


def _links(text: str) -> Iterator[Link]:
    for match in NEVER.finditer(text):
        yield Link(shown=_trimmed(match[0]), is_safe=False)
    rest = text
    for pattern in (WITH_SCHEME, WITHOUT_SCHEME):
        for match in pattern.finditer(text):
            raw = _trimmed(match[0])
            start, end = match.start(), match.start() + len(raw)
            rest = rest[:start] + "/" * len(raw) + rest[end:]  # a place in it is no link of its own
            yield _parsed(raw)
    for match in BARE.finditer(rest):
        if _is_host(match[0].removesuffix(match["rest"]), match["rest"]):
            yield _parsed(_trimmed(match[0]))
    for pattern in (TARGET, DEFINITION):
        for match in pattern.finditer(text):
            if not match[1].lower().startswith(("mailto:", "tel:", "sms:")):
                yield _parsed(match[1])


def _is_host(host: str, rest: str) -> bool:
    """Whether a name with dots is one of a host, not of a file, a version or two sentences."""
    last = host.rpartition(".")[2]
    if last.isdigit():
        return rest.startswith(("/", ":"))
    if last.lower() in ENDINGS_OF_FILES:
        return len(rest.strip("/")) > 1 and "/" in rest
    if host.lower().startswith("www.") or last.lower().startswith("xn--"):
        return True
    name = host.split(".")[-2].strip("_")
    if last.lower() not in TOP_LEVEL or "_" in name:
        return False
    is_written = last.islower() or (host.isupper() and len(name) > 3)
    return last.lower() in GENERIC or "/" in rest or (is_written and not ABBREVIATION.match(host))


def _trimmed(raw: str) -> str:
    """The link without the signs that belong to the sentence or to the markup around it."""
    for opening, closing in ("()", "[]"):
        depth = 0
        for at, char in enumerate(raw):
            depth += (char == opening) - (char == closing)
            if depth < 0:
                raw = raw[:at]
                break
    return raw.rstrip(".,;:!?*_~'’”“\"»…")


@lru_cache(maxsize=4096)
def _parsed(raw: str) -> Link:
    """The link that a raw text is; browsers read a backslash as a slash."""
    plain = raw.replace("\\", "/")
    plain = re.sub(r"\A(https?):/?(?=[^/])", r"\1://", plain, flags=re.IGNORECASE)
    scheme, colon, _ = plain.partition("://")
    if plain.startswith(("/", "#", "?", ".")) and not plain.startswith("//"):
        return Link(shown=raw, place=("", plain, "", ""))
    if not colon:
        plain = f"https:{plain}" if plain.startswith("//") else f"https://{plain}"
    authority = re.split("[/?#]", plain.partition("://")[2], maxsplit=1)[0]
    try:
        url = URL(plain.replace(authority, unquote(authority), 1))
        host = (url.raw_host or "").rstrip(".").lower().removeprefix("www.")
        port = "" if url.port in DEFAULT_PORTS or url.port is None else str(url.port)
    except ValueError:
        return Link(shown=raw, is_safe=False)
    is_safe = bool(host) and "@" not in authority and "\\" not in raw and scheme.lower() != "file"
    place = (port, unquote(url.raw_path).rstrip("/"), url.raw_query_string, url.raw_fragment)
    return Link(shown=raw, host=host, place=place, is_safe=is_safe)


def foreign_links(text: str, sources: Iterable[str], domains: Iterable[str]) -> tuple[Link, ...]:
    """The links of a text that neither stand in one of the sources nor lead to one of the domains."""
    found = links_of(text)
    if not found:
        return ()
    known = frozenset((each.host, each.place) for source in sources for each in links_of(source))
    listed = tuple(domains)
    return tuple(each for each in found if not any(_is_allowed(it, known, listed) for it in _forms(each)))


Known = frozenset[tuple[str, tuple[str, str, str, str]]]
"""Host and place of each link of the sources."""


def _forms(link: Link) -> Iterator[Link]:
    """The link, and the link without the word of an unspaced script that follows."""
    yield link
    cut = next((at for at, char in enumerate(link.shown) if char >= FIRST_UNSPACED), None)
    if cut and all(char >= FIRST_UNSPACED for char in link.shown[cut:]):
        yield _parsed(_trimmed(link.shown[:cut]))


def _is_allowed(link: Link, known: Known, domains: tuple[str, ...]) -> bool:
    if not link.is_safe:
        return False
    if link.host and any(link.host == each or link.host.endswith(f".{each}") for each in domains):
        return True
    port, path, query, fragment = link.place
    for host, (known_port, known_path, known_query, known_fragment) in known:
        if (host, known_port) != (link.host, port):
            continue
        if (path, query) == (known_path, known_query) and fragment in ("", known_fragment):
            return True
        if host and not query and not fragment and known_path.startswith(f"{path}/"):
            return True  # a page above the known page
    return False


def domain_of(name: str) -> str:
    """A domain in the form of ``Link.host``; raises ``ValueError`` for what is no domain."""
    try:
        url = URL(f"https://{name.strip().rstrip('.')}/")
        host = (url.raw_host or "").lower().removeprefix("www.")
    except ValueError:
        host = ""
    labels = host.split(".")
    parts = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
    if len(labels) < 2 or not all(map(parts.fullmatch, labels)) or labels[-1].isdigit() or url.user:
        raise ValueError("expected passages, or domains such as shop.example")
    return host
