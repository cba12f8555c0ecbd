"""Identifiers of publishers in paths: one segment each, whatever characters they have."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote

from starlette.convertors import Convertor, register_url_convertor

DOTS: Final = "."


class IdentifierConvertor(Convertor[str]):
    """``chat/7`` is ``chat~2F7`` in a path: proxies merge, decode or reject slashes, and dots leave a folder.

    ``Visit.url`` quotes parameters before; ``path_segment`` does both.
    """

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """The identifier of a segment."""
        return unquote(value.replace("%", "%25").replace("~", "%"))

    def to_string(self, value: str) -> str:
        """The segment of a quoted identifier."""
        dotted = value.replace(DOTS, "%2E") if not value.strip(DOTS) else value
        return dotted.replace("~", "%7E").replace("%", "~")


def path_segment(identifier: str) -> str:
    """The segment of an identifier."""
    return CONVERTOR.to_string(quote(identifier, safe=""))


CONVERTOR: Final = IdentifierConvertor()
register_url_convertor("identifier", CONVERTOR)
