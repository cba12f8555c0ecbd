"""``hushgate rules``: try, check, convert and score rule lists on the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.accounts import store_account
from cli.accounts.rules_match import LevelOption, hit_json, match_cases
from cli.exit_codes import ExitCode
from cli.output import emit, emit_json, fail, print_message
from worker.errors import RuleRejected
from worker.model import UNKNOWN_AUTHOR, Author, RuleLevel
from worker.rules import ProblemLevel, RuleProblem, compile_rules, validate_rules
from worker.rules.dialects import decoded_rules
from worker.rules.formats import RuleList, RuleListFormat, plain_rules, read_rules, write_rules
from worker.rules.fuzzy_reach import fuzzy_reaches, fuzzy_warning
from worker.rules.oddities import oddities, summary

HELP: Final = """
Rule lists: `test` rules on a message, `validate` a file, `import` and `export` lists, `match` cases.

docs/rules.md has the syntax; a regex is written between slashes, such as /ab+c/.
"""
app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode="markdown")

FORMATS: Final = {
    ".csv": RuleListFormat.CSV,
    ".json": RuleListFormat.JSON,
    ".yaml": RuleListFormat.AUTOMODERATOR,
    ".yml": RuleListFormat.AUTOMODERATOR,
}
"""The format of a file by the end of its name; other files are lists."""


def _read(path: Path, fmt: RuleListFormat | None) -> RuleList:
    try:
        known = fmt or FORMATS.get(path.suffix.lower(), RuleListFormat.LIST)
        return read_rules(decoded_rules(path.read_bytes()), known)
    except OSError as error:
        raise fail(f"{path}: {error.strerror}") from error
    except RuleRejected as error:
        raise fail(f"{path}: {error.reason}", code=ExitCode.REJECTED) from error


FormatOption = Annotated[
    RuleListFormat | None,
    typer.Option("--format", help="Format of the file; default: as its name ends, else list."),
]


app.command("match")(match_cases)


@app.command("test")
def try_rules(  # typer reads options from parameters
    text: Annotated[str | None, typer.Option("--text", help="One message.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file of messages, one a line.")] = None,
    rules: Annotated[Path | None, typer.Option("--rules", help="A rule file.")] = None,
    keyword: Annotated[list[str] | None, typer.Option("--keyword", help="A rule; may be repeated.")] = None,
    account: Annotated[
        str | None, typer.Option("--account", "-a", help="The stored rules of this account.")
    ] = None,
    level: LevelOption = RuleLevel.DEFAULT,
    strikes: Annotated[int | None, typer.Option("--strikes", help="The author's flagged messages.")] = None,
    messages_1h: Annotated[
        int | None, typer.Option("--messages-1h", help="The author's messages of the last hour.")
    ] = None,
    role: Annotated[str | None, typer.Option("--role", help="The author's role.")] = None,
    age_days: Annotated[
        float | None, typer.Option("--account-age-days", help="Age of the author's login.")
    ] = None,
) -> None:
    """Show which rules match a message, where and how.

    Without any fact about the author, conditions beside a text count as met, and rules without a text do not
    match.

    For example:

        hushgate rules test --keyword viagra --text "v1@gr4"

        hushgate rules test --account corner-shop --file messages.txt
    """
    found = _read(rules, None) if rules else store_account.load_rules(account) if account else RuleList()
    compiled = compile_rules(
        [*found.keywords, *(keyword or [])], found.phrases, allow=found.allow, version=0, level=level
    )
    for problem in compiled.problems:
        print_message(f"rule {problem.rule!r} is disabled: {problem.message}", style="yellow")
    for rule, reach in fuzzy_reaches(compiled.fuzzy_rules(), found.allow, ()).items():
        print_message(f"rule {rule!r}: {fuzzy_warning(reach, 0)}", style="yellow")
    author = Author(strikes=strikes, messages_1h=messages_1h, role=role, account_age_days=age_days)
    known = None if author == UNKNOWN_AUTHOR else author
    rows = (
        {"message": message[:200].encode("utf-8", "replace").decode(), "label": hit.label, **hit_json(hit)}
        for message in _messages(text, file)
        for hit in compiled.match(message, known)
    )
    emit(rows, ("rule", "start", "end", "text", "how", "message"))


def _messages(text: str | None, file: Path | None) -> Iterator[str]:
    if text is not None:
        yield text
    if file is not None:
        try:
            with file.open(encoding="utf-8", errors="replace") as lines:
                yield from (line.rstrip("\n") for line in lines)
        except OSError as error:
            raise fail(f"{file}: {error.strerror}") from error
    if text is None and file is None:
        raise fail("expected --text or --file, got neither")


@app.command("validate")
def validate_file(
    file: Annotated[Path, typer.Argument(help="A rule file.")],
    fmt: FormatOption = None,
    recent: Annotated[
        Path | None,
        typer.Option("--recent", help="A file of recent messages, one a line: names rules that match often."),
    ] = None,
) -> None:
    """Name every problem of a rule file; exit code 1 when one is an error, 0 when all are warnings.

    For example:

        hushgate rules validate rules.csv --recent messages.txt
    """
    rules = _read(file, fmt)
    problems = validate_rules(
        rules.keywords,
        rules.phrases,
        allow=rules.allow,
        recent_messages=list(_messages(None, recent)) if recent else (),
    )
    _show_problems(problems, rules.skipped)
    if any(problem.level is ProblemLevel.ERROR for problem in problems):
        raise typer.Exit(ExitCode.NEGATIVE)


def _show_problems(problems: Iterable[RuleProblem], skipped: Iterable[str]) -> None:
    columns = ("level", "rule", "code", "message")
    rows = [{name: getattr(problem, name) for name in columns} for problem in problems]
    rows += [
        {"level": ProblemLevel.WARNING, "rule": "", "code": "skipped", "message": line} for line in skipped
    ]
    emit(rows, columns)


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="A rule file.")],
    fmt: FormatOption = None,
    account: Annotated[
        str | None, typer.Option("--account", "-a", help="Store them in place of this account's rules.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Store them although their number or look is odd.")
    ] = False,
) -> None:
    """Read another tool's list; store it with --account, else print it as JSON.

    A list with an error is rejected as a whole; one that looks odd is stored after a question, or with --yes.
    For example:

        hushgate rules import words.yaml --account corner-shop
    """
    rules = _read(file, fmt)
    problems = validate_rules(rules.keywords, rules.phrases, allow=rules.allow)
    refused = [problem for problem in problems if problem.level is ProblemLevel.ERROR]
    if refused:
        _show_problems(refused, ())
        raise typer.Exit(ExitCode.REJECTED)
    for line in rules.skipped:
        print_message(f"skipped: {line}", style="yellow")
    if account is None:
        for problem in problems:
            print_message(f"rule {problem.rule!r}: {problem.message}", style="yellow")
        sys.stdout.write(write_rules(rules, RuleListFormat.JSON))
        return
    _require_looked_at(rules, store_account.load_rules(account), yes=yes)
    emit_json({"account": account, "version": store_account.save_rules(account, rules)})


def _require_looked_at(rules: RuleList, before: RuleList, *, yes: bool) -> None:
    """Show what was read, and ask when its number or look is odd."""
    print_message(summary(rules))
    found = oddities(rules, len(before.keywords) + len(before.phrases) + len(before.allow))
    for odd in found:
        print_message(f"odd: {odd}", style="yellow")
    if not found or yes:
        return
    if not sys.stdin.isatty():
        raise fail("nothing was stored; look at the file, or add --yes", code=ExitCode.REJECTED)
    if not typer.confirm("Store these rules?", err=True):
        raise typer.Exit(ExitCode.NEGATIVE)


@app.command("export")
def export_file(
    fmt: Annotated[RuleListFormat, typer.Option("--format", help="Format to write.")] = RuleListFormat.JSON,
    rules: Annotated[Path | None, typer.Option("--rules", help="A rule file to convert.")] = None,
    account: Annotated[
        str | None, typer.Option("--account", "-a", help="The stored rules of this account.")
    ] = None,
) -> None:
    """Print rules in another tool's format; of --rules or of --account.

    For example:

        hushgate rules export --account corner-shop --format csv > rules.csv
    """
    if (rules is None) == (account is None):
        raise fail("expected one of --rules and --account")
    found = _read(rules, None) if rules else store_account.load_rules(account or "")
    sys.stdout.write(write_rules(found, fmt))
    left_out = {*found.keywords, *found.phrases, *found.allow} - {*plain_rules(found)}
    if fmt is RuleListFormat.DISCORD and left_out:
        print_message(
            f"left out, as Discord cannot express them: {', '.join(sorted(left_out))}", style="yellow"
        )
