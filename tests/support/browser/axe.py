"""Faults of accessibility on a page, as axe-core finds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page

SOURCE: Final = Path(__file__).parents[2] / "browser" / "vendor" / "axe-core-4.14.1" / "axe.min.js"
SERIOUS: Final = frozenset({"serious", "critical"})
RUN: Final = """axe.run(document, {preload: false, resultTypes: ["violations", "incomplete"], ...%s})
    .then(found => JSON.stringify(found.violations.map(
        ({id, impact, help, nodes}) => ({id, impact, help, nodes: nodes.map(
            node => `${node.html.slice(0, 200)} ${node.any.map(each => each.message).join("; ")}`)}))))"""


def faults(page: Page, *rules: str) -> list[str]:
    """What axe-core calls serious or critical, one line a fault; of these rules only, without any of all.

    It runs in an isolated world of the page: it sees the same document and shares no variable with the page's
    own scripts, and the page's content security policy stays as strict as for a person.
    """
    session = page.context.new_cdp_session(page)
    try:
        frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "axe"})
        context = world["executionContextId"]
        _evaluate(session, SOURCE.read_text(encoding="utf-8") + ";0", context)
        found = json.loads(_evaluate(session, RUN % _options(rules), context))
    finally:
        session.detach()
    return [
        f"{each['impact']} {each['id']}: {each['help']}: {node}"
        for each in found
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


def _options(rules: tuple[str, ...]) -> str:
    return json.dumps({"runOnly": {"type": "rule", "values": rules}} if rules else {})


def _evaluate(session: Any, expression: str, context: int) -> Any:
    answer = session.send(
        "Runtime.evaluate",
        {"expression": expression, "contextId": context, "awaitPromise": True, "returnByValue": True},
    )
    if "exceptionDetails" in answer:
        raise AssertionError(f"axe-core: {answer['exceptionDetails']}")
    return answer["result"]["value"]
