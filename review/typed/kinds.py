"""The types of typed values in queries: Pydantic reads them, and describes them in the OpenAPI document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BeforeValidator, Field
from pydantic_core import core_schema

from worker.payload import ID_BYTES

YEARS_WITH_LEAP_DAY: Final = r"(?:19(?:7[26]|8[048]|9[26])|2[048]00|2[0-9](?:0[48]|[2468][048]|[13579][26]))"
DAY: Final = (
    r"(?:(?:197[1-9]|19[89][0-9]|2[0-9]{3})-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    rf"|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)|{YEARS_WITH_LEAP_DAY}-02-29)"
)
CLOCK: Final = r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
ZONE: Final = r"(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])"
TIME: Final = f"{DAY}(?:{CLOCK}{ZONE}?)?"
AGE: Final = "[0-9]{1,6}[sm]|[0-9]{1,5}h|[0-9]{1,4}d|[0-9]{1,3}w"


def text_like(pattern: str, expected: str) -> Any:
    """The type of texts of a pattern; ``expected`` is what messages and descriptions say of them."""
    return Annotated[str, Field(pattern=f"^(?:{pattern})$", description=expected)]


STORABLE: Final = r"^[^\x00]*$"
FILLED: Final = r"^[^\x00]*[^\s\x00-\x1f\x7f-\x9f][^\x00]*$"
ONE_LINE: Final = FILLED.replace(r"\x00]", r"\x00\r\n]")
EXPECTED: Final = {
    STORABLE: "text without U+0000",
    FILLED: "text that is not blank, without U+0000",
    ONE_LINE: "one line of text",
}
"""What a message says of a pattern of a body's field."""
QueryText: TypeAlias = Annotated[
    str,
    Field(
        max_length=ID_BYTES,
        pattern=STORABLE,
        description=f"text without U+0000, at most {ID_BYTES} characters",
    ),
]
LoginText: TypeAlias = Annotated[
    str,
    Field(max_length=200, pattern=STORABLE, description="text without U+0000, at most 200 characters"),
]
Storable: TypeAlias = Annotated[str, Field(pattern=STORABLE)]
"""Text of a body: what Postgres can store."""
Line: TypeAlias = Annotated[str, Field(pattern=ONE_LINE)]
Filled: TypeAlias = Annotated[str, Field(pattern=FILLED)]
Limit: TypeAlias = Annotated[int, Field(ge=1, le=500)]
Number: TypeAlias = Annotated[int, Field(ge=0, le=999_999_999)]
ShareValue: TypeAlias = Annotated[float, Field(ge=0, le=1)]
TIME_OR_DAY: Final = text_like(TIME, "a time such as 2026-11-21T10:00Z or a day, UTC without an offset")
MOMENT: Final = text_like(f"{TIME}|{AGE}", "a time such as 2026-11-21T10:00, or an age such as 36h")
SINCE: Final = text_like(f"{TIME}|{AGE}|all", "a time such as 2026-11-21T10:00, an age such as 36h, or all")
DECISIONS_CURSOR: Final = text_like("[A-Za-z0-9_-]{40}", "a cursor of an earlier page")
LOG_CURSOR: Final = text_like(f"{DAY}{CLOCK}{ZONE}~[0-9]{{1,18}}", "a cursor of an earlier page")
UUID_TEXT: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
WAITING_CURSOR: Final = text_like(f"{DAY}{CLOCK}{ZONE}~{UUID_TEXT}", "a cursor of an earlier page")


@dataclass(frozen=True, slots=True)
class OneOf:
    """Metadata of ``Annotated[str, ...]``: one of these texts and no other."""

    known: tuple[str, ...]

    def __get_pydantic_core_schema__(self, _: Any, __: Any) -> core_schema.CoreSchema:
        """A literal of the texts."""
        return core_schema.literal_schema([str(each) for each in self.known])


def one_of(*known: str) -> Any:
    """The type of one of these texts, which people may write in any case."""
    written = {each.lower(): each for each in known}
    return Annotated[str, OneOf(known), BeforeValidator(lambda text: written.get(text.lower(), text))]
