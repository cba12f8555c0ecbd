"""What a sign-in with an unknown login costs, and what hashes cost at all."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher, Type, extract_parameters
from argon2.exceptions import VerifyMismatchError

from review.auth import passwords


@pytest.fixture(autouse=True)
def _as_deployed(deployed_hasher: PasswordHasher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_HASHER", deployed_hasher)


def test_passwords_are_hashed_with_the_low_memory_profile_of_rfc_9106() -> None:
    """Argon2id with 64 MiB, three passes and four lanes."""
    used = extract_parameters(passwords._unmatched_hash())

    assert (used.type, used.memory_cost, used.time_cost, used.parallelism) == (Type.ID, 65_536, 3, 4)


def test_an_unknown_login_costs_as_much_as_a_wrong_password() -> None:
    """The hash verified for it has the parameters of a stored one, and is computed, not refused."""
    unmatched = passwords._unmatched_hash()

    assert not passwords.needs_rehash(unmatched)
    assert extract_parameters(unmatched) == extract_parameters(passwords._HASHER.hash("any password"))
    with pytest.raises(VerifyMismatchError):
        PasswordHasher().verify(unmatched, "any password")


async def test_no_password_matches_where_none_is_stored() -> None:
    """An empty password does not match either."""
    for password in ("", "any password"):
        assert not await passwords.password_matches(None, password)
