"""What the contracts share: routes, whose account decides, the checks of a request, and their verdicts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from db.people.api_tokens import TokenScope
from gateway.check_intake import BODY_BYTES, MOST_CHECKS
from review.access import Right
from review.api.body import field_problems
from review.http.field_problems import FieldProblem
from review.http.page_routes import PageHandler, PageRoute
from review.http.parameters import Parameter
from review.http.visit import Refused, Visit
from worker.model import CheckOutcome, CheckVerdict, MessageRole
from worker.payload.check_schema import MOST_LINES, CheckRequest
from worker.payload.schema import TEXT_CHARS

ACCOUNT: Final = Parameter(
    name="account", text="The account whose rules decide; by default the only one of the token's owner"
)
KEY: Final = "Idempotency-Key"
LINES: Final = {"user": MessageRole.USER, "assistant": MessageRole.ASSISTANT}
"""Roles of earlier lines that a check knows; instructions and results of tools are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A line of a conversation."""

    role: str
    text: str


def contract_route(path: str, name: str, handler: PageHandler, **described: Any) -> PageRoute:
    """The line of the route table of a contract."""
    return PageRoute(
        path=path,
        name=f"contract_{name}",
        handler=handler,
        right=Right.PUBLISH,
        methods=("POST",),
        api=True,
        token_scope=TokenScope.CHECK,
        body_bytes=BODY_BYTES,
        **{"query": (ACCOUNT,), **described},
    )


def account_of(visit: Visit, given: str | None = None) -> str:
    """The account of a request: given in its body, else in the query, else the only one of the owner.

    Raises:
        Refused: 422, none of these; 403, the owner may not publish for it.
    """
    accounts = visit.accounts(Right.PUBLISH)
    if account := given or visit.query["account"]:
        if not visit.may(Right.PUBLISH, account):
            raise refused(403, "account", "one for which the token's owner may publish", account)
        return account
    if accounts is not None and len(accounts) == 1:
        return accounts[0]
    expected = "an account, as the token's owner publishes for several"
    raise refused(422, "account", expected, "nothing")


def refused(status: int, field: str, expected: str, got: str) -> Refused:
    """The refusal for one field."""
    problem = FieldProblem(field=field, expected=expected, got=got)
    return Refused(status, "A field cannot be used", f"Nothing was checked. {problem}.", problems=(problem,))


def new_check(field: str, **values: Any) -> CheckRequest:
    """A check whose text came in a field of another contract.

    Raises:
        Refused: 422, the check cannot be made.
    """
    try:
        return CheckRequest.model_validate(values)
    except ValidationError as error:
        found = field_problems(error)[0]
        named = {"message": field, "draft": field, "user_id": "account"}.get(found.field, found.field)
        raise refused(422, named, found.expected, found.got) from error


def checks_of_texts(
    visit: Visit,
    contract: str,
    texts: Sequence[str],
    *,
    user_id: str,
    field: str,
    kind: str = "draft",
    call: str | None = None,
) -> list[CheckRequest]:
    """One check of each text that is not empty, as a draft or a message; ``{}`` in ``field`` is its number.

    Raises:
        Refused: 413, there are too many; 422, one cannot be checked.
    """
    if len(texts) > MOST_CHECKS:
        raise refused(413, field.partition(".{}")[0], f"at most {MOST_CHECKS} texts", str(len(texts)))
    return [
        new_check(
            field.format(number),
            id=check_id(visit, contract, kind, str(number), text, call=call),
            user_id=user_id,
            **{kind: text},
        )
        for number, text in enumerate(texts)
        if text
    ]


def checks_of_prompt(
    visit: Visit, contract: str, lines: Sequence[Said], *, user_id: str, field: str, call: str | None = None
) -> list[CheckRequest]:
    """The check of what the customer wrote since the last answer; none where there is no text.

    Raises:
        Refused: 422, it cannot be checked.
    """
    known = conversation(lines)
    if not known["message"]:
        return []
    said = (part for line in lines for part in (line.role, line.text))
    named = check_id(visit, contract, "prompt", *said, call=call)
    return [new_check(field, id=named, user_id=user_id, **known)]


def conversation(lines: Sequence[Said]) -> Mapping[str, Any]:
    """The customer's lines since the last answer, joined, and what was said before, as fields of a check."""
    said = [line for line in lines if line.role in LINES and line.text]
    while said and said[-1].role != "user":
        said.pop()
    if not said:
        return {"message": "\n".join(line.text for line in lines if line.text)}
    first = len(said)
    while first and said[first - 1].role == "user":
        first -= 1
    before = [{"role": LINES[line.role], "text": line.text[:TEXT_CHARS]} for line in said[:first]]
    return {"message": "\n".join(line.text for line in said[first:]), "history": before[-MOST_LINES:]}


def check_id(visit: Visit, contract: str, *content: str, call: str | None = None) -> str | None:
    """The id by which a repeated request is recognised; None without a key of the program.

    ``content`` is part of the id: a stream is checked several times in one call.
    """
    key = call or visit.request.headers.get(KEY)
    if not key:
        return None
    digest = hashlib.sha256("\0".join((key, *content)).encode("utf-8", "replace")).hexdigest()
    return f"{contract}:{digest}"


def code(verdict: CheckVerdict) -> str:
    """What the program's user may read of a verdict: reason code and decision, no words of rules."""
    return f"Hushgate: {verdict.reason_code} ({verdict.decision_id})"


def stopped(verdicts: Sequence[CheckVerdict]) -> CheckVerdict | None:
    """The first verdict after which nothing may go on."""
    going_on = {CheckOutcome.ALLOW, CheckOutcome.REWRITE}
    return next((each for each in verdicts if each.verdict not in going_on), None)


def sendable(texts: Sequence[str], verdicts: Sequence[CheckVerdict]) -> tuple[str, ...]:
    """The texts as they may be sent, after the verdicts on those that are not empty."""
    remaining = iter(verdicts)
    return tuple((next(remaining).text or text) if text else "" for text in texts)
