"""Reads and writes rule lists: CSV, JSON, plain lists, Reddit AutoModerator, Discord."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import yaml

from worker.errors import RuleRejected
from worker.rules.dialects import KINDS, require_list, require_text, rule_table
from worker.rules.model import Switch
from worker.rules.syntax import FUZZY_SIGN
from worker.spreadsheet import harmless, original


class RuleListFormat(StrEnum):
    """A file format of a rule list."""

    LIST = "list"
    CSV = "csv"
    JSON = "json"
    AUTOMODERATOR = "automoderator"
    DISCORD = "discord"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleList:
    """The stored rules of one account.

    Attributes:
        skipped: entries that were not imported, each with its reason.
    """

    keywords: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


SIGNED = "~ at the start means a fuzzy rule here: write /~word/ for the sign itself"
"""Why another tool's rule with this sign is not imported."""

SYNTAXES: Mapping[str, Switch | None] = {
    **dict.fromkeys(("plain", "wildcard", "includes-word", "whole_word", "regex")),
    **dict.fromkeys(("includes", "substring"), Switch.SUBSTRING),
    "starts-with": Switch.STARTS,
    "ends-with": Switch.ENDS,
    "full-exact": Switch.FULL_EXACT,
    "full-text": Switch.FULL,
}
"""The matching mode in other tools -> the switch with the same meaning here."""


def rule_from_syntax(rule: str, syntax: str) -> str:
    """The rule in Hushgate's syntax that means what ``rule`` means in this one of ``SYNTAXES``."""
    if syntax == "regex":
        return f"/{rule}/"
    switch = SYNTAXES[syntax]
    return rule if switch is None else f"{rule} {{{switch}}}"


def read_rules(text: str, fmt: RuleListFormat) -> RuleList:
    """The rules in a file.

    Raises:
        RuleRejected: the file is not of that format; the message says where.
    """
    match fmt:
        case RuleListFormat.LIST:
            lines = require_list(text).splitlines()
            return _rules_by_kind(line for line in lines if not line.startswith("#"))
        case RuleListFormat.DISCORD:
            text = require_text(text)
            return _foreign_rules(part.strip() for line in text.splitlines() for part in line.split(","))
        case RuleListFormat.CSV:
            return _from_csv(text)
        case RuleListFormat.JSON:
            return _from_json(text)
        case RuleListFormat.AUTOMODERATOR:
            return _from_automoderator(text)


def plain_rules(rules: RuleList) -> list[str]:
    """The rules that Discord can express: words, phrases and wildcards."""
    every = (*rules.keywords, *rules.phrases)
    return [rule for rule in every if "{" not in rule and not rule.startswith(("/", FUZZY_SIGN))]


def write_rules(rules: RuleList, fmt: RuleListFormat) -> str:
    """The rules as a file of that format; Discord's leaves out rules that it cannot express."""
    match fmt:
        case RuleListFormat.LIST:
            allowed = (f"{rule} {{{Switch.ALLOW}}}" for rule in rules.allow)
            return "".join(f"{rule}\n" for rule in (*rules.keywords, *rules.phrases, *allowed))
        case RuleListFormat.DISCORD:
            return ", ".join(plain_rules(rules)) + "\n"
        case RuleListFormat.CSV:
            return _to_csv(rules)
        case RuleListFormat.JSON:
            lists = {"keywords": rules.keywords, "phrases": rules.phrases, "allow": rules.allow}
            return json.dumps(lists, ensure_ascii=False, indent=2) + "\n"
        case RuleListFormat.AUTOMODERATOR:
            return _to_automoderator(rules)


def _stripped(rules: Iterable[str]) -> Iterator[str]:
    """The rules without the white space around them, which means nothing, and without empty ones."""
    return filter(None, map(str.strip, rules))


def _rules_by_kind(rules: Iterable[str], skipped: Iterable[str] = ()) -> RuleList:
    """The rules by kind: with a space inside a phrase, with the allow switch an allowed text."""
    keywords, phrases, allow = [], [], []
    suffix = f"{{{Switch.ALLOW}}}"
    for rule in dict.fromkeys(_stripped(rules)):
        if rule.endswith(suffix) and rule != suffix:
            allow.append(rule.removesuffix(suffix).strip())
        elif " " in rule.split("{")[0].strip():
            phrases.append(rule)
        else:
            keywords.append(rule)
    return RuleList(
        keywords=tuple(keywords), phrases=tuple(phrases), allow=tuple(allow), skipped=tuple(skipped)
    )


