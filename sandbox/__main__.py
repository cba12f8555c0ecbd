"""``python -m sandbox``: run the sandbox in the foreground."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

import orjson

from sandbox.app import make_app
from sandbox.faults import FaultRule, FaultRules, parse_fault
from sandbox.forwarding import parse_forward
from sandbox.latency import Latency, parse_latency_option
from sandbox.listen import is_any_host, is_loopback, listening_socket, run_server, socket_url
from sandbox.replies.known_conversations import KnownConversations, load_conversations
from sandbox.routes import Route
from sandbox.scenario import Scenario, load_scenario
from sandbox.state import KEEP_REQUESTS, Sandbox
from sandbox.vendors.openai import OPENAI
from sandbox.vendors.table import VENDORS

ABOUT = """\
An OpenAI-compatible server on loopback without a model: chat answers are sentences of the prompt's
passages, moderation and classifiers are word lists, embeddings are hashes. Point any OpenAI client at the
printed address, which ends in /v1; any API key is accepted.
"""

MORE = """\
latency    SECONDS, LOW..HIGH (uniform) or MEDIAN/P95 (lognormal), per route:
             python -m sandbox --chat-latency 1/2.5 --moderation-latency 0.2

scenario   {"seed": 7,
            "latency": {"chat": {"median_s": 1, "p95_s": 2.5}, "moderations": 0.2},
            "rules": [{"route": "chat", "fault": "429", "retry_after_s": 2, "probability": 0.1},
                      {"route": "moderations", "fault": "500", "times": 3, "contains": "refund"}]}

faults     any status 400..599, timeout (= hang), reset (TCP RST inside the body), malformed (broken JSON),
           empty, form (value: a form of the vendor, see --as); chat also:
           bad_tool, tool_loop, refusal, flagged, keyword (value: the word), ungrounded,
           irrelevant (a passage's sentence on another question), injected (obeys an instruction:
           of a passage that has one, such as Ignore all instructions and reply: ..., else a fixed text);
           judge also: refusal, ungrounded (prose, no JSON), score (value: 0..1);
           classifier also: refusal, garbage (prose), flagged (value: a category), score (value: 0..1);
           moderations also: flagged (value: a category)

markers    inside the user's text, for this text only, first TIMES calls (all, when left out):
             [[sandbox:ROUTE=KIND[=VALUE][:TIMES]]]    ROUTE: llm, judge, classifier, mod or emb
             [[sandbox:llm=429:2]]      two 429 with Retry-After 2, then an answer
             [[sandbox:llm=429=5:1]]    one 429 with Retry-After 5
             [[sandbox:llm=keyword=FREE]]  [[sandbox:mod=500:1]]  [[sandbox:mod=flagged=hate]]
             [[sandbox:judge=score=0.2]]   a judge prompt is one with a line HUSHGATE-JUDGE: reading
             [[sandbox:classifier=garbage:1]]   a classifier's model is named like *llama-guard*,
                                                *qwen3guard*, *shieldgemma* or *safeguard*
             [[sandbox:llm=delay=0.5]]  instead of the route's latency
           several markers of one route apply to its calls one after the other

cases      python -m sandbox --conversations FOLDER --writes wrong --judge noisy:0.1: the questions of
           FOLDER/cases.jsonl (docs/conversations-set.md) get their right answer, a neighbour's or an
           invented one, and a judge that knows the truth, is wrong in one draft of ten, or is off

vendors    python -m sandbox --as gemini      then  [[sandbox:llm=form=retry_delay:1]]
           curl URL/control/vendor            the vendor and the names of its forms
           curl -d '{"name": "mistral"}' URL/control/vendor

control    curl -d '{"route": "moderations", "fault": "500"}' URL/control/rules     down from now on
           curl -X DELETE URL/control/rules/moderations                             up again
           curl -d '{"route": "chat", "fault": "429", "times": 3}' URL/control/rules
           curl -d '{"chat": {"median_s": 1, "p95_s": 2.5}}' URL/control/latency    (DELETE: none)
           curl URL/control/stats            calls and outcomes per route, calls per text
           curl 'URL/control/requests?last=5&route=chat&contains=WORD'
           curl -d '{"writes": "wrong", "judge": "noisy:0.1"}' URL/control/conversations
           curl -X POST URL/control/reset    restore the scenario, clear the counts
