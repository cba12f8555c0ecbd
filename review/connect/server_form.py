"""The form of model servers: what a person typed, and what is shown again; keys are never shown.

An address of an administrator is trusted like one of the environment: it may lead to this machine or to a
private network. It begins with http or https and holds no name or password, and redirects to other servers
are not followed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never
from urllib.parse import urlsplit

from pydantic import SecretStr

from db.model_servers.stored import ServerRow, opened_key, sealed_key
from review.http.visit import Visit
from review.languages import gettext as _
from review.languages import mark
from review.typed.problems import length_problem
from worker.settings import OFF, ModelRole, ModelServerSettings, StoredServer

URL_CHARS: Final = 500
KEY_CHARS: Final = 1000
MODEL_CHARS: Final = 200
TITLES: Final[Mapping[ModelRole, str]] = {
    ModelRole.MODEL: mark("Language model"),
    ModelRole.MODERATION: mark("Moderation"),
    ModelRole.JUDGE: mark("Judge"),
    ModelRole.EMBEDDINGS: mark("Embeddings"),
}
HELP: Final[Mapping[ModelRole, str]] = {
    ModelRole.MODEL: mark("Writes the drafts. Any server with the API of OpenAI."),
    ModelRole.MODERATION: mark("Checks each message and each reply. Many servers have no moderation."),
    ModelRole.JUDGE: mark("Reads each draft beside your documents. Without it drafts wait for people."),
    ModelRole.EMBEDDINGS: mark("Finds documents by meaning. Without it they are found by words."),
}


class ServerUse(StrEnum):
    """Which server a role calls."""

    SAME = "same"
    OWN = "own"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleForm:
    """One role of the form.

    Attributes:
        url_set_by: the variable of the environment that names the server; empty: the form does.
        model_set_by: the variable of the environment that names the model; empty: the form does.
        has_key: a key is set.
        carried_key: the key of a test, sealed for this role and address; base64.
    """

    role: ModelRole
    use: ServerUse
    url: str
    model: str
    url_set_by: str = ""
    model_set_by: str = ""
    has_key: bool = False
    carried_key: str = ""
    problem: str = ""

    @property
    def title(self) -> str:
        """Marked for translation."""
        return TITLES[self.role]

    @property
    def help(self) -> str:
        """Marked for translation."""
        return HELP[self.role]


def stored_forms(known: ModelServerSettings, rows: Sequence[ServerRow]) -> tuple[RoleForm, ...]:
    """The form with what is in force."""
    stored = {row.role: row for row in rows}
    return tuple(_stored_form(known, role, stored.get(role)) for role in ModelRole)


def _stored_form(known: ModelServerSettings, role: ModelRole, row: ServerRow | None) -> RoleForm:
    fixed, named = known.fixed_place(role), known.fixed_model(role)
    server = getattr(known.servers, role)
    in_force = server if fixed else None
    url = in_force.url if in_force else (row.url or "" if row and not fixed else "")
    model = getattr(known, f"{role}_name") if named else row.model if row else ""
    own = bool(url) or role is ModelRole.MODEL
    off = model == OFF or (named and not model)
    locked = ""
    if not fixed and row is not None and row.opened(known.secrets_key).unreadable:
        locked = _("HUSHGATE_SECRETS_KEY does not open the stored key. Write the key again.")
    return RoleForm(
        role=role,
        use=ServerUse.OFF if off else ServerUse.OWN if own else ServerUse.SAME,
        url=url,
        model="" if off else model,
        url_set_by=f"{role.variable}_URL" if fixed else "",
        model_set_by=role.variable if named else "",
        has_key=bool(in_force.key) if in_force else bool(row and row.sealed_key and url and not locked),
        problem=locked,
    )


def typed_servers(
    visit: Visit, rows: Sequence[ServerRow]
) -> tuple[tuple[StoredServer, ...], tuple[RoleForm, ...]]:
    """The typed servers, and the form that shows them again with what is wrong."""
    known, stored = visit.site.settings, {row.role: row for row in rows}
    servers, forms = [], []
    for role in ModelRole:
        server, form = _typed(visit, known, role, stored.get(role))
        servers.append(server)
        forms.append(form)
    return tuple(servers), tuple(forms)


def _typed(
    visit: Visit, known: ModelServerSettings, role: ModelRole, row: ServerRow | None
) -> tuple[StoredServer, RoleForm]:
    shown = _stored_form(known, role, row)
    before = row.opened(known.secrets_key) if row else None
    url, key = (before.url, before.key) if before else (None, None)
    use, model, problem = _use(visit, role), visit.field(f"{role}_model").strip(), ""
    if not shown.url_set_by:
        url, key, problem = _typed_place(visit, known, role, use, before)
    if shown.model_set_by:
        use, model = shown.use, before.model if before else ""
    elif use is ServerUse.OFF:
        model = OFF
    elif len(model) > MODEL_CHARS or not model.isprintable():
        problem = problem or length_problem(MODEL_CHARS)
    server = StoredServer(role=role, url=url, key=key, model=model)
    carried = ""
    if key is not None and known.secrets_key is not None:
        carried = base64.b64encode(sealed_key(server, known.secrets_key) or b"").decode()
    return server, RoleForm(
        role=role,
        use=use,
        url=shown.url if shown.url_set_by else visit.field(f"{role}_url").strip(),
        model="" if model == OFF else model,
        url_set_by=shown.url_set_by,
        model_set_by=shown.model_set_by,
        has_key=shown.has_key if shown.url_set_by else key is not None,
        carried_key="" if shown.url_set_by else carried,
        problem=problem,
    )


def _use(visit: Visit, role: ModelRole) -> ServerUse:
    if role is ModelRole.MODEL:
        return ServerUse.OWN
    given = visit.field(f"{role}_use")
    return ServerUse(given) if given in list(ServerUse) else ServerUse.SAME


def _typed_place(
    visit: Visit, known: ModelServerSettings, role: ModelRole, use: ServerUse, before: StoredServer | None
) -> tuple[str | None, SecretStr | None, str]:
    """Address, key, and what is wrong; an address without a key keeps the key that was entered for it."""
    match use:
        case ServerUse.SAME | ServerUse.OFF:
            return None, None, ""
        case ServerUse.OWN:
            url, given = visit.field(f"{role}_url").strip().rstrip("/"), visit.field(f"{role}_key").strip()
        case _:
            assert_never(use)
    if problem := address_problem(url):
        return url or None, None, problem
    if problem := _key_problem(given, can_keep=known.secrets_key is not None):
        return url, None, problem
    if given:
        return url, SecretStr(given), ""
    carried = _carried(visit.field(f"{role}_carried"), known, role, url)
    kept = before.key if before is not None and before.url == url else None
    return url, carried or kept, ""


def _key_problem(key: str, *, can_keep: bool) -> str:
    if len(key) > KEY_CHARS:
        return length_problem(KEY_CHARS)
    if not key.isascii() or not key.isprintable():
        return _("A key holds plain letters, digits and signs only. Copy the key again.")
    if key and not can_keep:
        return _("This server cannot store a key: it needs HUSHGATE_SECRETS_KEY, and so do the workers.")
    return ""


def _carried(sealed: str, known: ModelServerSettings, role: ModelRole, url: str) -> SecretStr | None:
    try:
        found = base64.b64decode(sealed, validate=True)
    except (binascii.Error, ValueError):
        return None
    return opened_key(found, role, url, known.secrets_key)


def address_problem(url: str) -> str:
    """Why an address is refused; empty: it is not."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or len(url) > URL_CHARS or not url.isprintable() or " " in url:
        return _("Write an address such as https://api.openai.com/v1.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        return _("Write the address alone: the key has its own field.")
    return ""