def _foreign_rules(rules: Iterable[str], skipped: Iterable[str] = ()) -> RuleList:
    """The rules of another tool by kind, without those whose first sign means a fuzzy rule here."""
    every = list(rules)
    signed = [f"{rule}: {SIGNED}" for rule in every if rule.startswith(FUZZY_SIGN)]
    return _rules_by_kind((rule for rule in every if not rule.startswith(FUZZY_SIGN)), [*skipped, *signed])


def _from_csv(text: str) -> RuleList:
    """Columns ``kind`` (keyword, phrase, allow) and ``rule``; a single column is a list of rules.

    Under our own header a cell is read as ``_to_csv`` wrote it: without the apostrophe before a formula.
    """
    table = rule_table(text)
    rows = [[original(cell) if table.is_ours else cell for cell in row] for row in table.rows]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    if not table.has_kinds:
        return _rules_by_kind(row[0] for row in cells if row)
    lists: dict[str, list[str]] = {"keyword": [], "phrase": [], "allow": []}
    skipped = []
    for number, row in enumerate(cells, 1):
        kind = KINDS.get(row[0].lower()) if row else None
        if kind is not None and len(row) == 2:
            lists[kind].append(row[1])
        elif row:
            skipped.append(
                f"row {number}: expected keyword, phrase or allow and a rule, got {', '.join(row)[:60]!r}"
            )
    if skipped and not any(lists.values()):
        raise RuleRejected("*", f"CSV: no row has a kind and a rule; {skipped[0]}")
    return RuleList(
        keywords=tuple(lists["keyword"]),
        phrases=tuple(lists["phrase"]),
        allow=tuple(lists["allow"]),
        skipped=tuple(skipped),
    )


def _to_csv(rules: RuleList) -> str:
    out = io.StringIO()
    lists = {"keyword": rules.keywords, "phrase": rules.phrases, "allow": rules.allow}
    rows = [(kind, harmless(rule)) for kind, entries in lists.items() for rule in entries]
    has_return = any("\r" in rule for _, rule in rows)  # readers end a row at it; Python quotes "\n" only
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL if has_return else csv.QUOTE_MINIMAL)
    writer.writerows([("kind", "rule"), *rows])
    return out.getvalue()


JSON_KEYS: Final = frozenset(
    {"keywords", "flagged_keywords", "phrases", "flagged_phrases", "allow", "allow_list"}
)


def _from_json(text: str) -> RuleList:
    """An object with ``keywords``, ``phrases``, ``allow`` (or the column names), or an array of rules."""
    try:
        data = json.loads(require_text(text))
    except (ValueError, RecursionError) as error:
        raise RuleRejected("*", f"JSON: {error}") from error
    if isinstance(data, list):
        if odd := [each for each in data if not isinstance(each, str | int) or isinstance(each, bool)]:
            raise RuleRejected("*", f"JSON: expected an array of strings, got {str(odd[0])[:40]} in it")
        return _rules_by_kind(map(str, data))
    if not isinstance(data, dict):
        raise RuleRejected("*", f"JSON: expected an object or an array, got {type(data).__name__}")
    if unknown := sorted(set(data) - JSON_KEYS):
        raise RuleRejected(
            "*", f"JSON: expected the keys {', '.join(sorted(JSON_KEYS))}, got {unknown[0][:40]!r}"
        )

    def entries(*names: str) -> tuple[str, ...]:
        found: object = next((data[name] for name in names if name in data), [])
        if not isinstance(found, list) or not all(isinstance(rule, str) for rule in found):
            raise RuleRejected("*", f"{names[0]}: expected an array of strings, got {str(found)[:40]}")
        return tuple(_stripped(found))

    return RuleList(
        keywords=entries("keywords", "flagged_keywords"),
        phrases=entries("phrases", "flagged_phrases"),
        allow=entries("allow", "allow_list"),
    )


_REDDIT_FIELDS = ("title", "body", "url", "domain")
_REDDIT_AGE: Final = re.compile(r"(?P<sign>[<>]=?)?\s*(?P<number>\d{1,5})\s*(?P<unit>day|week|month|year)s?")
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}


