"""``hushgate review``: the review pages and the people who use them."""

from __future__ import annotations

import asyncio
import getpass
import secrets
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, TypeVar
from urllib.parse import urlsplit

import typer
import uvicorn
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from cli.output import complain, emit, fail
from db import people
from db.people import Grant, Role
from db.review_store import Store
from review import passwords
from review.app import build
from tasks.logs import configure
from worker import settings
from worker.errors import ConfigurationError
from worker.settings import ReviewSettings

Value = TypeVar("Value")
HELP: Final = """
Serve the review pages, and manage who may use them.

`hushgate review` alone serves until Ctrl-C. Before that: `hushgate review add-person you@example.org --role
account_admin --role lead` prints a first password, which has to be replaced at the first sign-in.
"""
app = typer.Typer(help=HELP, invoke_without_command=True, rich_markup_mode="markdown")
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


@app.callback()
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port; default: that of HUSHGATE_REVIEW_URL.")
    ] = None,
) -> None:
    """Serve the review pages until Ctrl-C; with a subcommand, do that instead."""
    if context.invoked_subcommand is not None:
        return
    known = _settings()
    url = urlsplit(known.review_url)
    if host not in LOOPBACK and url.scheme != "https":
        raise fail("--host: beyond this machine HUSHGATE_REVIEW_URL has to be https, as passwords pass by")
    configure("INFO", [known.database_url.get_secret_value()])
    uvicorn.run(
        build(known),
        host=host,
        port=(url.port or 8085) if port is None else port,
        access_log=False,  # addresses of pages hold what people searched for
        log_config=None,
        proxy_headers=True,
        forwarded_allow_ips=known.review_proxies,
        server_header=False,
        timeout_graceful_shutdown=10,
    )


@app.command("add-person")
def add_person(
    login: Annotated[str, typer.Argument(help="Login; an e-mail address where people sign in by OIDC.")],
    role: Annotated[list[Role], typer.Option("--role", help="What they may do; may be repeated.")],
    account: Annotated[
        str, typer.Option("--account", help="On this account (user_id); * is every account.")
    ] = people.EVERY_ACCOUNT,
    name: Annotated[str, typer.Option(help="As colleagues see it.")] = "",
) -> None:
    """Add somebody, and print the first password they sign in with, once.

    Somebody who is there already gets the further roles and keeps their password. For example:

        hushgate review add-person kim@example.org --role reviewer --account corner-shop
    """
    if not (login := login.strip().lower()) or len(login) > 200 or not login.isprintable():
        raise fail(f"login: expected 1 to 200 printable characters, got {login[:40]!r}")
    password = secrets.token_urlsafe(12)
    grants = tuple(Grant(user_id=account, role=each) for each in role)
    new = asyncio.run(_add(login, name, password, grants))
    row = {"login": login, "account": account, "roles": ", ".join(role)}
    if new:
        row |= {"first_password": password}
        complain("the first password is shown this once and has to be replaced at sign-in", style="yellow")
    emit([row], list(row))


async def _add(login: str, name: str, password: str, grants: tuple[Grant, ...]) -> bool:
    stored = await passwords.hashed(password)

    async def change(connection: AsyncConnection) -> bool:
        new = await people.add(
            connection,
            uuid7(),
            login=login,
            name=name,
            password_hash=stored,
            must_change_password=True,
            created_by=_login(),
        )
        found = await people.by_login(connection, login)
        assert found is not None  # noqa: S101  # just added, or there before
        for each in grants:
            await people.grant(connection, found.person.person_id, each, granted_by=_login())
        return new

    return await _stored(change)


async def _stored(change: Callable[[AsyncConnection], Awaitable[Value]]) -> Value:
    async with (
        Store(_settings().database_url.get_secret_value(), size=1) as store,
        store.writing() as connection,
    ):
        return await change(connection)


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "command line"


def _settings() -> ReviewSettings:
    try:
        return settings.review()
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}\n(hushgate config example prints every variable)") from None
