"""Receipts of erasures: check one, and the key that signs them."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from cli.exit_codes import ExitCode
from cli.options import settings_of
from cli.output import emit, emit_json, fail
from compliance.erasure import receipts
from compliance.erasure.job import signing_key
from compliance.erasure.records import hash_subject
from worker.settings import ErasureSettings, TransparencySettings
from worker.settings.retention import KEY_BYTES, key_bytes


def verify(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="A receipt, as `receipt` prints it.")
    ],
    public_key: Annotated[
        list[str] | None,
        typer.Option(
            "--public-key",
            help="Base64; repeatable. Without one: HUSHGATE_RECEIPT_VERIFIERS, or of HUSHGATE_SIGNING_KEY.",
        ),
    ] = None,
    subject: Annotated[
        str | None, typer.Option("--subject", help="Also check that this id was erased.")
    ] = None,
) -> None:
    """Check that a receipt is signed and unchanged; exit code 1 for another receipt.

    For example:

        hushgate erasure verify receipt.json --public-key PUBLIC_KEY --subject a-17
    """
    found, signature = _read(file)
    if not (keys := receipt_keys(public_key or ())):
        raise fail("public key: expected --public-key, HUSHGATE_RECEIPT_VERIFIERS or HUSHGATE_SIGNING_KEY")
    if not receipts.is_signed_by(found, signature, keys):
        text = "receipt: its signature is not one of the given keys, or it was changed"
        raise fail(text, code=ExitCode.NEGATIVE)
    if subject is not None:
        expected = hash_subject(bytes.fromhex(str(found["subject_salt"])), subject)
        if expected != found["subject_sha256"]:
            raise fail(f"receipt: it is about another {found['kind']}", code=ExitCode.NEGATIVE)
    named = ("erasure", "account", "kind", "finished_at")
    emit([{name: found.get(name) for name in named} | {"valid": True}], [*named, "valid"])


def key() -> None:
    """Print a new HUSHGATE_SIGNING_KEY with its public key, or the public key of the set variable."""
    settings = settings_of(ErasureSettings)
    private, rows = signing_key(settings), {}
    if private is None:
        private = secrets.token_bytes(KEY_BYTES)
        rows["HUSHGATE_SIGNING_KEY"] = base64.b64encode(private).decode()
    emit_json(rows | {"public_key": base64.b64encode(receipts.public_key(private)).decode()})


def _read(file: Path) -> tuple[Mapping[str, Any], str]:
    try:
        body = orjson.loads(file.read_bytes())
        found, signature = dict(body["receipt"]), body["signature"]
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise fail('file: expected {"receipt": {...}, "signature": "..."}') from error
    if not isinstance(signature, str):
        raise fail("receipt: it is not signed yet: set HUSHGATE_SIGNING_KEY for the workers",
                   code=ExitCode.NEGATIVE)  # fmt: skip
    return found, signature


def receipt_keys(given: Sequence[str]) -> tuple[bytes, ...]:
    """The given public keys, else those of HUSHGATE_RECEIPT_VERIFIERS, else that of HUSHGATE_SIGNING_KEY."""
    encoded = given or settings_of(TransparencySettings).receipt_keys
    try:
        if found := tuple(key_bytes(each) for each in encoded):
            return found
    except ValueError as error:
        raise fail(f"public key: {error} in base64") from error
    private = signing_key(settings_of(ErasureSettings))
    return () if private is None else (receipts.public_key(private),)