def _from_automoderator(text: str) -> RuleList:
    """The word lists of AutoModerator's YAML rules: all ``title``/``body`` checks with their modifiers."""
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise RuleRejected(
                "*", "AutoModerator YAML: aliases (*name) are not read, as they can grow without bounds"
            )
        documents = list(yaml.safe_load_all(require_text(text)))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RuleRejected("*", f"AutoModerator YAML: {str(error).splitlines()[0]}") from error
    rules: list[str] = []
    skipped: list[str] = []
    for number, document in enumerate(documents, 1):
        if document is None:
            continue
        if not isinstance(document, dict):
            kind = type(document).__name__
            raise RuleRejected(
                "*", f"AutoModerator YAML: expected rules such as title+body: [...], got a {kind}"
            )
        try:
            condition = _reddit_author(document.get("author"))
        except RuleRejected as error:
            skipped.append(f"rule {number}: {error.reason}")
            continue
        of_rule: list[str] = []
        for key, value in document.items():
            found = _reddit_check(str(key), value)
            if isinstance(found, str):
                skipped.append(f"rule {number}, {key}: {found}")
            else:
                of_rule += [_with_switch(each, condition) for each in found]
        rules += of_rule or ([f"{{{condition}}}"] if condition else [])
    if not rules and not skipped and any(documents):
        raise RuleRejected("*", "AutoModerator YAML: expected checks of title, body, url or domain, got none")
    return _foreign_rules(rules, skipped)


def _reddit_check(key: str, value: object) -> list[str] | str:
    """The rules of one check, or why it was not imported; other settings give no rules."""
    name, _, modifiers = key.partition("(")
    fields = {field.strip().lstrip("~") for field in name.split("+")}
    if not fields & set(_REDDIT_FIELDS):
        return []
    if name.strip().startswith("~"):
        return "a negated check (~) has no counterpart"
    words = [value] if isinstance(value, str | int) else value
    if not isinstance(words, list):
        return f"expected a string or a list, got {type(value).__name__}"
    flags = {flag.strip() for flag in modifiers.rstrip(") ").split(",") if flag.strip()}
    case = str(Switch.CASE) if "case-sensitive" in flags else ""
    if "regex" in flags:
        return [_with_switch(f"/{word}/", case) for word in words]
    syntax = next((flag for flag in flags if flag in SYNTAXES), "includes-word")
    return [_with_switch(rule_from_syntax(str(word), syntax), case) for word in words]


def _reddit_author(checks: object) -> str:
    """The condition of a rule's checks of its author; empty without any.

    Raises:
        RuleRejected: a check has no counterpart, so that the rule would match other authors too.
    """
    if checks is None:
        return ""
    conditions = []
    for name, value in checks.items() if isinstance(checks, dict) else [("author", checks)]:
        age = _REDDIT_AGE.fullmatch(str(value).strip())
        if name == "account_age" and age is not None:
            days = int(age["number"]) * _DAYS[age["unit"]]
            conditions.append(f"author.account_age_days {age['sign'] or '>='} {days}")
        elif name == "is_moderator" and isinstance(value, bool):
            conditions.append(f"author.role {'=' if value else '!='} moderator")
        else:
            raise RuleRejected("*", f"the check of the author {name} has no counterpart")
    return ", ".join(conditions)


def _with_switch(rule: str, switch: str) -> str:
    """The rule with one more switch or condition in its braces."""
    if not switch:
        return rule
    return f"{rule[:-1]}, {switch}}}" if rule.endswith("}") else f"{rule} {{{switch}}}"


def _to_automoderator(rules: RuleList) -> str:
    """One rule per matching mode; rules that have no counterpart become comments."""
    groups: dict[str, list[str]] = {}
    every = (*rules.keywords, *rules.phrases)
    for rule in every:
        if rule.startswith(FUZZY_SIGN):
            groups.setdefault("fuzzy", []).append(rule)
        elif "author." in rule.rpartition("{")[2]:
            groups.setdefault("author", []).append(rule)
        elif rule.startswith("/") and rule.endswith("/"):
            groups.setdefault("regex", []).append(rule[1:-1])
        elif rule.endswith(f"{{{Switch.SUBSTRING}}}"):
            groups.setdefault("includes", []).append(rule.rpartition("{")[0].strip())
        else:
            groups.setdefault("includes-word", []).append(rule.partition("{")[0].strip())
    comments = [f"# fuzzy: {' '.join(rule.split())}\n" for rule in groups.pop("fuzzy", ())]
    comments += [f"# of authors: {' '.join(rule.split())}\n" for rule in groups.pop("author", ())]
    comments += [f"# allowed: {' '.join(rule.split())}\n" for rule in rules.allow]
    documents = [
        yaml.safe_dump(
            {f"title+body ({name})": words, "action": "filter"}, allow_unicode=True, sort_keys=False
        )
        for name, words in groups.items()
    ]
    return "".join(comments) + "---\n".join(documents)
