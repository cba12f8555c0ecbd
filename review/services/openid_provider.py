"""An OpenID Connect client over Authlib: every identity is signed by the provider and checked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.common.security import generate_token
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from worker.adapters.api_errors import ProxyUnusable
from worker.adapters.http_environment import environment_proxy, trusted_certificates
from worker.errors import ConfigurationError, IdentityRejected, IdentityUnavailable

ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""Signatures with a private key. Never ``none``, never HS256, whose key would be the public one."""
LEEWAY_S: Final = 60
"""Largest accepted difference of the provider's clock."""
TIMEOUT_S: Final = 10.0
WHOLE_S: Final = 20.0
"""All requests of one step, also to a provider that sends its answers byte by byte."""
MOST_BYTES: Final = 1_048_576
"""Largest answer, which is not compressed; documents and key sets have some kB."""
DISCOVERED_FOR_S: Final = 3600.0
FETCH_KEYS_EVERY_S: Final = 30.0
"""A token with an unknown key makes us fetch keys, at most this often."""
LOGOUT_EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"
LOGOUT_AGE_S: Final = 300.0
"""Oldest logout token; one is remembered for that long, so that it works once."""
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")
METHODS: Final = "token_endpoint_auth_methods_supported"
SCOPE: Final = "openid email profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A sign-in begun: the URL for the browser, and the secrets to keep until the answer."""

    url: str
    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A person as the provider describes them, checked.

    Attributes:
        subject: the provider's identifier of the person, never reassigned.
        email: empty unless the provider has verified it.
        session: the provider's name of its session, if it has any.
    """

    issuer: str
    subject: str
    email: str = ""
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderLogout:
    """What the provider ended: a session, or all of a person.

    Attributes:
        token_id: of this message, never used twice by the provider.
    """

    subject: str | None
    session: str | None
    token_id: str


class OpenIdProvider:
    """One provider, discovered by its issuer.

    Args:
        issuer: https; http only on loopback, for tests.
        redirect_uri: where the provider sends browsers back; registered there.
    """

    def __init__(self, issuer: str, *, client_id: str, client_secret: str | None, redirect_uri: str) -> None:
        if not is_safe(issuer):
            raise ConfigurationError(f"HUSHGATE_REVIEW_OIDC_ISSUER: expected https, got {issuer!r}")
        self.issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._redirect_uri = redirect_uri
        self._metadata: dict[str, Any] = {}
        self._discovered_at = self._keys_at = float("-inf")
        self._keys: KeySet | None = None

    async def begin(self) -> Begun:
        """The URL to send the browser to, with new state, nonce and verifier."""
        verifier, nonce, state = generate_token(64), generate_token(43), generate_token(43)
        metadata = await self._discovered()
        async with self._client(metadata) as client:
            endpoint = metadata["authorization_endpoint"]
            url, _ = client.create_authorization_url(
                endpoint, state=state, nonce=nonce, code_verifier=verifier
            )
        return Begun(url=str(url), state=state, nonce=nonce, verifier=verifier)

    async def finish(self, answer: Mapping[str, str], *, nonce: str, verifier: str) -> Identity:
        """The identity in the answer; ``answer`` is the callback's query, its state already checked.

        Raises:
            IdentityUnavailable: the provider does not answer.
            IdentityRejected: it refused, or its answer is invalid.
        """
        if "error" in answer or not answer.get("code"):
            raise IdentityRejected(f"refused: {answer.get('error', 'no code')[:80]}")
        metadata = await self._discovered()
        self._check_issuer(answer, metadata)
        async with self._client(metadata) as client:
            try:
                tokens = await client.fetch_token(
                    metadata["token_endpoint"],
                    grant_type="authorization_code",
                    code=answer["code"],
                    code_verifier=verifier,
                )
                claims = await self._claims(client, metadata, tokens, nonce)
                return await self._identity(client, metadata, tokens, claims)
            except httpx2.HTTPError as error:
                raise _unavailable(error) from error
            except (AuthlibBaseError, JoseError, ValueError, KeyError, TypeError) as error:
                raise IdentityRejected(f"invalid: {type(error).__name__}") from error

    async def logout(self, signed: str) -> ProviderLogout:
        """What a logout token ends (OpenID Connect Back-Channel Logout 1.0, section 2.6).

        Raises:
            IdentityUnavailable: the provider does not answer.
            IdentityRejected: the token is not one of the provider's for us, or too old.
        """
        metadata = await self._discovered()
        async with self._client(metadata) as client:
            try:
                token = await self._decoded(client, metadata, signed)
            except (JoseError, ValueError, KeyError, TypeError) as error:
                raise IdentityRejected(f"invalid: {type(error).__name__}") from error
        return self._logout_of(token.claims)

    def _logout_of(self, claims: Mapping[str, Any]) -> ProviderLogout:
        audience, now = claims.get("aud"), time.time()
        events = claims.get("events")
        right = (
            claims.get("iss") == self.issuer
            and self._client_id in (audience if isinstance(audience, list) else [audience])
            and _is_recent(claims.get("iat"), now)
            and _is_number(claims.get("exp", now))
            and claims.get("exp", now) > now - LEEWAY_S
            and isinstance(events, dict)
            and isinstance(events.get(LOGOUT_EVENT), dict)
            and "nonce" not in claims
        )
        named = {key: claims.get(key) for key in ("sub", "sid", "jti")}
        if not right or not all(each is None or isinstance(each, str) for each in named.values()):
            raise IdentityRejected("no logout token for this site, or an old one")
        if named["jti"] is None or (named["sub"] is None and named["sid"] is None):
            raise IdentityRejected("expected jti, and sub or sid")
        return ProviderLogout(subject=named["sub"], session=named["sid"], token_id=named["jti"])

    @asynccontextmanager
    async def _client(self, metadata: Mapping[str, Any]) -> AsyncIterator[AsyncOAuth2Client]:
        """A client that authenticates in a way that the discovered provider accepts, for ``WHOLE_S``.

        Raises:
            IdentityUnavailable: the time is over, an answer is nested too deeply or has a number without end,
                or the environment names a proxy that cannot be used.
        """
        try:
            proxy = environment_proxy(self.issuer)
        except ProxyUnusable as error:
            raise IdentityUnavailable(str(error), kind="proxy") from error
        methods = metadata.get(METHODS, ["client_secret_basic"])
        method = "client_secret_basic" if "client_secret_basic" in methods else "client_secret_post"
        client = AsyncOAuth2Client(
            self._client_id,
            self._client_secret,
            token_endpoint_auth_method=method if self._client_secret else "none",
            scope=SCOPE,
            redirect_uri=self._redirect_uri,
            code_challenge_method="S256",
            timeout=TIMEOUT_S,
            follow_redirects=False,
            trust_env=False,  # httpx2 ends every request where a variable names a SOCKS proxy
            proxy=proxy,
            verify=trusted_certificates(),
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [_limit]},
        )
        try:
            async with asyncio.timeout(WHOLE_S), client:
                yield client
        except (OverflowError, RecursionError, TimeoutError) as error:
            raise _unavailable(error) from error

    async def _discovered(self) -> dict[str, Any]:
        """The provider's metadata, before any client is made: they say how clients authenticate."""
        if time.monotonic() - self._discovered_at < DISCOVERED_FOR_S:
            return self._metadata
        url = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
        async with self._client({}) as client:
            found = await _json(client, url)
        if found.get("issuer") != self.issuer:
            raise IdentityUnavailable("discovery: the document names another issuer", kind="malformed")
        if not all(is_safe(found.get(name)) for name in ENDPOINTS):
            raise IdentityUnavailable("discovery: an endpoint is missing or not https", kind="malformed")
        if not isinstance(found.get(METHODS, []), list):
            raise IdentityUnavailable(f"discovery: {METHODS} is no list", kind="malformed")
        self._metadata, self._discovered_at = found, time.monotonic()
        return found

    def _check_issuer(self, answer: Mapping[str, str], metadata: Mapping[str, Any]) -> None:
        """Refuse the answer of another provider (RFC 9207)."""
        found, promised = answer.get("iss"), metadata.get("authorization_response_iss_parameter_supported")
        if found != self.issuer and (found is not None or promised):
            raise IdentityRejected("the answer comes from another provider")

    async def _claims(
        self, client: AsyncOAuth2Client, metadata: Mapping[str, Any], tokens: Mapping[str, Any], nonce: str
    ) -> CodeIDToken:
        token = await self._decoded(client, metadata, tokens["id_token"])
        options: dict[str, Any] = {
            "iss": {"essential": True, "value": self.issuer},
            # Authlib checks azp only: a token for another client that names us there would pass
            "aud": {"essential": True, "value": self._client_id},
        }
        expected = {"nonce": nonce, "client_id": self._client_id, "access_token": tokens.get("access_token")}
        claims = CodeIDToken(token.claims, token.header, options, expected)
        claims.validate(leeway=LEEWAY_S)
        return claims

    async def _decoded(
        self, client: AsyncOAuth2Client, metadata: Mapping[str, Any], signed: str
    ) -> jwt.Token:
        """A token whose signature is the provider's; its claims are not checked."""
        offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        registry = JWSRegistry(algorithms=sorted(ALGORITHMS & set(offered)), strict_check_header=False)
        keys = await self._key_set(client, metadata, DISCOVERED_FOR_S)
        try:
            return jwt.decode(signed, key=keys, registry=registry)
        except InvalidKeyIdError:
            keys = await self._key_set(client, metadata, FETCH_KEYS_EVERY_S)
            return jwt.decode(signed, key=keys, registry=registry)

    async def _key_set(
        self, client: AsyncOAuth2Client, metadata: Mapping[str, Any], oldest_s: float
    ) -> KeySet:
        """The provider's keys, fetched at most ``oldest_s`` ago."""
        if self._keys is None or time.monotonic() - self._keys_at > oldest_s:
            found: Any = await _json(client, metadata["jwks_uri"])
            self._keys, self._keys_at = KeySet.import_key_set(found), time.monotonic()
        return self._keys

    async def _identity(
        self,
        client: AsyncOAuth2Client,
        metadata: Mapping[str, Any],
        tokens: Mapping[str, Any],
        claims: Mapping[str, Any],
    ) -> Identity:
        known: Mapping[str, Any] = claims
        if "email" not in claims and is_safe(metadata.get("userinfo_endpoint")):
            known = await _json(client, metadata["userinfo_endpoint"], bearer=tokens["access_token"])
            if known.get("sub") != claims["sub"]:
                raise IdentityRejected("userinfo and ID token name different subjects")
        verified = known.get("email_verified") is True and _is_address(known.get("email"))
        subject, session = claims["sub"], claims.get("sid")
        if not _is_printable(subject) or not 0 < len(subject) <= 255:
            raise IdentityRejected("sub: expected a text of 1 to 255 characters")
        return Identity(
            issuer=self.issuer,
            subject=subject,
            email=known["email"] if verified else "",
            session=session if _is_printable(session) else None,
        )


