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
from worker.model.assessment import Action, Assessment, Quote, ReadSentence, Tier, Verdict
from worker.model.check import CheckedQuote, CheckedSentence, CheckOutcome, CheckVerdict
from worker.model.conversation import (
    AI_ONLY,
    UNKNOWN_AUTHOR,
    Author,
    ConversationState,
    NewerEvent,
    Owner,
    StaleReply,
)
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
