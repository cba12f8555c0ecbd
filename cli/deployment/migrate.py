"""``hushgate migrate``: a thin command over Alembic."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import database_url, settings_of
from cli.output import emit, stdout_is_terminal
from db.retention.limits import store_limits
from db.schema import logins
from db.schema import migrate as migrations
from db.schema.logins import Login, Service
from worker.settings import LoginSettings, RetentionSettings, load


def migrate(
    create_logins: Annotated[
        bool,
        typer.Option(
            "--create-logins",
            help="Also create the logins of the services, or set their passwords.",
        ),
    ] = False,
    gateway_checks: Annotated[
        bool,
        typer.Option(
            "--gateway-checks",
            help="As --create-logins; the gateway's login gets a worker's rights too, which checks need.",
        ),
    ] = False,
) -> None:
    """Upgrade the database to the newest migration; safe to repeat and to run on several machines at once.

    Needs DATABASE_URL only, with the login of the database's owner. Workers, beat, review pages and gateway
    use other logins, which own nothing; --create-logins creates them. Their passwords are read from
    HUSHGATE_DB_WORKER_PASSWORD, _REVIEW_PASSWORD, _AUDIT_PASSWORD and _GATEWAY_PASSWORD. Without
    a password, a new login gets a generated one, printed once as part of its DATABASE_URL, and an existing
    login keeps its password.

    Also stores the retention of HUSHGATE_KEEP: no worker can delete younger rows, whatever its settings.
    """
    url = database_url()
    before, after = migrations.upgrade(url)
    emit([{"before": before, "after": after}], ["before", "after"])
    store_limits(url, settings_of(RetentionSettings))
    if create_logins or gateway_checks:
        create(url, gateway_checks=gateway_checks)


def create(url: str, *, gateway_checks: bool) -> None:
    """Create the logins, or set their passwords; print what was done, and generated passwords once."""
    known = load(LoginSettings)
    given = {
        Service.WORKER: known.db_worker_password,
        Service.REVIEW: known.db_review_password,
        Service.AUDIT: known.db_audit_password,
        Service.GATEWAY: known.db_gateway_password,
    }
    passwords = {service: secret.get_secret_value() for service, secret in given.items() if secret}
    done = logins.ensure(url, passwords, gateway_checks=gateway_checks)
    emit([_row(each, url, passwords) for each in done], ["service", "login", "state"])
    if stdout_is_terminal():
        for each in done:
            if new := _generated(each, url, passwords):
                typer.echo(f"DATABASE_URL of {each.service}, shown once: {new}")


def _row(login: Login, url: str, given: dict[Service, str]) -> dict[str, str | None]:
    return {
        "service": login.service,
        "login": login.name,
        "state": login.state,
        "database_url": _generated(login, url, given),
    }


def _generated(login: Login, url: str, given: dict[Service, str]) -> str | None:
    """The URL with a generated password, which is stored nowhere else; None for a given or kept password."""
    if login.password is None or login.service in given:
        return None
    return logins.url_of(url, login.name, login.password)
