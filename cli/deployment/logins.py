"""The part of ``hushgate migrate`` that creates the logins of the services."""

from __future__ import annotations

import typer

from cli.output import emit, stdout_is_terminal
from db.schema import logins
from db.schema.logins import Login, Service
from worker.settings import LoginSettings, load


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
