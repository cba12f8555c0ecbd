"""The sandbox's CPU time per request, and its capacity of sleeping requests in one process.

Run with ``python -m bench.sandbox``; prints one JSON object. The client is raw asyncio and the figures are
the server's: CPU seconds are read from the server process, not from the wall clock.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time

import psutil

from sandbox import server

SYSTEM = "Answer only from these passages.\n\n" + "\n\n".join(
    f"[{n}] {title}: {text}"
    for n, (title, text) in enumerate(
        (
            ("Shipping", "Parcels leave within two working days. Express costs nine euros."),
            ("Refunds", "A refund takes five days after the parcel is back. Keep the receipt."),
            ("Hours", "The shop opens at nine and closes at six, Monday to Saturday."),
            ("Sizes", "Shoes run small; take one size up. Socks come in two sizes."),
            ("Contact", "Write to the desk by chat, or call during opening hours."),
        ),
        start=1,
    )
)


def chat_request(text: str) -> bytes:
    """A chat request of about 900 bytes with five passages."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
    return _post("/v1/chat/completions", {"model": "bench", "messages": messages})


def moderation_request(text: str) -> bytes:
    """A moderation request of one text."""
    return _post(
        "/v1/moderations", {"model": "bench", "input": f"{text} My order is late and I am not amused."}
    )


def embedding_request(text: str) -> bytes:
    """An embedding request of one text, base64 as the openai client asks for it."""
    return _post("/v1/embeddings", {"model": "bench", "input": text, "encoding_format": "base64"})


def health_request(_: str) -> bytes:
    """The cheapest request, through Starlette: the cost of HTTP."""
    return b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"


REQUESTS = {
    "chat": chat_request,
    "moderations": moderation_request,
    "embeddings": embedding_request,
    "healthz": health_request,
}


async def busy(handle: server.SandboxHandle, kind: str, total: int, connections: int) -> dict[str, float]:
    """Sequential requests on a few connections: CPU per request and requests per second and core."""
    process = psutil.Process(handle.pid)
    start_cpu, start = _cpu_s(process), time.perf_counter()
    await asyncio.gather(*(_converse(handle, kind, n, total // connections) for n in range(connections)))
    cpu_s, wall_s = _cpu_s(process) - start_cpu, time.perf_counter() - start
    return {
        "requests": total,
        "cpu_ms_per_request": round(1000 * cpu_s / total, 4),
        "requests_per_s_and_core": round(total / cpu_s),
        "wall_requests_per_s": round(total / wall_s),
    }


async def sleeping(handle: server.SandboxHandle, connections: int, latency_s: float) -> dict[str, float]:
    """Many requests asleep at once: their number and the cost of each."""
    handle.reset()
    handle.set_latency(chat=latency_s)
    process = psutil.Process(handle.pid)
    before = process.memory_info().rss
    start_cpu, start = _cpu_s(process), time.perf_counter()
    talk = asyncio.gather(*(_converse(handle, "chat", n, 1) for n in range(connections)))
    await asyncio.sleep(latency_s * 0.8)
    rss = process.memory_info().rss
    await talk
    peak = handle.stats()["in_flight_peak"]
    return {
        "requests": connections,
        "latency_s": latency_s,
        "in_flight_peak": peak["chat"] if isinstance(peak, dict) else 0,
        "cpu_ms_per_request": round(1000 * (_cpu_s(process) - start_cpu) / connections, 4),
        "rss_mb": round(rss / 1e6, 1),
        "rss_kb_per_request": round((rss - before) / connections / 1e3, 1),
        "wall_s": round(time.perf_counter() - start, 2),
    }


async def _converse(handle: server.SandboxHandle, kind: str, number: int, count: int) -> None:
    host, port = handle.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    for turn in range(count):
        writer.write(REQUESTS[kind](f"How many days does refund {number}-{turn} take?"))
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
    writer.close()
    await writer.wait_closed()


def _post(path: str, document: object) -> bytes:
    body = json.dumps(document).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def main() -> None:
    """Run all measurements and print them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000, help="per route")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--asleep", type=int, default=2_500, help="requests asleep at once")
    parser.add_argument("--latency", type=float, default=5.0, help="seconds each of these sleeps")
    options = parser.parse_args()
    figures: dict[str, object] = {}
    with server.start() as handle:
        for kind in REQUESTS:
            figures[kind] = asyncio.run(busy(handle, kind, options.requests, options.connections))
        figures["sleeping"] = asyncio.run(sleeping(handle, options.asleep, options.latency))
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