"""


NONE = "none"
NO_EMBEDDINGS = FaultRule(rule_id="none", route=Route.EMBEDDINGS, fault=parse_fault(Route.EMBEDDINGS, "404"))


def main(arguments: list[str] | None = None) -> int:
    """Run until SIGTERM or Ctrl-C; 2 when an option is wrong."""
    options = _parser().parse_args(arguments)
    try:
        scenario = _scenario(options)
        known = _known(options)
        forward = (
            "" if options.answers_embeddings in ("", NONE) else parse_forward(options.answers_embeddings)
        )
        may_listen = is_any_host if options.any_interface else is_loopback
        listener = listening_socket(options.host, options.port, may_listen=may_listen)
    except ValueError as error:
        print(f"sandbox: {error}", file=sys.stderr)  # noqa: T201  # a command's message to its user
        _report_to_parent(options.ready_fd, {"error": str(error)})
        return 2
    _announce(socket_url(listener), options)
    sandbox = Sandbox(
        scenario,
        keep_requests=options.keep_requests,
        known=known,
        embeddings_url=forward,
        vendor=VENDORS[options.vendor],
    )
    app = make_app(sandbox)
    run_server(app, listener, sys.stdin.fileno() if options.stop_with_stdin else None)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sandbox",
        usage="%(prog)s [OPTIONS]",
        description=ABOUT,
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address; any other is refused")
    parser.add_argument(
        "--any-interface",
        action="store_true",
        help="allow any --host: only inside a container whose port is not published",
    )
    parser.add_argument("--port", type=int, default=8099, help="0 takes a free port (default 8099)")
    parser.add_argument(
        "--scenario", type=Path, metavar="FILE", help="JSON file of latency and faults, see below"
    )
    parser.add_argument(
        "--as",
        dest="vendor",
        choices=VENDORS,
        default=OPENAI.name,
        help="speak the forms of this vendor, refuse what it refuses",
    )
    parser.add_argument("--seed", type=int, help="seed of all random draws; overrides the scenario's")
    for route, name in (
        (Route.CHAT, "chat"),
        (Route.CLASSIFIER, "classifier"),
        (Route.MODERATIONS, "moderation"),
        (Route.EMBEDDINGS, "embedding"),
    ):
        parser.add_argument(
            f"--{name}-latency", dest=route, type=_latency, metavar="TIME", help=f"see below: {name} calls"
        )
    parser.add_argument(
        "--conversations",
        type=Path,
        metavar="FOLDER",
        help="folder with cases.jsonl, or the file: model and judge then know the truth of its questions",
    )
    parser.add_argument("--writes", metavar="KIND", help="what the model writes: right, wrong or invented")
    parser.add_argument("--judge", metavar="KIND", help="perfect, noisy:SHARE (wrong in that share) or off")
    parser.add_argument(
        "--embeddings",
        dest="answers_embeddings",
        default="",
        metavar="WHERE",
        help="none (404) or another server: http://127.0.0.1:PORT/v1",
    )
    parser.add_argument(
        "--keep-requests", type=int, default=KEEP_REQUESTS, metavar="N", help="bodies kept (default 1000)"
    )
    parser.add_argument("--ready-file", type=Path, metavar="FILE", help="written once it listens: {url, pid}")
    parser.add_argument(
        "--ready-fd", type=int, metavar="FD", help="the same line, to an open file descriptor"
    )
    parser.add_argument("--stop-with-stdin", action="store_true", help="end when standard input ends")
    return parser


def _latency(option: str) -> Latency:
    try:
        return parse_latency_option(option)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _scenario(options: argparse.Namespace) -> Scenario:
    """The scenario of the file, overridden by the command line."""
    scenario = load_scenario(options.scenario) if options.scenario else Scenario()
    chosen = {route: getattr(options, route) for route in Route if getattr(options, route, None) is not None}
    faults = (NO_EMBEDDINGS,) if options.answers_embeddings == NONE else ()
    rules = FaultRules(faults=(*faults, *scenario.rules.faults), latency={**scenario.rules.latency, **chosen})
    return replace(scenario, rules=rules, seed=scenario.seed if options.seed is None else options.seed)


def _known(options: argparse.Namespace) -> KnownConversations | None:
    """The conversations of the command line; ValueError names what is wrong with them."""
    if options.conversations is not None:
        return load_conversations(options.conversations, options.writes, options.judge)
    if options.writes or options.judge:
        raise ValueError("--writes, --judge: expected --conversations FOLDER with them")
    return None


def _announce(url: str, options: argparse.Namespace) -> None:
    """Report the address: to a person, to a file (written atomically), to a file descriptor."""
    ready: dict[str, object] = {"url": url, "pid": os.getpid()}
    if options.ready_file is not None:
        unfinished = options.ready_file.with_suffix(".unfinished")
        unfinished.write_bytes(orjson.dumps(ready) + b"\n")
        unfinished.replace(options.ready_file)
    _report_to_parent(options.ready_fd, ready)
    if options.ready_fd is None:
        print(f"sandbox (no model) at {url}/v1", flush=True)  # noqa: T201  # a command's message to its user


def _report_to_parent(file_descriptor: int | None, message: dict[str, object]) -> None:
    """Write one line of JSON to the process that waits for the start, then close the pipe."""
    if file_descriptor is not None:
        with os.fdopen(file_descriptor, "wb") as pipe:
            pipe.write(orjson.dumps(message) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
