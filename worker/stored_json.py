"""Dataclasses as stored JSON: one declaration, the fields' types, both writes and reads.

Reading is total, as one table holds rows of several releases: a missing key has the field's default, an
unknown key is ignored, a value of a wrong type becomes a placeholder and its path is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import cache, partial
from types import NoneType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

UNREADABLE: Final = "(unreadable)"
"""Placeholder of a text; a number's is 0, a collection's is empty, an optional value's is None."""
STORED_AS: Final = "stored_as"
"""Metadata key: the field's name in the JSON where that differs; None for a field that is not stored."""

Reader: TypeAlias = Callable[[object, str, list[str]], Any]
"""Takes the stored value, its path and the paths noted so far."""
Writer: TypeAlias = Callable[[Any], Any]
Value = TypeVar("Value")


class StoredField(NamedTuple):
    """How one field is written and read; ``write`` is None where a value needs no conversion."""

    name: str
    key: str
    write: Writer | None
    read: Reader
    default: Callable[[], Any] | None


@cache
def object_writer(kind: type) -> Writer:
    """Writes any value that has the class's attributes; ``asdict`` would copy every detail deeply."""
    pairs = [(field.key, field.name) for field in stored_fields(kind)]
    converted = [(field.key, field.write) for field in stored_fields(kind) if field.write is not None]

    def write(value: object) -> dict[str, Any]:
        written = {key: getattr(value, name) for key, name in pairs}
        for key, convert in converted:
            if (found := written[key]) is not None:
                written[key] = convert(found)
        return written

    return write


def read_object(kind: type[Value], stored: object, path: str, unreadable: list[str]) -> Value:
    """The dataclass of a stored JSON object; ``unreadable`` collects the paths of unreadable values."""
    if not isinstance(stored, dict):
        unreadable.append(path)
        stored, unreadable = {}, []
    values = {}
    for name, key, _, read, default in stored_fields(cast("Hashable", kind)):
        if key not in stored and default is not None:
            values[name] = default()
        else:
            values[name] = read(stored.get(key), f"{path}.{key}" if path else key, unreadable)
    return kind(**values)


@cache
def stored_fields(kind: type[Any]) -> tuple[StoredField, ...]:
    """The stored fields of a dataclass, in order."""
    types, found = get_type_hints(kind), []
    for field in fields(kind):
        if (key := field.metadata.get(STORED_AS, field.name)) is not None:
            annotation = types[field.name]
            found.append(
                StoredField(field.name, key, _writer(annotation), _reader(annotation), _default(field))
            )
    return tuple(found)


def _default(field: Field[Any]) -> Callable[[], Any] | None:
    if field.default_factory is not MISSING:
        return field.default_factory
    return None if field.default is MISSING else partial(_same, field.default)


def _same(value: Value) -> Value:
    return value


def _optional(annotation: Any) -> Any:  # types of types have no better name
    """``X`` of ``X | None``; None for every other type."""
    arguments = get_args(annotation)
    kinds = [each for each in arguments if each is not NoneType]
    return kinds[0] if len(kinds) == 1 and len(arguments) == 2 and NoneType in arguments else None


def _writer(annotation: Any) -> Writer | None:
    origin = get_origin(annotation)
    if (inner := _optional(annotation)) is not None:
        return _writer(inner)
    if isinstance(annotation, type) and is_dataclass(annotation):
        return object_writer(annotation)
    if annotation is datetime or annotation is date:
        return date.isoformat if annotation is date else datetime.isoformat
    if origin is Mapping and (value := _writer(get_args(annotation)[1])) is not None:
        return lambda values: {key: value(each) for key, each in values.items()}
    if origin is tuple:
        item = _writer(get_args(annotation)[0])
        return list if item is None else lambda values: [item(each) for each in values]
    return sorted if origin is frozenset else None


