"""Faults of accessibility on a page, as axe-core finds them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

from playwright.sync_api import CDPSession, Page

SOURCE: Final = Path(__file__).parents[2] / "browser" / "vendor" / "axe-core-4.14.1" / "axe.min.js"
SERIOUS: Final = frozenset({"serious", "critical"})
NOT_ASKED: Final = ("region", "heading-order", "landmark-one-main", "landmark-unique", "page-has-heading-one")
"""Rules that find nothing serious, so that they need not run; one of them takes longer than most others."""
RUN: Final = """axe.run(document, {preload: false, resultTypes: ["violations"], ...%s})
    .then(found => JSON.stringify(found.violations.map(
        ({id, impact, help, nodes}) => ({id, impact, help, nodes: nodes.map(
            node => `${node.html.slice(0, 200)} ${node.any.map(each => each.message).join("; ")}`)}))))"""
OF_COLOURS: Final = ("color-contrast", "link-in-text-block")
THEMES: Final[dict[Literal["light", "dark"], tuple[str, ...]]] = {"light": (), "dark": OF_COLOURS}
"""Theme -> the rules to check in it: a dark page differs from the light one by its colours only."""
SETTLE: Final = """
    for (const each of document.getAnimations()) if (each instanceof CSSTransition) each.finish()
"""
"""Ends the change of colours from one theme to the other; on a page in the background it would never end."""
SESSIONS: Final[WeakKeyDictionary[Page, CDPSession]] = WeakKeyDictionary()
"""A page keeps its session: the isolated world belongs to it, with axe-core until the next document."""


def faults(page: Page, *rules: str) -> list[str]:
    """What axe-core calls serious or critical, one line a fault; of these rules only, without any of all.

    It runs in an isolated world of the page: it sees the same document and shares no variable with the page's
    own scripts, and the page's content security policy stays as strict as for a person.
    """
    if (session := SESSIONS.get(page)) is None:
        session = SESSIONS[page] = page.context.new_cdp_session(page)
    frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
    world = session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "axe"})
    context = world["executionContextId"]
    if not _evaluate(session, "typeof axe === 'object'", context):
        _evaluate(session, _source() + ";0", context)
    found = json.loads(_evaluate(session, RUN % _options(rules), context))
    return [
        f"{each['impact']} {each['id']}: {each['help']}: {node}"
        for each in found
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


def show_theme(page: Page, theme: Literal["light", "dark"]) -> None:
    """Show the page in the colours of this theme."""
    page.emulate_media(color_scheme=theme)
    page.evaluate(SETTLE)


@cache
def _source() -> str:
    return SOURCE.read_text(encoding="utf-8")


def _options(rules: tuple[str, ...]) -> str:
    if rules:
        return json.dumps({"runOnly": {"type": "rule", "values": rules}})
    return json.dumps({"rules": {rule: {"enabled": False} for rule in NOT_ASKED}})


def _evaluate(session: Any, expression: str, context: int) -> Any:
    answer = session.send(
        "Runtime.evaluate",
        {"expression": expression, "contextId": context, "awaitPromise": True, "returnByValue": True},
    )
    if "exceptionDetails" in answer:
        raise AssertionError(f"axe-core: {answer['exceptionDetails']}")
    return answer["result"]["value"]
