"""``hushgate rules``: try, check, convert and score rule lists on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from worker.errors import RuleRejected
from worker.rules import CompiledRules, Hit, Level, ProblemLevel, RuleProblem, compile_rules, validate_rules
from worker.rules.formats import Format, RuleList, read_rules, rule_from_syntax, write_rules

rules_app = typer.Typer(help="Try, check, convert and score rule lists.", no_args_is_help=True)

AccountRules = Callable[[str], RuleList]
"""What ``--account`` needs: the stored rules of an account, by its ``user_id``."""

SaveRules = Callable[[str, RuleList], int]
"""What ``import --account`` needs: stores the rules, gives back the new version."""

_database: dict[str, Any] = {}


def use_database(*, load: AccountRules, save: SaveRules) -> None:
    """Gives ``--account`` its meaning; called once by the composition root."""
    _database.update(load=load, save=save)


def _fail(message: str) -> typer.Exit:
    print(message, file=sys.stderr)  # noqa: T201  # the terminal is this module's output
    return typer.Exit(2)


def _account_rules(account: str) -> RuleList:
    if "load" not in _database:
        raise _fail("--account: expected a database (set DATABASE_URL), got none")
    loaded: RuleList = _database["load"](account)
    return loaded


def _format_of(path: Path, fmt: Format | None) -> Format:
    if fmt is not None:
        return fmt
    by_suffix = {
        ".csv": Format.CSV,
        ".json": Format.JSON,
        ".yaml": Format.AUTOMODERATOR,
        ".yml": Format.AUTOMODERATOR,
    }
    return by_suffix.get(path.suffix.lower(), Format.LIST)


def _read(path: Path, fmt: Format | None) -> RuleList:
    try:
        return read_rules(path.read_text(encoding="utf-8"), _format_of(path, fmt))
    except OSError as error:
        raise _fail(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _fail(
            f"{path}: expected UTF-8, got byte {error.object[error.start]:#x} at {error.start}"
        ) from error
    except RuleRejected as error:
        raise _fail(f"{path}: {error.reason}") from error


def _line(data: object) -> None:
    sys.stdout.buffer.write(orjson.dumps(data) + b"\n")


def _rows(title: str, columns: Iterable[str], rows: Iterable[tuple[object, ...]]) -> None:
    table = Table(title=title)
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    Console().print(table)


def hit_json(hit: Hit) -> dict[str, object]:
    """A hit as one JSON object, as ``match`` and ``test`` print it."""
    return {
        "rule": hit.rule,
        "start": hit.start,
        "end": hit.end,
        "text": hit.text.encode("utf-8", "replace").decode(),
        "how": hit.how,
    }


CasesFile = Annotated[Path, typer.Option("--cases", help="JSONL: id, keywords (or rule and syntax), text")]
LevelOption = Annotated[Level, typer.Option("--level", help="strict adds masked letters, splits and typos")]


@rules_app.command("match")
def match_cases(cases: CasesFile, level: LevelOption = Level.DEFAULT) -> None:
    """Match every case of a file; one NDJSON line each, in the same order."""
    bad = 0
    try:
        source = sys.stdin.buffer if str(cases) == "-" else cases.open("rb")
    except OSError as error:
        raise _fail(f"{cases}: {error.strerror}") from error
    with source:
        for number, line in enumerate(source, 1):
            if not line.strip():
                continue
            answer = _answer(number, line, level)
            bad += "error" in answer
            _line(answer)
    sys.stdout.flush()
    if bad:
        print(f"{bad} bad lines in {cases}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(1)


def _answer(number: int, line: bytes, level: Level) -> dict[str, object]:
    try:
        case = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return _bad(number, "line", "one JSON object", str(error))
    if not isinstance(case, dict):
        return _bad(number, "line", "one JSON object", type(case).__name__)
    rules = _case_rules(number, case)
    if isinstance(rules, dict):
        return rules
    if not isinstance(case.get("text"), str):
        return _bad(number, "text", "a string", _kind(case, "text"), case.get("id"))
    compiled = _compiled(rules, level)
    hits = compiled.match(case["text"])
    answer: dict[str, object] = {
        "id": case.get("id"),
        "matched": bool(hits),
        "hits": [hit_json(h) for h in hits],
    }
    if compiled.problems:
        answer["problems"] = [f"{problem.rule}: {problem.message}" for problem in compiled.problems]
    return answer


def _case_rules(number: int, case: dict[str, Any]) -> tuple[str, ...] | dict[str, object]:
    """The rules of a case, or the error line that says why it has none."""
    if "rule" in case:
        if not isinstance(case["rule"], str):
            return _bad(number, "rule", "a string", _kind(case, "rule"), case.get("id"))
        try:
            return (rule_from_syntax(case["rule"], str(case.get("syntax", "plain"))),)
        except RuleRejected as error:
            return _bad(number, "syntax", error.reason, str(case.get("syntax")), case.get("id"))
    keywords = case.get("keywords")
    if not isinstance(keywords, list) or not all(isinstance(word, str) for word in keywords):
        return _bad(number, "keywords", "an array of strings", _kind(case, "keywords"), case.get("id"))
    return tuple(keywords)


def _kind(case: dict[str, Any], field: str) -> str:
    return f"{type(case[field]).__name__} {str(case[field])[:40]!r}" if field in case else "nothing"


def _bad(number: int, field: str, expected: str, got: str, case_id: object = None) -> dict[str, object]:
    return {
        "id": case_id,
        "error": f"line {number}: {field}: expected {expected}, got {got}",
        "line": number,
        "field": field,
        "expected": expected,
        "got": got,
    }


@lru_cache(maxsize=64)
def _compiled(rules: tuple[str, ...], level: Level) -> CompiledRules:
    return compile_rules(rules, version=0, level=level)


@rules_app.command("test")
def try_rules(  # typer reads options from parameters
    text: Annotated[str | None, typer.Option("--text", help="One message")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Messages, one a line")] = None,
    rules: Annotated[Path | None, typer.Option("--rules", help="A rule file")] = None,
    keyword: Annotated[list[str] | None, typer.Option("--keyword", help="A rule; may be repeated")] = None,
    account: Annotated[str | None, typer.Option("--account", help="The stored rules of this account")] = None,
    level: LevelOption = Level.DEFAULT,
) -> None:
    """Show which rules fire on a message, where and how."""
    found = _read(rules, None) if rules else _account_rules(account) if account else RuleList()
    compiled = compile_rules(
        [*found.keywords, *(keyword or [])], found.phrases, allow=found.allow, version=0, level=level
    )
    for problem in compiled.problems:
        print(f"rule {problem.rule!r} is disabled: {problem.message}", file=sys.stderr)  # noqa: T201
    hits = ((message, hit) for message in _messages(text, file) for hit in compiled.match(message))
    if sys.stdout.isatty():
        columns = ("rule", "span", "matched text", "how", "message")
        _rows("hits", columns, ((h.rule, f"{h.start}..{h.end}", h.text, h.how, m[:60]) for m, h in hits))
        return
    for message, hit in hits:
        _line(
            {
                "message": message[:200].encode("utf-8", "replace").decode(),
                "label": hit.label,
                **hit_json(hit),
            }
        )


def _messages(text: str | None, file: Path | None) -> Iterator[str]:
    if text is not None:
        yield text
    if file is not None:
        try:
            with file.open(encoding="utf-8", errors="replace") as lines:
                yield from (line.rstrip("\n") for line in lines)
        except OSError as error:
            raise _fail(f"{file}: {error.strerror}") from error
    if text is None and file is None:
        raise _fail("expected --text or --file, got neither")


@rules_app.command("validate")
def validate_file(
    file: Annotated[Path, typer.Argument(help="A rule file")],
    fmt: Annotated[Format | None, typer.Option("--format")] = None,
    recent: Annotated[Path | None, typer.Option("--recent", help="Recent messages, one a line")] = None,
) -> None:
    """Check a rule file; exit code 1 when it has errors."""
    rules = _read(file, fmt)
    problems = validate_rules(
        rules.keywords,
        rules.phrases,
        allow=rules.allow,
        recent_messages=list(_messages(None, recent)) if recent else (),
    )
    _show_problems(problems, rules.skipped)
    if any(problem.level is ProblemLevel.ERROR for problem in problems):
        raise typer.Exit(1)


def _show_problems(problems: Iterable[RuleProblem], skipped: Iterable[str]) -> None:
    rows = [(p.level, p.rule, p.code, p.message) for p in problems]
    rows += [(ProblemLevel.WARNING, "", "skipped", line) for line in skipped]
    if sys.stdout.isatty():
        _rows("problems", ("level", "rule", "code", "message"), rows)
        return
    for level, rule, code, message in rows:
        _line({"level": level, "rule": rule, "code": code, "message": message})


@rules_app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="A rule file")],
    fmt: Annotated[Format | None, typer.Option("--format")] = None,
    account: Annotated[str | None, typer.Option("--account", help="Store as this account's rules")] = None,
) -> None:
    """Read another tool's list; store it with --account, else print it as JSON."""
    rules = _read(file, fmt)
    problems = [
        problem
        for problem in validate_rules(rules.keywords, rules.phrases, allow=rules.allow)
        if problem.level is ProblemLevel.ERROR
    ]
    if problems:
        _show_problems(problems, ())
        raise typer.Exit(1)
    for line in rules.skipped:
        print(f"skipped: {line}", file=sys.stderr)  # noqa: T201
    if account is None:
        sys.stdout.write(write_rules(rules, Format.JSON))
        return
    if "save" not in _database:
        raise _fail("--account: expected a database (set DATABASE_URL), got none")
    _line({"account": account, "version": _database["save"](account, rules)})


@rules_app.command("export")
def export_file(
    fmt: Annotated[Format, typer.Option("--format")] = Format.JSON,
    rules: Annotated[Path | None, typer.Option("--rules", help="A rule file to convert")] = None,
    account: Annotated[str | None, typer.Option("--account", help="The stored rules of this account")] = None,
) -> None:
    """Write rules in another tool's format."""
    if (rules is None) == (account is None):
        raise _fail("expected one of --rules and --account")
    found = _read(rules, None) if rules else _account_rules(account or "")
    sys.stdout.write(write_rules(found, fmt))
