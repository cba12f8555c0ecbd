"""The form fields of a confidence policy: one for each option of its design; an empty one has the default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from review.accounts.typed_parts import (
    ReportProblem,
    Texts,
    number_of,
    number_text,
    parts_below,
    row_pairs,
    row_texts,
    share_of,
)
from review.typed.numbers import share_text
from review.typed.problems import lines_problem
from worker.assessment.policies.delivery import Delivery
from worker.assessment.policies.designs import DEFAULT_DESIGN, DESIGNS, default_name
from worker.assessment.policies.option_help import CHOICES, OPTION_HELP

NAME: Final = "name"
KEPT: Final = "version"
"""An option without a field: the version of a policy's defaults."""
BELOW: Final = " > "
"""Between the keys of a mapping in a mapping, in the key of a row."""
EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})
PUBLISHED: Final = {
    published: own for design in DESIGNS.values() for published, own in design.published_names.items()
}
"""Published name of an option -> our name."""
SHARES: Final = frozenset(each.main_threshold for each in DESIGNS.values())
"""Options in percent, in every design that has them: their texts stay when another design is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOption:
    """One option of a design.

    Attributes:
        path: such as ``guardrail.high_threshold``.
        shape: switch, number, share, choice, text, lines, rows or group, which is followed by its options.
        help: what it does, a page text.
        default: what counts while its field is empty; empty for long texts.
        choices: value -> meaning, a page text.
        of: the type of its value; of a group, the class of its options.
    """

    path: str
    shape: str
    help: str
    default: str
    choices: Mapping[str, str]
    of: Any

    @property
    def name(self) -> str:
        """The name of the option in the policy."""
        return self.path.rpartition(".")[2]


@cache
def options_of(design: str) -> tuple[PolicyOption, ...]:
    """The options of a design and of its delivery, group by group; empty for an unknown design."""
    if design not in DESIGNS:
        return ()
    declared = DESIGNS[design]
    left_out = (KEPT, *declared.set_in_code)
    own = (*_options(declared.settings, ""), *_options(Delivery, ""))
    return tuple(each for each in own if each.path not in left_out)


def main_options(design: str) -> tuple[PolicyOption, ...]:
    """The options of the first level: the main threshold, and what happens below it."""
    shown = (DESIGNS[design].main_threshold, "low_action") if design in DESIGNS else ()
    return tuple(each for each in options_of(design) if each.path in shown)


def policy_texts(stored: Mapping[str, Any]) -> dict[str, str]:
    """The design and the texts of all its options."""
    design = default_name(stored)
    values = {own: value for own, (_key, value) in _stored(stored, design).items()}
    return {NAME: design} | _texts(options_of(design), values)


def policy_value(typed: Texts, before: Mapping[str, Any], report: ReportProblem) -> dict[str, Any]:
    """The policy that the texts describe; an option with an unchanged text is stored as before."""
    design = typed[NAME]
    stored = _stored(before, design)
    old = policy_texts(before)
    # the default needs no name: storing the form unchanged adds no version
    found: dict[str, Any] = {} if design == DEFAULT_DESIGN and NAME not in before else {NAME: design}
    if design == default_name(before) and KEPT in before:
        found[KEPT] = before[KEPT]
    for option in options_of(design):
        if "." in option.path:
            continue
        if option.path in stored and parts_below(typed, option.path) == parts_below(old, option.path):
            key, value = stored[option.path]
            found[key] = value
        elif (made := _value(option, typed, report)) is not None:
            found[option.path] = made
    return found


def _stored(policy: Mapping[str, Any], design: str) -> dict[str, tuple[str, Any]]:
    """Our name of each stored option -> the stored name, which may be the published one, and the value."""
    published = DESIGNS[design].published_names if design in DESIGNS else EMPTY
    known = {each.path for each in options_of(design)}
    own = {published.get(key, key): (key, value) for key, value in policy.items()}
    return {name: each for name, each in own.items() if name in known}


def _options(of: type[Any], above: str) -> Iterator[PolicyOption]:
    hints = get_type_hints(of)
    for each in fields(of):
        if each.name not in OPTION_HELP:
            continue
        default = each.default if isinstance(each.default, bool | int | float | str) else None
        shape, inner = _shape(hints[each.name])
        path = f"{above}{each.name}"
        yield PolicyOption(
            path=path,
            shape="share" if path in SHARES else shape,
            help=OPTION_HELP[each.name],
            default=_default_text(default, is_share=path in SHARES),
            choices=CHOICES.get(each.name, EMPTY),
            of=inner,
        )
        if shape == "group":
            yield from _options(inner, f"{path}.")


def _default_text(default: object, *, is_share: bool) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, int | float):
        return share_text(default) if is_share else number_text(default)
    return default if isinstance(default, str) else ""


def _shape(hint: Any) -> tuple[str, Any]:
    """The shape of a type, and the type without ``None``."""
    if isinstance(hint, UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is not None:
        return ("lines" if get_origin(hint) is tuple else "rows"), hint
    if is_dataclass(hint):
        return "group", hint
    if issubclass(hint, StrEnum):
        return "choice", hint
    return {bool: "switch", int: "number", float: "number", str: "text"}[hint], hint


def _texts(options: tuple[PolicyOption, ...], values: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in options:
        above, _sign, name = each.path.rpartition(".")
        inner = (values.get(above) or EMPTY) if above else EMPTY
        holder = {PUBLISHED.get(key, key): value for key, value in inner.items()} if above else values
        found |= {f"{each.path}{part}": text for part, text in _option_texts(each, holder.get(name)).items()}
    return found


def _option_texts(option: PolicyOption, value: Any) -> dict[str, str]:
    """Part -> text of a stored value; None for an option that is not set."""
    if option.shape == "rows":
        return {f".{part}": text for part, text in row_texts(_flat(value or {})).items()}
    return {"": "" if value is None else TEXT_OF.get(option.shape, str)(value)}


def _flat(values: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """Key -> text of a mapping; the keys of an inner mapping follow the outer key."""
    found: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{above}{key}{BELOW}")
        else:
            found[f"{above}{key}"] = (
                value
                if isinstance(value, str)
                else "\n".join(value)
                if isinstance(value, list)
                else number_text(value)
            )
    return found


def _value(option: PolicyOption, typed: Texts, report: ReportProblem) -> Any:
    """The value of an option's texts; None for empty texts."""
    text, shape = typed.get(option.path, ""), option.shape
    if shape == "rows":
        return _rows(option, typed, report)
    if not text.strip():
        return None
    if shape in NUMBERS:
        return NUMBERS[shape](text, option.path, report)
    if shape == "group":
        inner = (each for each in _options(option.of, f"{option.path}.") if each.path.count(".") == 1)
        made = {each.name: _value(each, typed, report) for each in inner}
        return {name: value for name, value in made.items() if value is not None}
    if shape == "lines":
        return _filled_lines(text)
    return text == "yes" if shape == "switch" else text


