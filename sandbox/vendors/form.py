"""What a vendor's server takes, answers and refuses, as values."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sandbox.routes import Route

VendorDocument = dict[str, Any]
VendorBody = Callable[[VendorDocument], object]
"""Makes a vendor's body from the sandbox's own answer to the same request."""


class Meaning(StrEnum):
    """What a client should make of a form.

    ``UNUSABLE``: half an answer, protocol, nothing: ask again. ``LATER``: the server cannot answer now.
    ``INPUT``: this one input is refused. ``TOO_LONG``: a shorter one may pass. ``KEY``, ``QUOTA`` and ``MODEL``
    are the deployment's fault. ``DECLINED``: the model or its filter refuses to answer. ``FLAGGED``: a
    moderation hit.
    """

    WHOLE = "whole"
    UNUSABLE = "unusable"
    LATER = "later"
    INPUT = "input"
    TOO_LONG = "too_long"
    KEY = "key"
    QUOTA = "quota"
    MODEL = "model"
    DECLINED = "declined"
    FLAGGED = "flagged"


def unchanged(document: VendorDocument) -> object:
    """The sandbox's own answer."""
    return document


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorForm:
    """One answer of a vendor, asked for by the fault ``form`` with this name.

    Attributes:
        source: where it was described or reported.
        body: a JSON value, or bytes that are sent as they are.
        wait_s: how long a refusal asks to wait, or None.
    """

    name: str
    meaning: Meaning
    source: str
    body: VendorBody = unchanged
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    route: Route = Route.CHAT
    wait_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A request that a vendor refuses, and how."""

    name: str
    source: str
    is_broken_by: Callable[[VendorDocument], bool]
    status: int
    body: object
    route: Route = Route.CHAT


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """One vendor.

    Attributes:
        usual: how its whole answers look, by route.
    """

    name: str
    usual: Mapping[Route, VendorBody] = field(default_factory=dict)
    forms: tuple[VendorForm, ...] = ()
    requirements: tuple[Requirement, ...] = ()

    def form(self, route: Route, name: str) -> VendorForm:
        """The form of a name on a route; ValueError names the known ones."""
        known = {each.name: each for each in self.forms if each.route is path_of(route)}
        if name not in known:
            raise ValueError(
                f"form of {self.name}: expected one of {', '.join(known) or 'none'}, got {name!r}"
            )
        return known[name]

    def refusal(self, route: Route, document: VendorDocument) -> Requirement | None:
        """The first requirement that a request breaks."""
        on_path = (each for each in self.requirements if each.route is path_of(route))
        return next((each for each in on_path if each.is_broken_by(document)), None)


def path_of(route: Route) -> Route:
    """The route whose path a route uses: a judge and a classifier are asked by chat."""
    return Route.CHAT if route in {Route.JUDGE, Route.CLASSIFIER} else route


def message(**changes: object) -> VendorBody:
    """The answer with other fields in its message; a value may be made from the message's text."""

    def body(document: VendorDocument) -> object:
        found = copy.deepcopy(document)
        said = found["choices"][0]["message"]
        text = said.get("content") or ""
        said.update({name: value(text) if callable(value) else value for name, value in changes.items()})
        return found

    return body


def choice(**changes: object) -> VendorBody:
    """The answer with other fields in its choice, such as ``finish_reason``."""

    def body(document: VendorDocument) -> object:
        found = copy.deepcopy(document)
        found["choices"][0].update(changes)
        return found

    return body


def both(first: VendorBody, second: VendorBody) -> VendorBody:
    """Two changes, one after the other."""

    def body(document: VendorDocument) -> object:
        found = first(document)
        assert isinstance(found, dict)
        return second(found)

    return body


def without(*names: str) -> VendorBody:
    """The answer without these fields, of the whole or of its choice."""

    def body(document: VendorDocument) -> object:
        found = copy.deepcopy(document)
        for each in (found, found["choices"][0]):
            for name in names:
                each.pop(name, None)
        return found

    return body


def half(text: str) -> str:
    """The first half of a text, cut inside a sentence."""
    return text[: len(text) // 2].rstrip(" .!?")


def cut(reason: object) -> VendorBody:
    """Half of the answer, with a finish reason."""
    return both(message(content=half), choice(finish_reason=reason))


def said(value: object) -> VendorBody:
    """Always the same body."""
    return lambda _: copy.deepcopy(value)


def called(call: Mapping[str, object]) -> VendorBody:
    """A call of a tool in a vendor's form."""
    return both(message(content=None, tool_calls=[dict(call)]), choice(finish_reason="tool_calls"))


def refused(
    name: str,
    meaning: Meaning,
    source: str,
    status: int,
    body: object,
    *,
    wait_s: float | None = None,
    **headers: str,
) -> VendorForm:
    """A refusal of a chat call, always with the same body."""
    return VendorForm(
        name=name,
        meaning=meaning,
        source=source,
        status=status,
        body=said(body),
        wait_s=wait_s,
        headers={key.replace("_", "-"): value for key, value in headers.items()},
    )


def answered(name: str, meaning: Meaning, source: str, body: VendorBody) -> VendorForm:
    """An answer to a chat call with status 200."""
    return VendorForm(name=name, meaning=meaning, source=source, body=body)


def text(made: Callable[[str], str]) -> VendorBody:
    """The answer with a text made from its own."""
    return message(content=made)
