"""The attachments of a payload: usable URLs of images, and how many others there are."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from worker.model import Json

MOST_IMAGES: Final = 16
URL_CHARS: Final = 8192
URL: Final = re.compile(r"https?://[^\s/?#]+(?:[/?#][^\x00-\x20\x7f]*)?", re.IGNORECASE)
KEPT: Final = "%/:?#[]@!$&'()*+,;=~-._"
"""What a URL may hold unescaped, and the escapes that are there."""
URL_NAMES: Final = ("url", "image_url", "src")
TYPE_NAMES: Final = ("content_type", "mimetype", "mime_type", "type")


def image_urls(given: Json) -> tuple[tuple[str, ...], int]:
    """The first usable URLs, and the number of the other attachments, which never cause a dead letter."""
    if given is None:
        return (), 0
    each = given if isinstance(given, list) else [given]
    urls = dict.fromkeys(url for url in map(_image_url, each) if url)
    unusable = sum(_image_url(item) is None for item in each)
    kept = tuple(urls)[:MOST_IMAGES]
    return kept, unusable + len(urls) - len(kept)


def _image_url(item: Json) -> str | None:
    """The URL of an image, escaped where a sender did not; None for anything else."""
    if isinstance(item, dict):
        kinds = [str(item[name]) for name in TYPE_NAMES if isinstance(item.get(name), str)]
        if kinds and not any(kind.startswith("image") for kind in kinds):
            return None
        item = next((item[name] for name in URL_NAMES if isinstance(item.get(name), str)), None)
    if not isinstance(item, str):
        return None
    try:
        url = quote(item.strip(), safe=KEPT)
    except UnicodeEncodeError:
        return None
    return url if len(url) <= URL_CHARS and URL.fullmatch(url) else None