def _filled_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _rows(option: PolicyOption, typed: Texts, report: ReportProblem) -> dict[str, Any] | None:
    def place(part: str, problem: str) -> None:
        report(f"{option.path}.{part}", problem)

    pairs = row_pairs(parts_below(typed, option.path), place)
    inner = get_args(option.of)[1]
    if get_origin(inner) is tuple:
        return {key: _filled_lines(text) for key, text in pairs.items()} or None
    if get_origin(inner) is None:
        return pairs or None
    found: dict[str, dict[str, Any]] = {}
    numbers = get_args(inner)[1] is float
    for key, text in pairs.items():
        outer, _sign, rest = (each.strip() for each in key.rpartition(BELOW.strip()))
        if not outer:
            report(option.path, lines_problem(f"vip{BELOW}UNCERTAINTY", key))
        found.setdefault(outer, {})[rest] = number_of(text, option.path, report) if numbers else text
    return found or None


TEXT_OF: Final[Mapping[str, Callable[[Any], str]]] = {
    "group": lambda _value: "yes",
    "switch": lambda value: "yes" if value else "no",
    "number": number_text,
    "share": share_text,
    "lines": "\n".join,
}
"""By shape, the text of a value with one field; others are texts."""
NUMBERS: Final[Mapping[str, Callable[[str, str, ReportProblem], float]]] = {
    "number": number_of,
    "share": share_of,
}
