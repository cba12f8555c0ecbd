"""The domain types: immutable values from the stream entry to the audit row."""

from worker.model.account import (
    LINKS_OF_PASSAGES,
    OPENAI_MODERATION,
    Account,
    Combination,
    FailurePolicy,
    ModeratorChoice,
    RuleLevel,
    Shedding,
)
from worker.model.assessment import Action, Assessment, Tier
from worker.model.author import UNKNOWN_AUTHOR, Author
from worker.model.check import CheckedQuote, CheckedSentence, CheckOutcome, CheckVerdict
from worker.model.conversation import AI_ONLY, ConversationState, NewerEvent, Owner, StaleReply
from worker.model.costs import (
    NANO,
    BudgetAction,
    BudgetPeriod,
    BudgetReached,
    CostLine,
    ModelPrice,
    PriceTable,
    Usage,
)
from worker.model.decision import Decision, DecisionKind
from worker.model.escalation import Escalation, EscalationAction, Weekday
from worker.model.event import Event, EventType, GivenCheck, Json, Message, MessageRole, Scope, WriterSign
from worker.model.feedback import Feedback, Thumb
from worker.model.findings import Finding, ModerationScores, Severity, Span
from worker.model.generation import Completion, Prompt, Tokens, Tool, ToolCall, ToolResult, ToolRound
from worker.model.held import HeldDraft, HeldKind, ReplyMode
from worker.model.passages import FoundBy, Passage, Retrieved, ScreenedPassage, Source
from worker.model.reading import Quote, ReadSentence, Verdict
from worker.model.stages import (
    STAGES,
    Attempt,
    AttemptOutcome,
    CallPurpose,
    ModelCall,
    Stage,
    StageOutcome,
    StageRecord,
)
from worker.model.trace_context import TRACE_FIELDS, TraceContext, trace_headers

__all__ = [
    "AI_ONLY",
    "LINKS_OF_PASSAGES",
    "NANO",
    "OPENAI_MODERATION",
    "STAGES",
    "TRACE_FIELDS",
    "UNKNOWN_AUTHOR",
    "Account",
    "Action",
    "Assessment",
    "Attempt",
    "AttemptOutcome",
    "Author",
    "BudgetAction",
    "BudgetPeriod",
    "BudgetReached",
    "CallPurpose",
    "CheckOutcome",
    "CheckVerdict",
    "CheckedQuote",
    "CheckedSentence",
    "Combination",
    "Completion",
    "ConversationState",
    "CostLine",
    "Decision",
    "DecisionKind",
    "Escalation",
    "EscalationAction",
    "Event",
    "EventType",
    "FailurePolicy",
    "Feedback",
    "Finding",
    "FoundBy",
    "GivenCheck",
    "HeldDraft",
    "HeldKind",
    "Json",
    "Message",
    "MessageRole",
    "ModelCall",
    "ModelPrice",
    "ModerationScores",
    "ModeratorChoice",
    "NewerEvent",
    "Owner",
    "Passage",
    "PriceTable",
    "Prompt",
    "Quote",
    "ReadSentence",
    "ReplyMode",
    "Retrieved",
    "RuleLevel",
    "Scope",
    "ScreenedPassage",
    "Severity",
    "Shedding",
    "Source",
    "Span",
    "Stage",
    "StageOutcome",
    "StageRecord",
    "StaleReply",
    "Thumb",
    "Tier",
    "Tokens",
    "Tool",
    "ToolCall",
    "ToolResult",
    "ToolRound",
    "TraceContext",
    "Usage",
    "Verdict",
    "Weekday",
    "WriterSign",
    "trace_headers",
]
