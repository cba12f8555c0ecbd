"""``hushgate doctor``: checks a deployment and says how to fix each finding."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Final

import psycopg
import typer
from dotenv import dotenv_values
from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from cli.doctor.accounts import account_checks
from cli.doctor.check import DoctorCheck, failed, passed
from cli.doctor.durability import durability_checks
from cli.doctor.embedding import stored_vectors
from cli.doctor.endpoints import listed_models
from cli.doctor.fleet import fleet_checks
from cli.doctor.live_calls import live_calls
from cli.doctor.models import connected_models, upstream_checks
from cli.doctor.redis_data import redis_data, stream_checks
from cli.doctor.rights import login_rights, replica_checks, session_settings, unreadable_check
from cli.doctor.servers import CLOCKS, clock_checks, conservation_check, postgres_checks, redis_checks
from cli.exit_codes import ExitCode
from cli.output import emit, fail
from db.faults import answer_of
from db.health.start import refusal_fix
from worker import __version__
from worker.errors import ConfigurationError, StorageUnavailable
from worker.settings import Settings, load
from worker.settings.secret_files import SUFFIX

LEAST_PYTHON: Final = (3, 11)
VARIABLE: Final = re.compile(r"^  ([A-Z0-9_]+)[.:]", re.MULTILINE)
NO_HOST: Final = "not-set.invalid"
MISSING: Final = {
    "DATABASE_URL": f"postgresql://{NO_HOST}/hushgate",
    "REDIS_URL": f"redis://{NO_HOST}",
    "HUSHGATE_BROKER_URL": f"redis://{NO_HOST}",
}
"""In place of a required setting, so that the checks which do not need it run."""
NOT_CHECKED: Final = "not checked, because a setting is missing or wrong"
COLUMNS: Final = ("check", "state", "found", "fix")
FIRST: Final = "fix redis, postgres and migrations first"
SILENCE: Final = (TimeoutError, RedisTimeoutError, psycopg.errors.ConnectionTimeout)
"""A server that takes connections or drops packets; each further group would wait for it again."""
REDIS, POSTGRES = ("redis",), ("postgres",)
BOTH: Final = REDIS + POSTGRES


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckGroup:
    """A group of checks.

    Attributes:
        name: the check that fails when a server does not answer.
        fix: how to fix that.
        checks: makes the checks of the group.
        needs: groups of servers without which it is not begun, once one of them did not answer in time.
    """

    name: str
    fix: str
    checks: Callable[[Settings], Iterable[DoctorCheck]]
    needs: tuple[str, ...] = ()


def doctor(
    offline: Annotated[bool, typer.Option("--offline", help="Do not call the model endpoints.")] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Also make real, paid calls: a chat call of one output token for each model, a moderation"
            " call, one of each classifier, and an embedding of one word. They"
            " use about 20 tokens, 150 to 2000 for a classifier; 1000 cost less than 0.001 USD with most"
            " models.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, also on a terminal.")
    ] = False,
) -> None:
    """Check settings, servers, workers, beat, models and that no event is lost; say how to fix each finding.

    Without --live, each endpoint is asked for its list of models, which is free; a model that is not in the
    list is a warning. --live proves that key, URL and model work together.

    Exit 0 when no check fails, 1 when one does; warnings do not count. Examples:

        hushgate doctor --live

        hushgate doctor --offline
    """
    if offline and live:
        raise fail("--offline, --live: expected one of them, got both")
    groups = GROUPS if offline else (*GROUPS, *ENDPOINT_GROUPS, *(LIVE_GROUPS if live else ()))
    checks = list(_checks(groups))
    emit([asdict(check) for check in checks], COLUMNS, fields=COLUMNS if as_json else None)
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(ExitCode.NEGATIVE)


def _checks(groups: Iterable[CheckGroup]) -> Iterator[DoctorCheck]:
    supported = sys.version_info >= LEAST_PYTHON
    yield failed("python", platform.python_version(), "use Python 3.11 or later", unless=supported)
    try:
        settings = load(Settings)
    except ConfigurationError as error:
        yield failed("settings", str(error), "set the variables; hushgate config example --all prints them")
        if (usable := _usable_part(error)) is None:
            return
        settings = usable
    else:
        yield passed("settings", f"hushgate {__version__}, all settings usable")
    settings, check = connected_models(settings)
    yield check
    silent: set[str] = set()
    for group in groups:
        if missing := [name for name in group.needs if name in silent]:
            found = f"not checked, because {' and '.join(missing)} did not answer in time"
            yield failed(group.name, found, group.fix)
            continue
        try:
            yield from group.checks(settings)
        except (RedisError, OSError, psycopg.Error, StorageUnavailable) as error:
            if isinstance(error, SILENCE):
                silent.add(group.name)
            yield _failure(group, error)


def _usable_part(error: ConfigurationError) -> Settings | None:
    """The settings without what is wrong, so that one mistake does not hide others; None where none load."""
    wrong: set[str] = set()
    places = (dotenv_values(".env"), os.environ)  # the environment wins, as in every process
    given = {name: value for place in places for name, value in place.items() if value}
    while new := {name.removesuffix(SUFFIX) for name in VARIABLE.findall(str(error))} - wrong:
        wrong |= new
        usable = {name: value for name, value in given.items() if name.removesuffix(SUFFIX) not in wrong}
        try:
            return load(Settings, {name: url for name, url in MISSING.items() if name in wrong} | usable)
        except ConfigurationError as further:  # files of secrets are reported before all others
            error = further
    return None


def _failure(group: CheckGroup, error: Exception) -> DoctorCheck:
    """The check of a group whose server does not answer, or refuses."""
    if NO_HOST in str(error):
        return failed(group.name, NOT_CHECKED, "correct the settings")
    said = answer_of(error) if isinstance(error, psycopg.Error) else str(error)
    answer = said.splitlines()[0] if said else ""
    found = f"{type(error).__name__}: {answer}"
    return unreadable_check(group.name, error) or failed(group.name, found, _fix(group, error, answer))


def _fix(group: CheckGroup, error: Exception, answer: str) -> str:
    """How to fix a refusal of a server, else the fix of the group."""
    if isinstance(error, NoPermissionError):
        return "let the login of REDIS_URL run this command; workers need scripts (EVALSHA) and streams"
    if isinstance(error, AuthenticationError | AuthorizationError):
        return "correct login and password in REDIS_URL"
    refused = refusal_fix(answer) if group.name == "postgres" else None
    return f"correct DATABASE_URL: {refused}" if refused else group.fix


GROUPS: Final = (
    CheckGroup(
        name="redis",
        fix="check REDIS_URL and that the server runs; its log says why it does not start",
        checks=redis_checks,
    ),
    CheckGroup(
        name="postgres",
        fix="check DATABASE_URL and that the server runs; its log says why it does not start",
        checks=postgres_checks,
    ),
    CheckGroup(name="power failure", fix=FIRST, checks=durability_checks, needs=BOTH),
    CheckGroup(name="database login", fix=FIRST, checks=login_rights, needs=POSTGRES),
    CheckGroup(name="session settings", fix=FIRST, checks=session_settings, needs=POSTGRES),
    CheckGroup(
        name="read replica",
        fix="check HUSHGATE_READ_DATABASE_URL; lists are read from the primary until then",
        checks=replica_checks,
    ),
    CheckGroup(name=CLOCKS, fix=FIRST, checks=clock_checks, needs=BOTH),
    CheckGroup(name="fleet", fix=FIRST, checks=fleet_checks, needs=BOTH),
    CheckGroup(name="redis data", fix=FIRST, checks=redis_data, needs=BOTH),
    CheckGroup(name="conservation", fix=FIRST, checks=conservation_check, needs=BOTH),
    CheckGroup(name="streams", fix="fix redis first", checks=stream_checks, needs=REDIS),
    CheckGroup(name="embedder", fix=FIRST, checks=stored_vectors, needs=POSTGRES),
    CheckGroup(name="accounts", fix=FIRST, checks=account_checks, needs=POSTGRES),
    CheckGroup(name="upstreams", fix="fix redis first", checks=upstream_checks, needs=REDIS),
)
"""Always checked, in this order. A further group is one line here and one function in its own module."""
ENDPOINT_GROUPS: Final = (CheckGroup(name="endpoints", fix="check the base URLs", checks=listed_models),)
"""Checked unless --offline; free of charge."""
LIVE_GROUPS: Final = (CheckGroup(name="live calls", fix="check the base URLs", checks=live_calls),)
"""Checked with --live; paid."""
