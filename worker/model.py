"""The nouns: values that travel from the stream entry to the audit row, all frozen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias
from uuid import UUID

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Scope(StrEnum):
    """Where the author wrote."""

    CHAT = "chat"
    COMMENT = "comment"


class DecisionKind(StrEnum):
    """What Hushgate does with an event; stored in ``ai_decisions.decision``."""

    IGNORE = "ignore"
    RESPOND = "respond"
    ESCALATE = "escalate"


class Severity(StrEnum):
    """How much weight a finding has on its own."""

    NOTE = "note"
    WARN = "warn"
    BLOCK = "block"


class Stage(StrEnum):
    """A step of the pipeline that the trace records, in the order of travel."""

    SCOPE = "scope"
    RULES = "rules"
    MODERATION = "moderation"
    HISTORY = "history"
    RETRIEVAL = "retrieval"
    EVIDENCE = "evidence"
    GENERATION = "generation"
    RULES_REPLY = "rules_reply"
    MODERATION_REPLY = "moderation_reply"
    ASSESSMENT = "assessment"
    JUDGE = "judge"


STAGES: Final = tuple(stage for stage in Stage if stage is not Stage.JUDGE)
"""The stages that have a record; the judge is called within the assessment and has attempts only."""


class StageOutcome(StrEnum):
    """How a stage ended."""

    PASSED = "passed"
    FLAGGED = "flagged"
    FAILED = "failed"
    SKIPPED = "skipped"


class AttemptOutcome(StrEnum):
    """How one try of a call to a model ended; all but ``COMPLETED`` are failures."""

    COMPLETED = "completed"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    MALFORMED = "malformed"
    EMPTY = "empty"
    REJECTED = "rejected"
    MISCONFIGURED = "misconfigured"
    DETECTOR = "detector"
    UNAVAILABLE = "unavailable"


class Tier(StrEnum):
    """How far a draft is trusted; the three names are Confidence Guardrail's."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Action(StrEnum):
    """What an assessment asks for."""

    SEND = "send"
    RECHECK = "recheck"
    FALLBACK = "fallback"
    ESCALATE = "escalate"
    SILENCE = "silence"


class MessageRole(StrEnum):
    """Who wrote a stored line: an author, or we."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One inbound chat message or comment, as parsed.

    Attributes:
        event_id: the publisher's idempotency key, unique per account; the stream entry id when none came.
        entry_id: id of the stream entry that carried it, such as ``1763761234567-0``.
        user_id: the account whose inbox it is.
        author_id: who wrote it.
        text: 1 to ``Limits.text_chars`` characters, no NUL.
        created_at: when the author wrote it, UTC.
        received_at: when the entry reached Redis, UTC; a hold counts from here.
        language: BCP 47 tag as the publisher gave it, or None.
        attachments: image URLs, at most 16.
        metadata: the publisher's JSON object; only ``labels`` in it is interpreted, see retrieval.
    """

    event_id: str
    entry_id: str
    user_id: str
    scope: Scope
    conversation_id: str
    message_id: str
    author_id: str
    text: str
    created_at: datetime
    received_at: datetime
    language: str | None = None
    attachments: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)

    @property
    def written_at(self) -> datetime:
        """Latest possible time of writing: the earlier of ``created_at`` and the arrival."""
        return min(self.created_at, self.received_at)


