"""What must not happen while somebody uses a page, whatever the test looks at."""

from __future__ import annotations

import re
from typing import Final

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, Response, WebError

REFUSED: Final = re.compile(r"the server responded with a status of (\d+)")


class Watch:
    """Collects the faults of a browser context.

    Attributes:
        faults: one line each; a test that leaves one fails.
    """

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.faults: list[str] = []
        self._origin = origin
        self._expected: set[int] = set()
        context.on("console", self._console)
        context.on("weberror", self._error)
        context.on("request", self._request)
        context.on("response", self._response)

    def expect(self, *statuses: int) -> None:
        """Refusals the test asks for: the browser notes each on its console."""
        self._expected |= set(statuses)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type not in {"error", "warning"}:
            return
        refused = REFUSED.search(message.text)
        if refused is None or int(refused[1]) not in self._expected:
            self.faults.append(f"console {message.type} on {message.location['url']}: {message.text}")

    def _error(self, error: WebError) -> None:
        self.faults.append(f"uncaught on {error.page.url if error.page else '?'}: {error.error}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self._origin}/", "about:", "blob:")):
            self.faults.append(f"request to elsewhere: {request.url[:200]}")
        if request.url.endswith("/csp-report"):
            self.faults.append(f"content security policy broken: {request.post_data}")

    def _response(self, response: Response) -> None:
        if response.status >= 500 and response.status not in self._expected:
            self.faults.append(f"{response.status} at {response.url}")
