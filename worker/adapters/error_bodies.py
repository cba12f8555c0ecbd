"""Error bodies in the forms that servers give them: objects, texts, lists, and errors in a success."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from worker.adapters.api_errors import ApiStatusError

MESSAGE_KEYS: Final = (
    "message", "msg", "detail", "error_msg", "error_message", "errormessage", "status_msg", "error", "errors",
    "response", "header", "description", "actionreason",
)  # fmt: skip
CODE_KEYS: Final = ("code", "error_code", "errorcode", "status_code", "status")
WORD_KEYS: Final = frozenset({"type", "reason", "param", "raw", *MESSAGE_KEYS, *CODE_KEYS})
MOST_CHARS: Final = 2000
RAW_CHARS: Final = 200


def parsed_body(content: bytes) -> Any:
    """The JSON value of a body, the first of a list; else its text."""
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        return content.decode(errors="replace").strip()
    return body[0] if isinstance(body, list) and body else body


def inner_error(body: Any) -> Any:
    """The error object or text inside a body; the body itself where it has no such member."""
    if not isinstance(body, Mapping):
        return body
    error = body.get("error")
    return error if isinstance(error, Mapping | list | str) and error else body


def error_fields(body: Any) -> Any:
    """The error inside a body with the fields beside it, such as a wait; the body itself without fields."""
    inner = inner_error(body)
    if inner is body or not isinstance(inner, Mapping):
        return body
    return {**{name: value for name, value in body.items() if name != "error"}, **inner}


def message_of(error: Any) -> str:
    """The server's message in an error, or an empty text; with the error of a provider behind the server."""
    if isinstance(error, str):
        return error if error.strip() and "<" not in error[:1] else ""
    if not isinstance(error, Mapping):
        return _text(error)
    said = _text(error)
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f"{said}: {raw[:RAW_CHARS]}" if isinstance(raw, str) and raw else said


def error_in_success(document: Any, holding: str) -> Any:
    """The error in an answer with status 200, as an object with ``message`` and ``code``; else None."""
    if isinstance(document, list) and document:
        document = document[0]
    if not isinstance(document, Mapping):
        return None
    found, said = document.get(holding), document.get("base_resp")
    if (error := inner_error(document)) is not document and not (found and _is_blank(error)):
        return error
    if isinstance(found, list) and found:
        return (found[0].get("error") or None) if isinstance(found[0], Mapping) else None
    if isinstance(said, Mapping) and said.get("status_code"):
        return {"message": said.get("status_msg"), "code": said["status_code"]}
    return document if (found is None or found == []) and message_of(document) else None


def _is_blank(error: Any) -> bool:
    """Whether an error has neither words nor a code: some gateways have an empty one in each answer."""
    return not message_of(error) and not code_of(error)


def code_of(error: Any) -> Any:
    """The code in an error, at any depth; None without one."""
    if not isinstance(error, Mapping):
        return next((code_of(each) for each in error[:1]), None) if isinstance(error, list) else None
    plain = {str(key).lower(): value for key, value in error.items()}
    found = next((plain[key] for key in CODE_KEYS if isinstance(plain.get(key), str | int)), None)
    nested = (code_of(plain[key]) for key in MESSAGE_KEYS if isinstance(plain.get(key), Mapping | list))
    return found if found is not None else next(nested, None)


def error_words(error: ApiStatusError) -> str:
    """The message, codes and reasons of an error, one a line, for the search of known words."""
    found = [error.message, *_words(error.body, 0)]
    return "\n".join(found)[:MOST_CHARS]


def _words(value: object, depth: int) -> Iterator[str]:
    if depth > 5:  # deeper than any known body
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(each, str | int) and str(key).lower() in WORD_KEYS:
                yield str(each)
            elif isinstance(each, Mapping | list):
                yield from _words(each, depth + 1)
    elif isinstance(value, list):
        for each in value[:20]:
            yield from _words(each, depth + 1)
    elif isinstance(value, str) and not depth:
        yield value


def _text(value: object) -> str:
    """A text, the message of a nested error, or the problems of a validation error without their inputs."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        plain = {str(key).lower(): each for key, each in value.items()}
        return next((text for key in MESSAGE_KEYS if (text := _text(plain.get(key)))), "")
    if isinstance(value, list):
        return "; ".join(filter(None, map(_problem, value[:5])))
    return ""


def _problem(value: object) -> str:
    if not isinstance(value, Mapping) or not isinstance(value.get("msg"), str):
        return _text(value) if isinstance(value, Mapping) else ""
    place = value.get("loc")
    return f"{'.'.join(map(str, place))}: {value['msg']}" if isinstance(place, list) else str(value["msg"])