class FailurePolicy(StrEnum):
    """What an account wants while the moderation API is down."""

    HOLD = "hold"
    BLOCK = "block"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One version of an account's settings, the newest row of ``ai_rules``; version 0 has no row at all.

    Attributes:
        version: counts up with every change; a decision pins the one it used.
        flagged_keywords: whole words, see ``docs/rules.md``.
        flagged_phrases: whole phrases.
        allowed: entries that cancel a hit inside them.
        rules_on_reply: whether keywords and phrases are also tested on the draft.
        moderation_thresholds: category -> 0..1 from which a score flags; other categories follow the API.
        hold_max_s: longest wait for moderation before the event ends in silence, seconds.
        reply_max_age_s: a message written longer ago than this gets no reply, seconds; checked at its turn,
            before the model is called, when the draft is ready and at delivery.
        languages: language codes it answers in, such as ``en``; empty for any.
        prompt: the account's own instructions; the fixed ones stand before and after them.
        assessment_policy: name and settings of the confidence policy, see ``docs/confidence.md``.
        fallback_texts: language -> text to send when a reply cannot be trusted; when empty the policy's own,
            if it has one, else silence.
    """

    user_id: str
    version: int
    ai_control_enabled: bool = False
    ai_enabled_for_chats: bool = False
    ai_enabled_for_comments: bool = False
    flagged_keywords: tuple[str, ...] = ()
    flagged_phrases: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    rules_on_reply: bool = True
    moderation_thresholds: Mapping[str, float] = field(default_factory=dict)
    moderation_failure: FailurePolicy = FailurePolicy.HOLD
    hold_max_s: float = 3600.0
    reply_max_age_s: float = 86400.0
    languages: tuple[str, ...] = ()
    prompt: str = ""
    assessment_policy: Mapping[str, Json] = field(default_factory=dict)
    fallback_texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open range of code points in the original text, ``text[start:end]``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule, a model or a check noticed; a finding has no effect of its own.

    Attributes:
        code: a stable word, such as ``flagged_keyword`` or ``openai_moderation``.
        severity: whether the finding alone blocks.
        matched_rule: as stored in ``ai_decisions.matched_rule``, such as ``flagged_keyword:spam``.
        evidence: one sentence for a reviewer; may quote the rule, never more than 300 characters.
        how: how a rule matched (``exact``, ``case``, ``leet`` ...), or empty.
        score: 0..1 where the source gives one, else None.
        span: where in the original text, or None when it concerns the whole.
    """

    stage: Stage
    code: str
    severity: Severity
    matched_rule: str
    evidence: str
    how: str = ""
    score: float | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One stored line of a conversation."""

    role: MessageRole
    text: str


class FoundBy(StrEnum):
    """Which of the two searches found a passage."""

    WORDS = "words"
    VECTOR = "vector"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk retrieved for one event.

    Attributes:
        passage_id: ``<document id>#<chunk number>``.
        similarity: 0..1, higher is nearer: the cosine of query and chunk, 0 when negative; of a chunk
            without a vector the share of the query's words it holds. See ``docs/retrieval.md``.
        percentile: 0..1, share of this embedder's background similarities below this one; None exactly when
            the similarity is a share of words or the embedder is not calibrated.
        metadata: the document's own labels (subject, class, source ...).
        found_by: which search found it.
    """

    passage_id: str
    title: str
    text: str
    similarity: float
    percentile: float | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    found_by: FoundBy = FoundBy.WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A passage that a reply cites.

    Attributes:
        number: from 1, as the draft's citation marks count; other numbers were not cited.
        passage_id: ``<document id>#<chunk number>``.
    """

    number: int
    passage_id: str
    title: str

    def shape(self) -> dict[str, int | str]:
        """As the reply stream has it."""
        document_id = self.passage_id.partition("#")[0]
        return {
            "number": self.number,
            "document_id": document_id,
            "passage_id": self.passage_id,
            "title": self.title,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What a search found.

    Attributes:
        passages: best first.
        degraded: why the search was incomplete, as the kind of the embedder's failure
            (``timeout``, ``rate_limited``, ``rejected`` ...); empty when it was complete.
    """

    passages: tuple[Passage, ...] = ()
    degraded: str = ""

    def __iter__(self) -> Iterator[Passage]:
        return iter(self.passages)

    def __len__(self) -> int:
        return len(self.passages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a model may call, with one text argument.

    Attributes:
        description: what the tool does, for the model.
        argument: name of the argument.
        meaning: what the argument says, for the model.
    """

    name: str
    description: str
    argument: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool the model asks us to run; ``arguments`` is its parsed JSON object."""

    call_id: str
    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool, as text for the model."""

    call_id: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRound:
    """One request of the model for tools, with our answers, in the same order."""

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Everything that is sent to a model, independent of the vendor.

    Attributes:
        system: the instructions; nothing in it comes from a document or an author.
        history: earlier lines of the conversation, oldest first.
        question: the event's text.
        passages: the passages as delimited data, sent as a user's message before the question; may be empty.
        fence: the word that delimits passages, here and in results of tools; the system message names it.
        tool_rounds: the tool calls of this event so far, with their results.
        tools: those the model may call; none on the last round, so that it must answer.
    """

    system: str
    history: tuple[Message, ...]
    question: str
    passages: str = ""
    fence: str = ""
    tool_rounds: tuple[ToolRound, ...] = ()
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The cost of a call, in tokens."""

    prompt: int = 0
    completion: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(prompt=self.prompt + other.prompt, completion=self.completion + other.completion)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The answer of a model: text, tool calls or a refusal, at least one of them."""

    text: str
    model: str
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    tokens: Tokens = Tokens()
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationScores:
    """The result of a moderation call.

    Attributes:
        scores: category -> 0..1.
        flagged: the categories the API itself flagged.
        model: the name the API gave.
    """

    scores: Mapping[str, float]
    flagged: frozenset[str]
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """How far a draft can be trusted, and the action that follows.

    Attributes:
        policy: name of the policy that judged, with its version, such as ``calibrated@1``.
        confidence: 0..1.
        category: a policy's own class of problem, or empty.
        passed_checks: names of checks that passed.
        failed_checks: names of checks that failed.
        reasons: sentences for a reviewer.
        signals: measured numbers, by name.
        explanation: one paragraph in plain words.
        diagnostics: the policy's own record as its document defines it.
        fallback_text: what to send instead when the action is ``fallback``, else None.
        support: 0..1, how far the evidence supports the draft, where the policy measures it.
        relevance: 0..1, how far the draft answers the question, where the policy can measure it.
        measured: False when no draft was measured: the policy is off, there was no draft, or the draft states
            nothing that can be right or wrong. ``confidence`` is then no measure of a reply.
    """

    policy: str
    confidence: float
    tier: Tier
    action: Action
    category: str = ""
    passed_checks: tuple[str, ...] = ()
    failed_checks: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    explanation: str = ""
    diagnostics: Mapping[str, Json] = field(default_factory=dict)
    fallback_text: str | None = None
    support: float | None = None
    relevance: float | None = None
    measured: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of a call to a model, numbered from 1 within its stage."""

    number: int
    stage: Stage
    outcome: AttemptOutcome
    duration_ms: float
    waited_s: float = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """One stage of the trace: outcome, duration and details."""

    stage: Stage
    outcome: StageOutcome
    duration_ms: float
    detail: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of one event and all it rests on; immutable.

    Attributes:
        decision_id: UUIDv7; its time is ``decided_at``.
        confidence: 0..1, how sure the deciding stage was; see ``docs/architecture.md``.
        reason_code: a member of ``worker.reasons.Reason``; stored, never renamed.
        reason: one sentence for a reviewer.
        reply: text that goes to the outbox, without citation marks, or None for silence.
        draft: the draft as it was assessed, with its citation marks, or None when no draft is sent.
        sources: the passages that the draft cites.
        send_before: a reply that is not delivered by this time is held back.
        degraded: True when moderation, the search or the model failed or was incomplete.
        remember: True when message and reply enter the stored history.
        quarantine: True when the exchange leaves the stored history.
        rechecked: confidence before and after a recheck, None after it when there was no second draft.
        confidence_log: one entry per draft that the policy of Guardrail assessed, as its document defines it.
        rejected_draft: the draft a post-check flagged; sealed in quarantine, else None.
    """

    decision_id: UUID
    decided_at: datetime
    event: Event
    kind: DecisionKind
    reason_code: str
    reason: str
    confidence: float
    rules_version: int
    matched_rule: str | None = None
    reply: str | None = None
    draft: str | None = None
    sources: tuple[Source, ...] = ()
    send_before: datetime | None = None
    degraded: bool = False
    remember: bool = False
    quarantine: bool = False
    rejected_draft: str | None = None
    findings: tuple[Finding, ...] = ()
    stages: tuple[StageRecord, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    passages: tuple[Passage, ...] = ()
    assessment: Assessment | None = None
    rechecked: tuple[float, float | None] | None = None
    confidence_log: tuple[Mapping[str, Json], ...] = ()
    tokens: Tokens = Tokens()
    models: Mapping[str, str] = field(default_factory=dict)
    prompt_hash: str | None = None
