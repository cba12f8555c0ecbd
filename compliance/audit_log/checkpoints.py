"""Signed roots as C2SP tlog-checkpoint texts: a signed note with an Ed25519 signature."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from worker.errors import ConfigurationError
from worker.settings.retention import KEY_BYTES, key_bytes

ED25519: Final = b"\x01"
"""The algorithm byte of C2SP signed-note."""
DASH: Final = "— "
VARIABLE: Final = "HUSHGATE_AUDIT_LOG_KEY"


class CheckpointRejected(ValueError):
    """A text that is no checkpoint of this log, or whose signature is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a log commits to: its first ``size`` leaves have this root."""

    origin: str
    size: int
    root: bytes

    def body(self) -> str:
        """The signed text."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


NAME: Final = re.compile(r"[^+\s]+")
"""The name of a log, as C2SP signed-note allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Signs checkpoints under a name."""

    name: str
    key: Ed25519PrivateKey

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""
        return self.key.public_key().public_bytes_raw()

    def verifier_key(self) -> str:
        """The key that others verify with, as C2SP signed-note writes it: name, id and key."""
        packed = base64.b64encode(ED25519 + self.public).decode()
        return f"{self.name}+{key_id(self.name, self.public).hex()}+{packed}"

    def sign(self, checkpoint: Checkpoint) -> str:
        """The checkpoint with its signature."""
        signature = key_id(self.name, self.public) + self.key.sign(checkpoint.body().encode())
        return f"{checkpoint.body()}\n{DASH}{self.name} {base64.b64encode(signature).decode()}\n"


def new_key() -> str:
    """A new private key as the setting takes it: 32 random bytes in base64."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def signer_of(name: str, key: str, place: str = VARIABLE) -> Signer:
    """The signer of a private key; ``place`` is where it was read.

    Raises:
        ConfigurationError: not 32 bytes in base64.
    """
    try:
        seed = key_bytes(key)
    except ValueError as error:
        raise ConfigurationError(
            f"{place}: expected 32 bytes in base64, as `hushgate audit-log key` prints them"
        ) from error
    return Signer(name=name, key=Ed25519PrivateKey.from_private_bytes(seed))


def signer_in(setting: str, place: str = VARIABLE) -> Signer:
    """The signer that HUSHGATE_AUDIT_LOG_KEY or a file declares: the log's name, a plus sign, the key.

    Raises:
        ConfigurationError: no name, or another key.
    """
    name, _, key = setting.partition("+")
    if not key or not NAME.fullmatch(name):
        raise ConfigurationError(f"{place}: expected name+key, as `hushgate audit-log key` prints them")
    return signer_of(name, key, place)


def key_id(name: str, public: bytes) -> bytes:
    """The four bytes that name a key in a signature."""
    return hashlib.sha256(name.encode() + b"\n" + ED25519 + public).digest()[:4]


def read_checkpoint(text: str, verifier_key: str) -> Checkpoint:
    """A checkpoint whose signature was verified.

    Raises:
        CheckpointRejected: not a checkpoint, or no valid signature of this key.
    """
    body, separator, signatures = text.partition("\n\n")
    lines = body.split("\n")
    try:
        name, hint, packed = verifier_key.split("+", 2)
        public = base64.b64decode(packed, validate=True).removeprefix(ED25519)
        origin, size, root = lines[0], int(lines[1]), base64.b64decode(lines[2], validate=True)
        key = Ed25519PublicKey.from_public_bytes(public)
    except (ValueError, IndexError) as error:
        raise CheckpointRejected(f"checkpoint: expected origin, size and root, got {text[:80]!r}") from error
    if not separator or hint != key_id(name, public).hex():
        raise CheckpointRejected("checkpoint: expected a signature, and a key that fits its id")
    for line in signatures.splitlines():
        if line.startswith(f"{DASH}{name} ") and _signed(line, f"{body}\n", key, public, name):
            return Checkpoint(origin=origin, size=size, root=root)
    raise CheckpointRejected(f"checkpoint: expected a valid signature of {name}, got none")


def _signed(line: str, body: str, key: Ed25519PublicKey, public: bytes, name: str) -> bool:
    try:
        signature = base64.b64decode(line.rsplit(" ", 1)[1], validate=True)
        if signature[:4] != key_id(name, public):
            return False
        key.verify(signature[4:], body.encode())
    except (ValueError, InvalidSignature):
        return False
    return True
