"""Named sets of account settings: how careful the AI is, and each published design in one choice.

The settings page and ``hushgate accounts preset`` are made from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from worker.account_settings import changed
from worker.assessment.policies.guardrail import FALLBACK_MESSAGE
from worker.assessment.policies.texts import texts
from worker.model import OPENAI_MODERATION, Account, EscalationAction, FailurePolicy, ReplyMode


class PresetName(StrEnum):
    """The name of a preset."""

    CAREFUL = "careful"
    BALANCED = "balanced"
    OPEN = "open"
    HUSHGATE = "hushgate"
    FAILSAFE_NODE = "failsafe-node"
    CONFIDENCE_GUARDRAIL = "confidence-guardrail"
    VALIDATION_AND_FALLBACK = "validation-and-fallback"
    I_DONT_KNOW = "i-dont-know"
    SILENT_GUARDRAILS = "silent-guardrails"


class PresetKind(StrEnum):
    """What a preset decides; one of each kind may be in force."""

    STRICTNESS = "strictness"
    DESIGN = "design"


class Need(StrEnum):
    """What a design needs beside its settings, a page text."""

    DOCUMENTS = "Documents, because answers rest on them."
    EMBEDDINGS = (
        "An embedding model on the server; without one, similarity counts the words that two texts share."
    )
    PEOPLE = "People who answer what is handed over."
    SCOPE = "What the answers are based on, in the option “scope” under all settings."
    ALERTS = "Alerts on the server, so that people notice errors and frequent blocks."


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named set of settings.

    Attributes:
        title: a page text.
        summary: a page text.
        settings: name -> value.
        missing_texts: name -> texts by language, set where the account has none.
        needs: what it does not set.
    """

    kind: PresetKind
    title: str
    summary: str
    settings: Mapping[str, Any]
    missing_texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()


def _strictness(title: str, summary: str, **settings: Any) -> Preset:
    common = {"auto_reasons": [], "rules_on_reply": True, "injection_check": True}
    return Preset(kind=PresetKind.STRICTNESS, title=title, summary=summary, settings={**common, **settings})


def _design(title: str, summary: str, needs: tuple[Need, ...], **settings: Any) -> Preset:
    missing = settings.pop("missing_texts", {})
    return Preset(
        kind=PresetKind.DESIGN,
        title=title,
        summary=summary,
        settings=settings,
        missing_texts=missing,
        needs=needs,
    )


