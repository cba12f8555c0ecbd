"""Codes, failures, counts and durations in words."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from typing import Final

import orjson

from review.languages import gettext, mark, ngettext
from review.languages.numbers import localized
from worker.assessment.policies.designs import DESIGNS
from worker.injections import INJECTION_CHECK
from worker.model import DecisionKind, Tier
from worker.reasons import Reason
from worker.rules.model import MatchMethod

RULE_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "flagged_keyword": (mark("a blocked word of the account"), mark("the account's blocked word “%(rule)s”")),
    "flagged_phrase": (
        mark("a blocked phrase of the account"),
        mark("the account's blocked phrase “%(rule)s”"),
    ),
    "flagged_author": (
        mark("an author whom a rule of the account blocks"),
        mark("an author whom the account's rule “%(rule)s” blocks"),
    ),
    INJECTION_CHECK: (
        mark("an instruction to the AI"),
        mark("an instruction to the AI (%(rule)s)"),
    ),
    "flagged_regex": (
        mark("a blocked pattern of the account"),
        mark("the account's blocked pattern “%(rule)s”"),
    ),
}
MATCH_METHODS: Final[Mapping[MatchMethod, str]] = {
    MatchMethod.EXACT: mark("exact match"),
    MatchMethod.CASE: mark("other case"),
    MatchMethod.WIDTH: mark("full-width or half-width letters"),
    MatchMethod.ACCENT: mark("other accents"),
    MatchMethod.VARIANT: mark("spelling variant"),
    MatchMethod.HOMOGLYPH: mark("look-alike letters of another script"),
    MatchMethod.LEET: mark("digits or signs for letters"),
    MatchMethod.REPEAT: mark("repeated letters"),
    MatchMethod.INVISIBLE: mark("invisible characters inside"),
    MatchMethod.HIDDEN: mark("hidden or formatted letters"),
    MatchMethod.BROKEN: mark("a line break inside"),
    MatchMethod.SEPARATED: mark("separated letters"),
    MatchMethod.GLUED: mark("words run together"),
    MatchMethod.MASKED: mark("masked letters"),
    MatchMethod.TYPO: mark("one letter differs or two are exchanged"),
    MatchMethod.REGEX: mark("regular expression"),
}
DECISION_LABELS: Final[Mapping[str, str]] = {
    DecisionKind.RESPOND: mark("Replied"),
    DecisionKind.IGNORE: mark("No reply"),
    DecisionKind.ESCALATE: mark("Handed to a person"),
}
"""Total; addresses, files and the JSON API keep the codes."""
REASON_GROUPS: Final[Mapping[str, str]] = {"blocked": mark("Blocked"), "failed": mark("Silent failures")}
"""Labels of the groups in ``review.words.reasons``."""
ATTEMPT_OUTCOMES: Final[Mapping[str, str]] = {
    "timeout": mark("timed out"),
    "connection": mark("no connection"),
    "rate_limited": mark("too many requests"),
    "circuit_open": mark("not called: it had failed several times in a row"),
    "busy": mark("not called: too many calls were under way"),
    "limited": mark("not called: a limit of requests or tokens was reached"),
    "cancelled": mark("ended early: its answer was no longer needed"),
    "server_error": mark("server error"),
    "malformed": mark("a malformed response"),
    "empty": mark("an empty answer"),
    "unfinished": mark("an unfinished answer"),
    "unreadable": mark("a response in an unexpected format"),
    "rejected": mark("refused"),
    "misconfigured": mark("refused: the endpoint is misconfigured"),
}
"""How an attempt ended, as ``worker.adapters`` names it."""
MODERATOR_OUTCOMES: Final[Mapping[str, str]] = {
    "clear": mark("flagged nothing"),
    "hit": mark("flagged the text"),
    "no_result": mark("no result"),
    "not_needed": mark("not needed"),
}
"""What became of one of several moderators, as ``worker.moderation.record`` stores it."""
DRAFT_PROBLEMS: Final[Mapping[str, str]] = {
    "no_evidence": mark("no passage supports it"),
    "invalid_citation": mark("it cites a passage that does not exist"),
    "wrong_language": mark("it is in the wrong language"),
    "mixed_scripts": mark("its words mix look-alike letters of two scripts"),
    "moderation_hit": mark("moderation flagged it"),
    "empty_reply": mark("it was empty"),
    "citations_only": mark("it held nothing but citations"),
    "no_words": mark("it held no words"),
    "repeats_message": mark("it only repeats the message"),
    "refusal": mark("it only says that it has no answer"),
    "context_too_large": mark("its passages were too long to check"),
    "judge_off": mark("the judge is switched off"),
    "judge_unavailable": mark("the judge did not answer"),
    "judge_answer_empty": mark("the judge gave an empty answer"),
    "judge_answer_is_not_json": mark("the judge's answer could not be read"),
    "judge_answer_has_several_readings": mark("the judge gave several answers"),
    "judge_answer_has_no_sentences": mark("the judge's answer has no verdicts"),
    "judge_answer_misses_a_sentence": mark("the judge left out a sentence"),
    "judge_answer_has_no_relevance": mark("the judge did not say whether it answers the question"),
    "judge_answer_has_no_scores": mark("the judge gave no score"),
    "judge_answer_out_of_range": mark("a number of the judge is not between 0 and 1"),
    "promised_action": mark("it promises an action that is not performed"),
    "ungrounded": mark("the passages do not support every sentence"),
    "unquoted": mark("a sentence has no quote from the passages"),
    "contested": mark("a fact differs from the passages"),
    "irrelevant": mark("it does not answer the question"),
    "unsure": mark("the judge is not sure enough"),
    "uncited": mark("it cites no passage"),
    **{name: text for design in DESIGNS.values() for name, text in design.problems.items()},
}
"""Problems of a draft, by the names that policies give them."""
MOST_CHARS: Final = 80


def match_wording(joined: str) -> str:
    """How a rule matched, such as ``leet+separated``, in words."""
    known = [
        gettext(MATCH_METHODS[MatchMethod(each)]) if each in MATCH_METHODS else each
        for each in joined.split("+")
        if each
    ]
    return ", ".join(known)


def decision_label(decision: str) -> str:
    """A decision in words; the code of another release unchanged."""
    return gettext(DECISION_LABELS.get(decision, decision))


def reason_label(name: str) -> str:
    """A reason code or a group in words; the code of another release unchanged."""
    if name in Reason.__members__:
        return gettext(Reason(name).spec.label)
    return gettext(REASON_GROUPS.get(name, name))


TIER_MARKS: Final[Mapping[str, str]] = {Tier.HIGH: "✓", Tier.MEDIUM: "⚡", Tier.LOW: "⚠"}
TIERS: Final[Mapping[str, str]] = {
    Tier.HIGH: mark("high"),
    Tier.MEDIUM: mark("medium"),
    Tier.LOW: mark("low"),
}
RECHECK_MARK: Final = "↻"
"""Confidence Guardrail, "Frontend Display"."""


def tier_wording(tier: str) -> str:
    """Label and icon of a tier. An unknown tier is returned unchanged."""
    return f"{TIER_MARKS[tier]} {gettext(TIERS[tier])}" if tier in TIERS else tier


def attempt_wording(outcome: str) -> str:
    """How an attempt ended, in words."""
    known = ATTEMPT_OUTCOMES.get(outcome)
    return gettext(known) if known else outcome.replace("_", " ")


def count_wording(times: int) -> str:
    """How often, in words: once, twice, 3 times."""
    if times in (1, 2):
        return gettext("once") if times == 1 else gettext("twice")
    return ngettext("%(num)s time", "%(num)s times", times) % {"num": times}


def duration_wording(seconds: float) -> str:
    """A duration in the largest fitting unit: ``12 ms``, ``90 s``, ``3 h 20 min``, ``2 days``."""
    if seconds < 1:
        return gettext("%(ms)s ms") % {"ms": localized(f"{seconds * 1000:.3g}")}
    if seconds < 120:
        return gettext("%(s)s s") % {"s": localized(f"{seconds:.3g}")}
    minutes = round(seconds / 60)
    if minutes < 120 and minutes != 60:
        return gettext("%(min)s min") % {"min": minutes}
    if (minutes % 1440 == 0 and minutes > 1440) or minutes > 4 * 1440:
        days = round(minutes / 1440)
        return ngettext("%(num)s day", "%(num)s days", days) % {"num": days}
    hours, rest = divmod(minutes, 60)
    if rest:
        return gettext("%(h)s h %(min)s min") % {"h": hours, "min": rest}
    return gettext("%(h)s h") % {"h": hours}


def named_rule(matched: str, *, with_word: bool = True) -> str:
    """A rule by its kind and its word, or by its kind alone."""
    kind, _, word = matched.partition(":")
    hidden, shown = RULE_KINDS.get(kind, RULE_KINDS["flagged_keyword"])
    return gettext(shown) % {"rule": shortened(word)} if with_word else gettext(hidden)


def shortened(text: str) -> str:
    """A name or a rule, cut at 80 characters."""
    return text if len(text) <= MOST_CHARS else text[:MOST_CHARS] + "…"


def value_wording(value: object) -> str:
    """A stored value as JSON; a list of texts joined by commas."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return orjson.dumps(value).decode()


def percent(share: float | None) -> str:
    """A share of 0..1 in percent, one decimal below ten and between 99 and all."""
    if share is None:
        return "–"
    digits = 1 if abs(share) < 0.1 or 0.99 < abs(share) < 1 else 0
    return localized(f"{share * 100:.{digits}f} %")


def usd(number: float | None) -> str:
    """An amount of money: with cents, and with two digits that count where it is less than ten cents."""
    if number is None:
        return gettext("unknown")
    digits = min(6, 1 - floor(log10(abs(number)))) if 0 < abs(number) < 0.1 else 2
    return localized(f"{number:,.{digits}f} USD")


def amount(number: float | None) -> str:
    """A number in the reader's language."""
    if number is None:
        return "–"
    return localized(f"{number:,}")
