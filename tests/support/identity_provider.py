"""A small OpenID Connect provider on loopback, which can be told to lie."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from io import BufferedIOBase
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from cli.demo.receiver import serving

CLIENT, SECRET = "hushgate", "the secret of the client"


class Provider:
    """What the server says, and the lies.

    Attributes:
        email: of whoever signs in; ``verified`` says whether the provider vouches for it.
        lies: claims that replace the right ones in the next tokens; None removes one.
        forge: how the next token is signed: ``right``, ``none``, ``hmac``, or ``stranger``.
        answer: parameters that replace the right ones on the way back.
        down: answer 503 to everything.
        broken: the start of every answer after its first line, and what follows until the client is gone.
    """

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self.key = self._new_key("one")
        self.stranger = self._new_key("one")
        self.email, self.verified, self.subject = "kim@example.org", True, "subject-1"
        self.method = "client_secret_basic"
        self.lies: dict[str, Any] = {}
        self.answer: dict[str, str] = {}
        self.forge = "right"
        self.down = False
        self.broken: tuple[bytes, bytes] | None = None
        self.in_userinfo = False
        self.issuer = ""
        self.codes: dict[str, dict[str, str]] = {}

    def metadata(self) -> dict[str, Any]:
        """The discovery document."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "id_token_signing_alg_values_supported": [self.algorithm, "HS256", "none"],
            "authorization_response_iss_parameter_supported": True,
            "token_endpoint_auth_methods_supported": [self.method],
        }

    def client(self, form: dict[str, str], authorization: str) -> str:
        """Id and secret of who asks."""
        scheme, _, secret = authorization.partition(" ")
        if self.method == "client_secret_post":
            return f"{form.get('client_id')}:{form.get('client_secret')}"
        return base64.b64decode(secret).decode() if scheme == "Basic" else ""

    def keys(self) -> dict[str, Any]:
        """The public keys."""
        return {"keys": [self.key.as_dict(private=False)]}

    def rotate(self) -> None:
        """Sign with another key from now on."""
        self.key = self._new_key(secrets.token_hex(4))

    def authorize(self, query: dict[str, str]) -> str:
        """Where the browser goes back to, after everybody agreed."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        back = {"code": code, "state": query["state"], "iss": self.issuer} | self.answer
        return f"{query['redirect_uri']}?{urlencode(back)}"

    def exchange(self, form: dict[str, str], client: str) -> tuple[int, dict[str, Any]]:
        """Tokens for a code, once, for who holds the verifier and the secret."""
        begun = self.codes.pop(form["code"], None)
        proof = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = _encoded(proof)
        if (
            begun is None
            or begun["code_challenge_method"] != "S256"
            or begun["code_challenge"] != challenge
            or client != f"{CLIENT}:{SECRET}"
            or form["redirect_uri"] != begun["redirect_uri"]
        ):
            return 400, {"error": "invalid_grant"}
        claims = {
            "iss": self.issuer,
            "sub": self.subject,
            "aud": CLIENT,
            "exp": int(time.time()) + 300,
            "iat": int(time.time()),
            "nonce": begun["nonce"],
        }
        if not self.in_userinfo:
            claims |= {"email": self.email, "email_verified": self.verified}
        claims = {name: value for name, value in (claims | self.lies).items() if value is not None}
        return 200, {"access_token": "access", "token_type": "Bearer", "id_token": self._signed(claims)}

    def logout_token(self, **claims: object) -> str:
        """A logout token as the provider sends it; ``None`` leaves a claim out."""
        now = int(time.time())
        right: dict[str, object] = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 120,
            "jti": secrets.token_hex(8),
            "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
        }
        return self._signed({name: value for name, value in (right | claims).items() if value is not None})

    def _signed(self, claims: dict[str, Any]) -> str:
        header: dict[str, Any] = {"alg": self.algorithm, "kid": self.key.kid}
        if self.forge in {"none", "hmac"}:
            return self._forged(claims)
        key = self.stranger if self.forge == "stranger" else self.key
        return jwt.encode(header, claims, key, algorithms=[self.algorithm])

    def _forged(self, claims: dict[str, Any]) -> str:
        """Without a signature, or with the public key as the secret of HS256: no library would."""
        header = {"alg": "HS256" if self.forge == "hmac" else "none", "kid": self.key.kid}
        text = ".".join(_encoded(json.dumps(each).encode()) for each in (header, claims))
        if self.forge == "none":
            return f"{text}."
        public = self.key.as_pem(private=False)
        return f"{text}.{_encoded(hmac.new(public, text.encode(), hashlib.sha256).digest())}"

    def _new_key(self, kid: str) -> RSAKey | ECKey:
        if self.algorithm == "RS256":
            return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})
        return ECKey.generate_key("P-256", {"kid": kid, "use": "sig"})


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _send_broken(to: BufferedIOBase, start: bytes, rest: bytes) -> None:
    with suppress(OSError):
        to.write(b"HTTP/1.1 200 OK\r\n" + start)
        for _ in range(10_000 if rest else 0):
            to.write(rest)
            time.sleep(0 if len(rest) > 1 else 0.05)


@contextmanager
def running(algorithm: str) -> Iterator[Provider]:
    """The provider, served."""
    provider = Provider(algorithm)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            match parts.path:
                case "/.well-known/openid-configuration":
                    self._send(200, provider.metadata())
                case "/keys":
                    self._send(200, provider.keys())
                case "/userinfo":
                    said = {"sub": provider.subject, "email": provider.email}
                    self._send(200, said | {"email_verified": provider.verified} | provider.lies)
                case "/authorize":
                    self.send_response(302)
                    query = dict(parse_qsl(parts.query))
                    self.send_header("Location", provider.authorize(query))
                    self.end_headers()
                case _:
                    self._send(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = dict(parse_qsl(body))
            self._send(*provider.exchange(form, provider.client(form, self.headers["Authorization"] or "")))

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def _send(self, status: int, body: dict[str, Any]) -> None:
            if provider.broken is not None:
                _send_broken(self.wfile, *provider.broken)
                return
            text = json.dumps(body).encode()
            self.send_response(503 if provider.down else status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    with serving(Handler) as provider.issuer:
        yield provider
