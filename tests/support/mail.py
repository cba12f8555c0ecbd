"""A mail server on loopback that keeps what it gets."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass(slots=True)
class MailServer:
    """Its URL and the mails so far; ``refuse`` True: it takes none."""

    url: str
    mails: list[EmailMessage] = field(default_factory=list)
    refuse: bool = False


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """A running server."""

    class Conversation(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 ready\r\n")
            while line := self.rfile.readline():
                command = line.strip().upper()
                if command.startswith(b"QUIT"):
                    self.wfile.write(b"221 bye\r\n")
                    return
                if command.startswith(b"MAIL") and found.refuse:
                    self.wfile.write(b"451 later\r\n")
                elif command == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    found.mails.append(self._mail())
                    self.wfile.write(b"250 taken\r\n")
                else:
                    self.wfile.write(b"250 ok\r\n")

        def _mail(self) -> EmailMessage:
            lines = []
            while (line := self.rfile.readline()) != b".\r\n":
                lines.append(line)
            return message_from_bytes(b"".join(lines), policy=policy.default)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Conversation) as server:
        found = MailServer(url=f"smtp://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield found
        server.shutdown()
        thread.join()