def _reader(annotation: Any) -> Reader:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if (inner := _optional(annotation)) is not None:
        return partial(_read_optional, _reader(inner))
    if isinstance(annotation, type) and is_dataclass(annotation):
        return partial(read_object, annotation)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return partial(_read_member, annotation)
    return _PLAIN.get(annotation, _read_any) if origin is None else _collection_reader(origin, arguments)


def _collection_reader(origin: Any, arguments: tuple[Any, ...]) -> Reader:
    if origin is Mapping:
        return partial(_read_mapping, _reader(arguments[1]))
    if origin is frozenset:
        return partial(_read_set, _reader(arguments[0]))
    if origin is not tuple:
        return _read_any
    if arguments[-1] is Ellipsis:
        return partial(_read_list, _reader(arguments[0]))
    return partial(_read_pair, tuple(_reader(each) for each in arguments))


def _read_text(stored: object, path: str, unreadable: list[str]) -> str:
    if isinstance(stored, str):
        return stored
    unreadable.append(path)
    return UNREADABLE


def _read_number(stored: object, path: str, unreadable: list[str]) -> float:
    if isinstance(stored, int | float) and not isinstance(stored, bool) and abs(stored) < 1e300:
        return float(stored)
    unreadable.append(path)
    return 0.0


def _read_integer(stored: object, path: str, unreadable: list[str]) -> int:
    if isinstance(stored, int) and not isinstance(stored, bool):
        return stored
    unreadable.append(path)
    return 0


def _read_flag(stored: object, path: str, unreadable: list[str]) -> bool:
    if isinstance(stored, bool):
        return stored
    unreadable.append(path)
    return False


def _read_moment(stored: object, path: str, unreadable: list[str]) -> datetime | None:
    try:
        moment = datetime.fromisoformat(stored) if isinstance(stored, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        unreadable.append(path)
        return None
    return moment


def _read_day(stored: object, path: str, unreadable: list[str]) -> date | None:
    try:
        return date.fromisoformat(str(stored))
    except ValueError:
        unreadable.append(path)
        return None


def _read_member(members: type[StrEnum], stored: object, path: str, unreadable: list[str]) -> StrEnum:
    """A member of a closed set; the first member replaces an unreadable value."""
    if isinstance(stored, str) and stored in members.__members__.values():
        return members(stored)
    unreadable.append(path)
    return next(iter(members))


def _read_any(stored: object, _: str, __: list[str]) -> object:
    return stored


def _read_optional(read: Reader, stored: object, path: str, unreadable: list[str]) -> object:
    if stored is None:
        return None
    value = read(stored, path, unreadable)
    return None if path in unreadable else value


def _read_list(read: Reader, stored: object, path: str, unreadable: list[str]) -> tuple[Any, ...]:
    if isinstance(stored, list):
        return tuple(read(each, f"{path}[{place}]", unreadable) for place, each in enumerate(stored))
    unreadable.append(path)
    return ()


def _read_set(read: Reader, stored: object, path: str, unreadable: list[str]) -> frozenset[Any]:
    return frozenset(_read_list(read, stored, path, unreadable))


def _read_pair(
    readers: tuple[Reader, ...], stored: object, path: str, unreadable: list[str]
) -> tuple[Any, ...]:
    """A tuple of fixed length: one wrong part makes all of it unreadable."""
    given = stored if isinstance(stored, list) and len(stored) == len(readers) else [None] * len(readers)
    noted: list[str] = [] if given is stored else [path]
    values = tuple(read(each, path, noted) for read, each in zip(readers, given, strict=True))
    unreadable.extend(noted[:1])
    return values


def _read_mapping(read: Reader, stored: object, path: str, unreadable: list[str]) -> dict[str, Any]:
    if isinstance(stored, dict):
        return {key: read(value, f"{path}.{key}", unreadable) for key, value in stored.items()}
    unreadable.append(path)
    return {}


_PLAIN: Final[Mapping[Any, Reader]] = {
    str: _read_text,
    float: _read_number,
    int: _read_integer,
    bool: _read_flag,
    datetime: _read_moment,
    date: _read_day,
}
