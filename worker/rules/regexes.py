"""``/regex/`` rules, run by RE2 only: linear in the text, bounded in memory."""

from __future__ import annotations

from itertools import islice

import re2

from worker.errors import RuleRejected
from worker.rules.model import Rule, Switch

MAX_REGEXES = 100
"""Most regexes in one set; each costs one more pass over the text."""
MAX_MEMORY_BYTES = 1 << 20
"""Most memory of one compiled regex; RE2 refuses a larger one."""


def compile_regex(rule: Rule) -> re2._Regexp:
    """The compiled pattern.

    Raises:
        RuleRejected: RE2 does not accept the pattern, or the pattern matches the empty string.
    """
    options = re2.Options()
    options.case_sensitive = Switch.CASE in rule.switches
    options.max_mem = MAX_MEMORY_BYTES
    options.log_errors = False
    try:
        compiled = re2.compile(rule.core, options)
        empty = compiled.search("") is not None
    except (re2.error, UnicodeEncodeError) as error:
        cause = error.args[0]  # RE2's messages are bytes
        cause = cause.decode(errors="replace") if isinstance(cause, bytes) else cause
        raise RuleRejected(rule.written, f"not a regex RE2 takes: {cause}") from error
    if empty:
        raise RuleRejected(rule.written, "matches the empty string, so every message")
    return compiled


def regex_spans(compiled: re2._Regexp, text: str, limit: int) -> list[tuple[int, int]]:
    """The spans of up to ``limit`` matches; lone surrogates are read as U+FFFD."""
    whole = text if text.isascii() else "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    spans = (match.span() for match in compiled.finditer(whole))
    return list(islice((span for span in spans if span[1] > span[0]), limit))
