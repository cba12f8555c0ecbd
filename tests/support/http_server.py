"""A small HTTP server on loopback whose answers a test decides."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any, TypeAlias

from cli.demo.receiver import serving

Answer: TypeAlias = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body; the length of the body is added to the headers."""
EMPTY: Answer = (200, {}, b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request; names of headers are in lower case, a packed body is unpacked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


def json_answer(document: object, status: int = 200) -> Answer:
    """An answer whose body is this document."""
    return status, {"Content-Type": "application/json"}, json.dumps(document).encode()


@contextmanager
def http_server(answer: Callable[[Asked], Answer | None]) -> Iterator[tuple[str, list[Asked]]]:
    """Serve on a free port: the address without a path, and the requests so far.

    ``answer`` may give None: the connection is closed without an answer, as in a crash.
    """
    seen: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            if headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            seen.append(Asked(method=self.command, path=self.path, headers=headers, body=body))
            if (found := answer(seen[-1])) is None:
                self.close_connection = True
                return
            status, fields, content = found
            with suppress(OSError):  # the client was killed
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def do_GET(self) -> None:
            self.do_POST()

        def do_DELETE(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with serving(Handler) as address:
        yield address, seen
