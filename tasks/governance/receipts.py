"""Receipts of erasures: what was erased, signed with Ed25519, for anyone who has the public key."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from db.governance.erasures import Erasure
from worker import __version__

CONTEXT: Final = b"hushgate erasure receipt 1\n"
"""Signed before the receipt, so that its signature is none of anything else."""


def make_receipt(erasure: Erasure, finished_at: str, held: int) -> dict[str, Any]:
    """The receipt of an erasure that has only to be finished; it does not name who was erased."""
    assert erasure.confirmed_at is not None  # it has begun
    assert erasure.started_at is not None
    return {
        "version": 1,
        "erasure": str(erasure.id),
        "account": erasure.user_id,
        "kind": erasure.kind,
        "subject_salt": erasure.salt.hex(),
        "subject_sha256": erasure.subject_hash,
        "requested_by": erasure.requested_by,
        "requested_at": erasure.requested_at.isoformat(),
        "confirmed_by": erasure.confirmed_by,
        "confirmed_at": erasure.confirmed_at.isoformat(),
        "started_at": erasure.started_at.isoformat(),
        "finished_at": finished_at,
        "until_entry": erasure.until_entry,
        "erased": dict(sorted(erasure.erased.items())),
        "decisions_under_legal_hold": held,
        "release": __version__,
    }


def sign(receipt: Mapping[str, Any], key: bytes) -> str:
    """The signature as ``<key id>:<base64>``; ``key`` are the 32 bytes of a private key."""
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
