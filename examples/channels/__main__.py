"""Both directions of a channel in one process.

    pip install redis cryptography
    ACCOUNT=corner-shop OWN_ID=corner_shop_bot TOKEN=... SIGNING_SECRET=... python -m channels telegram

The receiver listens on LISTEN (127.0.0.1:8090): put it behind your TLS proxy. With HUSHGATE_URL the team
answers in Slack, see `channels.slack_desk`. YouTube sends no requests: instead of a receiver a poller runs.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading

from . import CHANNELS
from .consumer import make_consumer
from .poller import make_poller
from .poller import run as poll
from .receiver import make_receiver
from .slack_desk import make_desk


def main() -> None:
    """Run until SIGTERM or Ctrl-C."""
    if len(sys.argv) != 2 or sys.argv[1] not in CHANNELS:
        raise SystemExit(f"usage: python -m channels NAME, with a NAME of {', '.join(CHANNELS)}")
    os.environ["CHANNEL"] = sys.argv[1]
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    consumer = make_consumer()
    if desk := make_desk(consumer):
        threading.Thread(target=desk.run, daemon=True).start()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, consumer.stop)
    if CHANNELS[sys.argv[1]].inbound is None:
        threading.Thread(target=poll, args=(make_poller(),), daemon=True).start()
        consumer.run()
        return
    with make_receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"listening on port {server.server_port}", flush=True)  # noqa: T201
        consumer.run()
        server.shutdown()


if __name__ == "__main__":
    main()