PRESETS: Final[Mapping[PresetName, Preset]] = {
    PresetName.CAREFUL: _strictness(
        "Careful",
        "You approve every answer. Nothing is sent while moderation is down.",
        reply_mode=ReplyMode.SUGGEST,
        auto_from_confidence=None,
        moderation_failure=FailurePolicy.BLOCK,
        rules_on_passages=True,
    ),
    PresetName.BALANCED: _strictness(
        "Balanced",
        "Answers with a confidence of at least 90 percent are sent; you approve the others. Messages wait"
        " while moderation is down.",
        reply_mode=ReplyMode.SUGGEST,
        auto_from_confidence=0.9,
        moderation_failure=FailurePolicy.HOLD,
        rules_on_passages=False,
    ),
    PresetName.OPEN: _strictness(
        "Open",
        "Every answer that the AI can support is sent at once. Messages wait while moderation is down.",
        reply_mode=ReplyMode.AUTO,
        auto_from_confidence=None,
        moderation_failure=FailurePolicy.HOLD,
        rules_on_passages=False,
    ),
    PresetName.HUSHGATE: _design(
        "Hushgate (recommended)",
        "A judge reads each answer: every sentence must stand in your documents, and it must answer the"
        " question. Other messages are handed to people.",
        (Need.DOCUMENTS, Need.PEOPLE),
        assessment_policy={},
    ),
    PresetName.FAILSAFE_NODE: _design(
        "FailsafeNode",
        "Words of doubt and error lower the confidence; a doubtful answer is replaced by one of six"
        " texts, and the others pass the Confidence Guardrail.",
        (Need.DOCUMENTS, Need.EMBEDDINGS, Need.PEOPLE),
        assessment_policy={"name": "failsafe", "guardrail": {}},
        fallback_texts={},  # those of the design are sent
    ),
    PresetName.CONFIDENCE_GUARDRAIL: _design(
        "Confidence Guardrail",
        "Grounding, search and certainty give a score: a high score is sent, at a medium score the answer"
        " is made once more, and a low score is handed to people with a text to the customer.",
        (Need.DOCUMENTS, Need.EMBEDDINGS, Need.PEOPLE),
        assessment_policy={"name": "guardrail"},
        missing_texts={"handoff_texts": {"en": FALLBACK_MESSAGE}},
    ),
    PresetName.VALIDATION_AND_FALLBACK: _design(
        "Validation and Fallback",
        "Five checks of citations, words, numbers, doubt and ethics; a text in English, Vietnamese or"
        " Chinese replaces an answer without a basis.",
        (Need.DOCUMENTS,),
        assessment_policy={"name": "validators"},
        fallback_texts={},  # those of the design are sent
    ),
    PresetName.I_DONT_KNOW: _design(
        "I don't know (Safety)",
        "Five checks of search, topic, citations and grounding; when one fails, the customer reads that"
        " the AI does not know, with questions that your documents answer.",
        (Need.DOCUMENTS, Need.EMBEDDINGS, Need.SCOPE),
        assessment_policy={"name": "safety", "min_citation_coverage": 1.0, "suggest_questions": True},
        fallback_texts={},  # those of the design are sent
    ),
    PresetName.SILENT_GUARDRAILS: _design(
        "Silent guardrails",
        "Rules and moderation check message and answer; facts are not checked. What is blocked or fails"
        " ends in silence.",
        (Need.ALERTS,),
        assessment_policy={"enabled": False},
        handoff_texts={},
        handoff_texts_closed={},
    ),
}
"""Total; of each kind from the strictest or the recommended one on."""


def presets_of(kind: PresetKind) -> dict[PresetName, Preset]:
    """The presets of a kind, in their order."""
    return {name: each for name, each in PRESETS.items() if each.kind is kind}


def preset_changes(name: PresetName, account: Account) -> dict[str, Any]:
    """The changes that a preset makes to an account, for ``worker.account_settings.changed``."""
    missing = PRESETS[name].missing_texts
    return {**PRESETS[name].settings, **{each: getattr(account, each) or missing[each] for each in missing}}


def preset_of(account: Account, kind: PresetKind) -> PresetName | None:
    """The preset of a kind that an account follows; None when its settings differ from all of them."""
    for name in presets_of(kind):
        changes = preset_changes(name, account)
        own = {each: getattr(account, each) for each in changes}
        own |= {each: list(value) for each, value in own.items() if isinstance(value, tuple)}
        if own == changes:
            return name
    return None


SELF_HARM: Final = ("self-harm", "self-harm/instructions", "self-harm/intent")
"""Categories of the moderation API whose authors need a person: the AI answers none of them."""


def new_account(user_id: str) -> Account:
    """The settings of an account that a person creates: the AI drafts answers, and people approve each.

    Texts in seventeen languages say that an AI answers, and that a person will. Messages about self-harm are
    handed to people.

    An account without settings, which only events or programs name, has the defaults: the AI is off.

    Raises:
        AccountRejected: the name cannot be one of an account.
    """
    switches = ("ai_control_enabled", "ai_enabled_for_chats", "ai_enabled_for_comments")
    unset = Account(user_id=user_id, version=0)
    author_texts = {"disclosure_texts": dict(texts("disclosure")), "handoff_texts": dict(texts("handoff"))}
    escalated = {f"{OPENAI_MODERATION}:{each}": EscalationAction.ESCALATE for each in SELF_HARM}
    careful = preset_changes(PresetName.CAREFUL, unset) | {"escalation_actions": escalated}
    return changed(unset, {**dict.fromkeys(switches, True), **author_texts, **careful})
