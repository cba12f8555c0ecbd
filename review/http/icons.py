"""Icons of the pages: a subset of Lucide in one sprite, used by name."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from markupsafe import Markup

from review.http.static_files import STATIC, static_url

SPRITE: Final = "vendor/lucide-1.62.0.svg"
"""Written by ``python -m tools.icons``."""
SYMBOL: Final = re.compile(r'<symbol id="([a-z0-9-]+)"')


@cache
def icon_names() -> tuple[str, ...]:
    """The icons of the sprite."""
    return tuple(SYMBOL.findall((STATIC / SPRITE).read_text(encoding="utf-8")))


@lru_cache(maxsize=256)
def icon(name: str) -> Markup:
    """An icon beside a text; a button with only an icon needs a hidden text or an ``aria-label``.

    Raises:
        KeyError: the sprite has no such icon.
    """
    if name not in icon_names():
        raise KeyError(name)
    shape = f'<use href="{static_url(SPRITE)}#{name}"/>'
    shown = f'<svg class="icon" aria-hidden="true" focusable="false">{shape}</svg>'
    return Markup(shown)  # noqa: S704  # a known name
