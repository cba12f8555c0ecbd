"""Receipts of erasures: what was erased, signed with Ed25519, for anyone who has the public key."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from compliance.erasure.records import Erasure
from compliance.tables import ErasurePhase

CONTEXT: Final = b"hushgate erasure receipt 1\n"
"""Signed before the receipt, so that the signature is valid for receipts only."""


class ReceiptDiffers(Exception):
    """The stored receipt says something else than its erasure: nothing is signed."""


def receipt_of(erasure: Erasure) -> dict[str, Any]:
    """The receipt that the database must have made of this erasure, without the name of the erased author.

    Raises:
        ReceiptDiffers: it was not confirmed, started and finished.
    """
    times = (erasure.requested_at, erasure.confirmed_at, erasure.started_at, erasure.finished_at)
    known = [each for each in times if each is not None]
    if erasure.phase != ErasurePhase.FINISHED or len(known) < len(times):
        raise ReceiptDiffers(f"erasure {erasure.id}: expected one that was confirmed, started and finished")
    requested, confirmed, started, finished = (_text(each) for each in known)
    return {
        "version": 1,
        "erasure": str(erasure.id),
        "account": erasure.user_id,
        "kind": erasure.kind,
        "subject_salt": erasure.salt.hex(),
        "subject_sha256": erasure.subject_hash,
        "requested_by": erasure.requested_by,
        "requested_at": requested,
        "confirmed_by": erasure.confirmed_by,
        "confirmed_at": confirmed,
        "started_at": started,
        "finished_at": finished,
        "until_entry": erasure.until_entry,
        "erased": dict(erasure.erased),
        "decisions_under_legal_hold": erasure.held,
    }


def sign_erasure(erasure: Erasure, key: bytes) -> str:
    """The signature of an erasure's stored receipt; ``key`` are the 32 bytes of a private key.

    Raises:
        ReceiptDiffers: the receipt is not what the erasure says.
    """
    expected = receipt_of(erasure)
    if erasure.receipt != expected:
        raise ReceiptDiffers(f"erasure {erasure.id}: expected a receipt of the erasure, got another one")
    return _sign(expected, key)


def _sign(receipt: Mapping[str, Any], key: bytes) -> str:
    """The signature as ``<key id>:<base64>``."""
    private = Ed25519PrivateKey.from_private_bytes(key)
    return f"{key_id(public_key(key))}:{base64.b64encode(private.sign(_signed(receipt))).decode()}"


def is_signed_by(receipt: Mapping[str, Any], signature: str, public_keys: Sequence[bytes]) -> bool:
    """Whether one of these public keys has signed exactly this receipt."""
    name, _, encoded = signature.partition(":")
    for public in public_keys:
        if key_id(public) != name:
            continue
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(base64.b64decode(encoded), _signed(receipt))
        except (InvalidSignature, ValueError):
            return False
        return True
    return False


def public_key(key: bytes) -> bytes:
    """The public key of a private one, 32 bytes."""
    private = Ed25519PrivateKey.from_private_bytes(key)
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def key_id(public: bytes) -> str:
    """A short name of a public key."""
    return hashlib.sha256(public).hexdigest()[:16]


def _signed(receipt: Mapping[str, Any]) -> bytes:
    return CONTEXT + orjson.dumps(dict(receipt), option=orjson.OPT_SORT_KEYS)


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
