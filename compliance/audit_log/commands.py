"""``hushgate audit-log``: prove that decisions and reviews were not changed afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

import typer
from rich.progress import Progress

from cli.exit_codes import ExitCode
from cli.options import settings_of, with_pool
from cli.output import emit, emit_json, fail, json_text, print_message, progress_bar, stdout_is_terminal
from cli.output_file import Force, output_file, private_file
from compliance.audit_log.appending import Appended, LogBroken, append_new
from compliance.audit_log.checkpoints import NAME, Signer, new_key, signer_in
from compliance.audit_log.exporting import export_lines, inclusion_proof
from compliance.audit_log.findings import print_result
from compliance.audit_log.verifying import Keys, verify
from compliance.erasure.receipt_commands import receipt_keys
from db.pool import Pool
from worker.errors import ConfigurationError, StorageUnavailable
from worker.settings import TransparencySettings

app = typer.Typer(
    no_args_is_help=True,
    help="Prove that decisions and reviews were not changed, by a signed Merkle tree over both: make a `key`,"
    " `append`, `verify`, `prove` one, `export`.",
)
Value = TypeVar("Value")
HINT: Final = "HUSHGATE_AUDIT_LOG_KEY: expected a key; `hushgate audit-log key` makes one"


@app.command("key")
def make_key(
    name: Annotated[
        str, typer.Option("--name", help="Name of the log in its checkpoints, such as example.org/hushgate.")
    ] = "hushgate",
) -> None:
    """Make a private key and print it with the verifier key that you give to others.

    Keep the private key where neither workers nor the database can read it. For example:

        hushgate audit-log key
    """
    if not NAME.fullmatch(name):
        raise fail(f"--name: expected a name without blanks and plus signs, got {name!r}")
    key = f"{name}+{new_key()}"
    row = {"HUSHGATE_AUDIT_LOG_KEY": key, "verifier_key": signer_in(key).verifier_key()}
    emit([row], list(row))


@app.command()
def append(
    every: Annotated[
        float | None,
        typer.Option("--every", min=1, metavar="SECONDS", help="Go on until Ctrl-C, with this pause."),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file", help="File of the key where HUSHGATE_AUDIT_LOG_KEY is not set; made if missing."
        ),
    ] = None,
) -> None:
    """Append new decisions and reviews, sign the root, and print the checkpoint.

    Run one with --every 60 beside the fleet; workers never wait for it. Keep some checkpoints elsewhere: who
    can replace the whole database can replace the log in it too. DATABASE_URL needs hushgate_audit_login:
    hushgate migrate --create-logins makes it. Verifier keys of former keys: HUSHGATE_AUDIT_LOG_VERIFIERS.

    Exit 1 when the stored tree was changed. For example:

        hushgate audit-log append --every 60
    """
    signer, former = _signer(key_file), frozenset(settings_of(TransparencySettings).audit_log_verifiers)
    try:
        _with_log(lambda source: _append_rounds(source, signer, former, every))
    except LogBroken as error:
        raise fail(str(error), code=ExitCode.NEGATIVE) from error
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


@app.command("verify")
def check(
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", exists=True, dir_okay=False, help="A checkpoint that you kept."),
    ] = None,
    verifier_key: Annotated[
        list[str] | None,
        typer.Option(help="Key of the log; repeatable. Without one: HUSHGATE_AUDIT_LOG_VERIFIERS."),
    ] = None,
    receipt_key: Annotated[
        list[str] | None,
        typer.Option(
            help="Public key of receipts; repeatable. Without one: HUSHGATE_RECEIPT_VERIFIERS, or of"
            " HUSHGATE_SIGNING_KEY."
        ),
    ] = None,
    no_removals: Annotated[
        bool,
        typer.Option("--no-removals", help="Exit 1 when rows were removed since the checkpoint."),
    ] = False,
) -> None:
    """Compare every decision and review with the log, and the log with every signed root.

    Needs public keys only, and the login of the log or of the review pages. Everything is compared as it was
    at one moment. A row may be missing when a stored retention limit allowed it, and empty when a signed
    receipt of an erasure says so; removals since the checkpoint are printed. Rows without a leaf are reported
    from an age of one day.

    Exit 1 when something was changed. For example:

        hushgate audit-log verify --checkpoint kept/2026-11.txt --verifier-key KEY --receipt-key PUBLIC_KEY
    """
    keys = _public_keys(verifier_key or (), receipt_key or ())
    witness = checkpoint.read_text() if checkpoint else None
    with progress_bar(transient=True) as bar:
        task = bar.add_task("leaves", total=None)
        result = _with_log(
            lambda source: verify(source, keys, datetime.now(UTC), witness, _shown_by(bar, task))
        )
    print_result(result, no_removals=no_removals)


@app.command()
def prove(
    subject: Annotated[UUID, typer.Argument(metavar="ID", help="Id of a decision or a review.")],
) -> None:
    """Print the proof that one decision or review is in the log; examples/verify_audit_log.py reads it.

    Exit 1 when it is not in the log yet. For example:

        hushgate audit-log prove 01a20038-0a4e-7283-be93-352da35370fd > proof.json
    """
    found = _with_log(lambda source: inclusion_proof(source, subject))
    if found is None:
        raise fail(f"{subject}: not in the log yet", code=ExitCode.NEGATIVE)
    emit_json(found)


@app.command()
def export(
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; - for standard output.")],
    account: Annotated[
        str | None, typer.Option("--account", "-a", help="Only rows of this account; hashes of all others.")
    ] = None,
    force: Force = False,
) -> None:
    """Write the checkpoint and every leaf as NDJSON, to verify it without this database.

    Exit 1 when the log is empty. For example:

        hushgate audit-log export --account corner-shop --output log.ndjson
        python examples/verify_audit_log.py log.ndjson VERIFIER_KEY
    """

    async def write(source: Pool) -> int:
        lines = 0
        with output_file(output, force) as file:
            async for line in export_lines(source, account):
                file.write(json_text(line) + "\n")
                lines += 1
        return lines

    if not _with_log(write):
        raise fail("the log is empty: run `hushgate audit-log append` first", code=ExitCode.NEGATIVE)


def _signer(key_file: Path | None) -> Signer:
    known = settings_of(TransparencySettings)
    if known.audit_log_key is not None:
        return signer_in(known.audit_log_key.get_secret_value())
    if key_file is None:
        raise ConfigurationError(HINT)
    try:
        if not key_file.exists():
            with private_file(key_file) as file:
                file.write(f"hushgate+{new_key()}")
        signer = signer_in(key_file.read_text().strip(), f"--key-file {key_file}")
    except OSError as error:
        raise ConfigurationError(f"--key-file: expected a file to read or make, got {error}") from error
    print_message(f"verifier key {signer.verifier_key()}", style="cyan")
    return signer


def _public_keys(verifier_keys: Sequence[str], given: Sequence[str]) -> Keys:
    known = settings_of(TransparencySettings)
    log = frozenset(verifier_keys or known.audit_log_verifiers)
    if not log:
        raise ConfigurationError(
            "HUSHGATE_AUDIT_LOG_VERIFIERS: expected verifier keys, or --verifier-key, got none"
        )
    return Keys(log=log, receipts=receipt_keys(given))


def _with_log(call: Callable[[Pool], Awaitable[Value]]) -> Value:
    return with_pool(call, settings_of(TransparencySettings).database_url.get_secret_value())


async def _append_rounds(source: Pool, signer: Signer, former: frozenset[str], every: float | None) -> None:
    since = None
    while True:
        try:
            appended = await append_new(source, signer, datetime.now(UTC), since, former)
        except StorageUnavailable as error:
            if every is None:
                raise
            print_message(f"postponed: {error}")
            appended = None
        else:
            if appended is None:
                print_message("postponed: another process appends, or removes rows of the log")
        since = appended.rest_since if appended else None
        if appended is not None:
            _print_appended(appended)
        if since is not None:
            continue
        if every is None:
            return
        await asyncio.sleep(every)


def _print_appended(appended: Appended) -> None:
    if stdout_is_terminal():
        typer.echo(f"{appended.leaves} leaves appended, {appended.size} in the log\n\n{appended.checkpoint}")
        return
    emit_json({"leaves": appended.leaves, "size": appended.size, "checkpoint": appended.checkpoint})


def _shown_by(bar: Progress, task: Any) -> Callable[[int], None]:
    return lambda leaves: bar.update(task, completed=leaves)
