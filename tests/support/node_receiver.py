"""The example for Node as a process, and the webhooks that it gets."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import playwright

from tests.support.channel_programs import ROOT
from tests.support.fake_channel import FakeChannel
from tests.support.running import PATIENCE_S

NODE: Final = Path(playwright.__file__).parent / "driver" / "node"
"""The Node that drives the browser tests: it is wherever the tests run."""
HUSHGATE_SECRET: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
CHANNEL_SECRET: Final = "whsec_" + base64.b64encode(bytes(range(24))).decode()


def signature(body: bytes, secret: str, message_id: str, timestamp: int) -> str:
    """As Standard Webhooks 1.0.0 says."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


@dataclass(slots=True, kw_only=True)
class NodeReceiver:
    """The example's process and how to reach it."""

    channel: FakeChannel
    journal: Path
    hushgate_url: str = ""
    token: str = "token"
    secret: str = HUSHGATE_SECRET
    process: subprocess.Popen[bytes] = field(init=False)
    port: int = field(init=False)

    def start(self) -> None:
        """Run it, and wait until it listens."""
        environment = {
            **os.environ,
            "WEBHOOK_SECRET": self.secret,
            "CHANNEL_SECRET": CHANNEL_SECRET,
            "CHANNEL_URL": self.channel.url,
            "HUSHGATE_URL": self.hushgate_url or self.channel.url,
            "HUSHGATE_TOKEN": self.token,
            "ACCOUNT": "shop",
            "JOURNAL": str(self.journal),
            "PORT": "0",
        }
        command = [NODE, ROOT / "examples" / "channels" / "consumer.mjs"]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().split()[-1])

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.communicate()

    def post(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        """Send a request; the status, 0 when the connection broke."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request("POST", path, body, headers)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def signed(
        self, body: object, *, path: str = "/hushgate", secret: str = HUSHGATE_SECRET, age_s: int = 0
    ) -> int:
        """Send a signed request; the status."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        at = int(time.time()) - age_s
        headers = {
            "webhook-id": "msg_1",
            "webhook-timestamp": str(at),
            "webhook-signature": f"v1,{'A' * 43}= {signature(content, secret, 'msg_1', at)}",
        }
        return self.post(path, content, headers)

    def webhook(self, data: dict[str, Any], kind: str, **changes: Any) -> int:
        """Deliver a webhook of Hushgate; the status."""
        body = {"type": kind, "timestamp": "2026-11-21T12:00:00Z", "data": data | changes}
        return self.signed(body)
