"""A fleet of this machine that stays until a signal: what is said meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading

from cli.demo import review_access
from cli.exit_codes import ExitCode
from cli.output import errors
from cli.stack.environment import names_models
from cli.stack.fleet import Fleet


def starting(workers: str, *, sandbox: bool = True) -> str:
    """What is started and which servers of the caller are used; an unwanted sandbox is not started."""
    variables = {"DATABASE_URL": "Postgres", "REDIS_URL": "Valkey"}
    given = [name for name in variables if os.environ.get(name)]
    servers = [variables[name] for name in variables if name not in given]
    if sandbox and not names_models(os.environ):
        servers.append("the sandbox")
    used = f", on the servers of {' and '.join(given)}" if given else ""
    return f"starting {', '.join((*servers, workers))} and the review pages on this machine{used} ..."


def stay_until_signal(running: Fleet, text: str) -> None:
    """Keep the fleet alive until a signal ends it.

    Raises:
        SystemExit: the terminal was closed.
    """
    say(text)
    stopped, hung_up = threading.Event(), threading.Event()
    _stop_by_signal(stopped, hung_up)
    while not stopped.wait(1):
        for name in running.restart_ended():
            log = f"; log: {running.logs}/{name}.log" if name in running.workers else ""
            say(f"{name} had ended and was started again{log}")
        if review_access.enter_pressed():
            say("\n".join(asyncio.run(review_access.new_review_access(running)).lines()))
    say("draining ...")
    if hung_up.is_set():
        sys.exit(ExitCode.HUNG_UP)


def _stop_by_signal(stopped: threading.Event, hung_up: threading.Event) -> None:
    """SIGINT, also where a shell had it ignored, SIGTERM and, without nohup, SIGHUP set ``stopped``."""
    terminals = [each for each in range(3) if os.isatty(each)]

    def stop(number: int, _frame: object) -> None:
        if number == signal.SIGHUP:
            hung_up.set()
            for each in terminals:  # each write to a closed terminal is an error
                os.dup2(nothing, each)
        stopped.set()

    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)


def say(text: str) -> None:
    """Print a line for a person on standard error."""
    errors.print(text, style="cyan", highlight=False, markup=False, soft_wrap=True)