class _Body(httpx2.AsyncByteStream):
    """The body of an answer up to ``MOST_BYTES``; an error comes instead of more."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MOST_BYTES:
                raise httpx2.ReadError(f"answer: expected at most {MOST_BYTES} bytes")
            yield chunk


async def _limit(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.DecodingError("answer: expected one without compression")
    assert isinstance(response.stream, httpx2.AsyncByteStream)  # the client is asynchronous
    response.stream = _Body(response.stream)


def _is_printable(value: object) -> bool:
    """Whether it is a text without control characters and halves of surrogate pairs; NUL cannot be stored."""
    return isinstance(value, str) and value.isprintable()


def _is_address(value: object) -> bool:
    """Whether it is printable, and no other letter is one of ASCII in lower case, as the Kelvin sign is k."""
    return _is_printable(value) and not any(
        each.lower().isascii() for each in str(value) if not each.isascii()
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_recent(issued: object, now: float) -> bool:
    return isinstance(issued, int | float) and _is_number(issued) and abs(now - issued) <= LOGOUT_AGE_S


def is_safe(url: object) -> bool:
    """Whether a URL is https, or http on this machine."""
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


async def _json(client: AsyncOAuth2Client, url: str, *, bearer: str = "") -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    try:
        response = await client.request("GET", url, withhold_token=True, headers=headers)
        response.raise_for_status()
        found = response.json()
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _unavailable(error) from error
    except ValueError as error:
        raise IdentityUnavailable("the provider answered no JSON", kind="malformed") from error
    if not isinstance(found, dict):
        raise IdentityUnavailable("the provider answered no JSON object", kind="malformed")
    return found


def _unavailable(error: Exception) -> IdentityUnavailable:
    return IdentityUnavailable(f"identity provider: {type(error).__name__}", kind=type(error).__name__)
