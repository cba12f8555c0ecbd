"""``hushgate webhooks``: endpoints that events are sent to, and their deliveries."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

import typer

from cli.accounts.store_account import warn_without_settings
from cli.exit_codes import ExitCode
from cli.options import note_misspelt, settings_of, who
from cli.output import emit, fail
from cli.review.store import with_store
from db import access_log
from db.access_log import LogEntry, LoggedAction
from db.pool import Pool
from db.review_store import Store
from db.webhooks import deliveries, endpoints
from db.webhooks.deliveries import WebhookDelivery, WholeWebhookDelivery
from db.webhooks.endings import DeliveryState
from db.webhooks.endpoints import NewEndpoint, WebhookEndpoint
from worker.payload import is_account_name
from worker.settings import WebhookSettings
from worker.webhooks.addresses import AddressRefused, origin_of, parse_url
from worker.webhooks.signing import NEW_SECRET_BYTES, encode_secret, message_id
from worker.webhooks.types import CANCEL_REASONS, DESCRIPTION_CHARS, MOST_ENDPOINTS, WebhookType

Value = TypeVar("Value")
app = typer.Typer(
    no_args_is_help=True,
    help="Signed webhooks (Standard Webhooks 1.0.0): `add`, `list`, `show`, `test`, `rotate`, `disable`,"
    " `enable` and `remove` endpoints; list their `deliveries`, read one with `delivery`, send it again with"
    " `replay`. See docs/webhooks.md.",
)
COLUMNS: Final = ["id", "user_id", "url", "types", "state", "disabled_reason", "failures", "waiting"]
DELIVERY_COLUMNS: Final = [
    "id", "type", "conversation_id", "state", "attempts", "status", "error", "cancel_reason",
    "next_attempt_at",
]  # fmt: skip
EVERY_ACCOUNT: Final = "*"
TEST_WAIT_S: Final = 30.0
LOOK_S: Final = 0.2

EndpointArgument = Annotated[UUID, typer.Argument(help="The endpoint's id: hushgate webhooks list.")]
DeliveryArgument = Annotated[int, typer.Argument(help="The delivery's number.", min=1)]


@app.command()
def add(
    account: Annotated[str, typer.Argument(help="The account; * for every account.")],
    url: Annotated[str, typer.Argument(help="https URL of the receiver.")],
    types: Annotated[
        list[WebhookType] | None,
        typer.Option("--type", help="A type of event; repeat it for several. All if none."),
    ] = None,
    description: Annotated[str, typer.Option("--description", help="A note for people.")] = "",
) -> None:
    """Add an endpoint and print its secret, once: the receiver needs it to verify signatures.

    For example:

        hushgate webhooks add corner-shop https://example.org/hooks --type reply.created
    """
    try:
        parse_url(url, loopback=settings_of(WebhookSettings).webhook_loopback)
    except AddressRefused as error:
        raise fail(str(error), code=ExitCode.REJECTED) from error
    if account != EVERY_ACCOUNT and not is_account_name(account):
        raise fail(f"account: expected the name of an account or *, got {account!r}", code=ExitCode.REJECTED)
    if len(description) > DESCRIPTION_CHARS:
        raise fail(f"description: expected at most {DESCRIPTION_CHARS} characters", code=ExitCode.REJECTED)
    new = NewEndpoint(
        user_id=account, url=url, description=description, types=types or tuple(WebhookType), created_by=who()
    )
    if account != EVERY_ACCOUNT:
        _run(lambda source: warn_without_settings(source, account))
    key = secrets.token_bytes(NEW_SECRET_BYTES)
    endpoint_id = _run(
        lambda source: endpoints.add_endpoint(
            source, new, key, _now(), logged=_entry(account, "added", origin=origin_of(url))
        )
    )
    if endpoint_id is None:
        text = f"account: expected fewer than {MOST_ENDPOINTS} endpoints, {account} has them"
        raise fail(text, code=ExitCode.REJECTED)
    emit([{"id": endpoint_id, "url": url, "secret": encode_secret(key)}], ["id", "url", "secret"])


@app.command("list")
def list_(
    account: Annotated[str | None, typer.Option("--account", "-a", help="Only of this account.")] = None,
) -> None:
    """Print the endpoints, with masked secrets.

    For example:

        hushgate webhooks list --account corner-shop
    """
    chosen = None if account is None else (account,)
    found = _run(lambda source: endpoints.list_endpoints(source, chosen))
    emit([asdict(each) for each in found], COLUMNS)
    note_misspelt(found, None if account == EVERY_ACCOUNT else account)


@app.command()
def show(endpoint: EndpointArgument) -> None:
    """Print one endpoint.

    For example:

        hushgate webhooks show 01a2045f-6e67-7c3c-ae11-de08976348e0
    """
    row = asdict(_endpoint(endpoint))
    emit([row], list(row))


@app.command()
def test(
    endpoint: EndpointArgument,
    wait: Annotated[float, typer.Option(min=0, max=120, help="Seconds to wait for its end.")] = TEST_WAIT_S,
) -> None:
    """Send a test event to one endpoint, by a running worker. Exit code 1 without delivery in time.

    For example:

        hushgate webhooks test 01a2045f-6e67-7c3c-ae11-de08976348e0
    """
    logged = _entry(_endpoint(endpoint).user_id, "test sent", endpoint=endpoint)
    found = _run(lambda source: _tested(source, endpoint, wait, logged))
    if found is None:
        raise fail("endpoint: expected an enabled one, got a disabled one", code=ExitCode.REJECTED)
    emit([asdict(found)], DELIVERY_COLUMNS)
    if found.state != DeliveryState.SUCCEEDED:
        raise typer.Exit(ExitCode.NEGATIVE)


@app.command()
def rotate(
    endpoint: EndpointArgument,
    hours: Annotated[
        float, typer.Option(min=0, max=720, help="Hours that the present secret signs too.")
    ] = 24,
) -> None:
    """Replace the secret and print the new one, once; both sign until the present one ends.

    For example:

        hushgate webhooks rotate 01a2045f-6e67-7c3c-ae11-de08976348e0 --hours 48
    """
    key, until = secrets.token_bytes(NEW_SECRET_BYTES), _now() + timedelta(hours=hours)
    logged = _entry(_endpoint(endpoint).user_id, "secret rotated", endpoint=endpoint)
    _run(lambda source: endpoints.rotate_secret(source, endpoint, key, until, logged=logged))
    row = {"id": endpoint, "secret": encode_secret(key), "old_secret_until": until}
    emit([row], list(row))


@app.command()
def disable(endpoint: EndpointArgument) -> None:
    """Stop sending to an endpoint; waiting deliveries are kept until the endpoint is enabled or removed.

    For example:

        hushgate webhooks disable 01a2045f-6e67-7c3c-ae11-de08976348e0
    """
    _set_enabled(endpoint, enabled=False)


@app.command()
def enable(endpoint: EndpointArgument) -> None:
    """Send to a disabled endpoint again, first what waits for it.

    For example:

        hushgate webhooks enable 01a2045f-6e67-7c3c-ae11-de08976348e0
    """
    _set_enabled(endpoint, enabled=True)


@app.command()
def remove(endpoint: EndpointArgument) -> None:
    """Delete an endpoint with its deliveries.

    For example:

        hushgate webhooks remove 01a2045f-6e67-7c3c-ae11-de08976348e0
    """
    found = _endpoint(endpoint)
    logged = _entry(found.user_id, "removed", endpoint=endpoint, origin=origin_of(found.url))
    _run(lambda source: endpoints.remove_endpoint(source, endpoint, logged=logged))
    emit([{"id": endpoint, "removed": True}], ["id", "removed"])


@app.command("deliveries")
def list_deliveries(
    endpoint: Annotated[UUID | None, typer.Argument(help="Only of this endpoint.")] = None,
    state: Annotated[DeliveryState | None, typer.Option(help="Only in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Deliveries to print at most.")] = 50,
    before: Annotated[int | None, typer.Option(min=1, help="Only with a smaller number.")] = None,
) -> None:
    """Print deliveries, newest first, without their texts.

    For example:

        hushgate webhooks deliveries 01a2045f-6e67-7c3c-ae11-de08976348e0 --state failed
    """
    if endpoint is not None:
        _endpoint(endpoint)
    chosen = None if state is None else state.value
    found = _run(
        lambda source: deliveries.list_deliveries(source, endpoint, limit=limit, state=chosen, before=before)
    )
    columns = DELIVERY_COLUMNS if endpoint else ["endpoint_id", *DELIVERY_COLUMNS]
    emit([asdict(each) for each in found], columns)


@app.command("delivery")
def show_delivery(delivery: DeliveryArgument) -> None:
    """Print one delivery with what is sent and the start of the last answer; the access log says who read it.

    For example:

        hushgate webhooks delivery 4711
    """
    found = _stored(delivery)
    detail = {"what": "webhook delivery", "delivery": delivery}
    entry = LogEntry(action=LoggedAction.WEBHOOK, person=who(), user_id=found.user_id, detail=detail)
    with_store(lambda store: _log(store, entry))
    row = {"webhook_id": message_id(found.user_id, found.type, found.key)} | asdict(found)
    emit([row], list(row))


@app.command()
def replay(delivery: DeliveryArgument) -> None:
    """Send a delivery again, with the same webhook-id: a receiver that has it ignores it.

    For example:

        hushgate webhooks replay 4711
    """
    logged = _entry(_stored(delivery).user_id, "replayed", delivery=delivery)
    refused = _run(lambda source: deliveries.replay_delivery(source, delivery, _now(), logged=logged))
    if refused == deliveries.UNDER_WAY:
        raise fail("delivery: expected no attempt of it under way, got one", code=ExitCode.NEGATIVE)
    if refused is not None:
        text = f"delivery: expected one that may be sent, but {CANCEL_REASONS[refused]}"
        raise fail(text, code=ExitCode.NEGATIVE)
    emit([{"id": delivery, "state": DeliveryState.WAITING.value}], ["id", "state"])


def _run(work: Callable[[Pool], Awaitable[Value]]) -> Value:
    return with_store(lambda store: work(store.pool))


def _stored(delivery: int) -> WholeWebhookDelivery:
    found = _run(lambda source: deliveries.get_delivery(source, delivery))
    if found is None:
        raise fail(f"delivery: expected a stored one, got {delivery}", code=ExitCode.NEGATIVE)
    return found


async def _log(store: Store, entry: LogEntry) -> None:
    async with store.writing() as connection:
        await access_log.append_entry(connection, entry)


def _now() -> datetime:
    return datetime.now(UTC)


def _entry(user_id: str, change: str, **detail: object) -> LogEntry:
    known: dict[str, Any] = {"change": change} | {name: str(value) for name, value in detail.items()}
    return LogEntry(action=LoggedAction.WEBHOOK, person=who(), user_id=user_id, detail=known)


def _endpoint(endpoint: UUID) -> WebhookEndpoint:
    found = _run(lambda source: endpoints.get_endpoint(source, endpoint))
    if found is None:
        raise fail(f"endpoint: expected the id of a stored one, got {endpoint}", code=ExitCode.NEGATIVE)
    return found


def _set_enabled(endpoint: UUID, *, enabled: bool) -> None:
    found = _endpoint(endpoint)
    logged = _entry(found.user_id, "enabled" if enabled else "disabled", endpoint=endpoint)
    _run(lambda source: endpoints.set_enabled(source, endpoint, enabled=enabled, logged=logged))
    emit([{"id": endpoint, "state": "enabled" if enabled else "disabled"}], ["id", "state"])


async def _tested(source: Pool, endpoint: UUID, wait_s: float, logged: LogEntry) -> WebhookDelivery | None:
    number = await endpoints.send_test(source, endpoint, _now(), logged=logged)
    if number is None:
        return None
    found = await deliveries.get_delivery(source, number)
    for _ in range(round(wait_s / LOOK_S)):
        if found is None or found.state != DeliveryState.WAITING or found.error is not None:
            break
        await asyncio.sleep(LOOK_S)
        found = await deliveries.get_delivery(source, number)
    return found
