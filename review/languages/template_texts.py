"""What templates call for their texts: the text of the catalogue, with escaped values in its places.

Jinja2's own functions do the same with three look-ups in the context for each text: a page has hundreds.
"""

from __future__ import annotations

from markupsafe import Markup, escape

from review.languages import catalogue, gettext, ngettext


def text(message: str, /, **values: object) -> Markup:
    """``_("by %(name)s", name=x)`` and ``gettext``; ``%%`` is a percent sign."""
    return _filled(gettext(message), values)


def plural_text(singular: str, plural: str, number: int, /, **values: object) -> Markup:
    """``ngettext``; its texts may show the number as ``%(num)s``."""
    return _filled(ngettext(singular, plural, number), {"num": number} | values)


def text_in_context(context: str, message: str, /, **values: object) -> Markup:
    """``pgettext``, for a text that other languages translate differently in different places."""
    return _filled(catalogue.get().pgettext(context, message), values)


def _filled(found: str, values: dict[str, object]) -> Markup:
    """Texts of catalogues are part of the template, so that their HTML stays."""
    return Markup(found % {name: escape(value) for name, value in values.items()})  # noqa: S704  # see above
