"""The guards of message and reply: scope, age, newer events, attachments, loops, rules, moderation.

Each returns the ending of an event that it stops, else None.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from worker import attachments, conversation_endings, endings, moderation, reply_loops, scope
from worker.assessment import cited_sources
from worker.displayed import revealed_text
from worker.endings import (
    MESSAGE,
    REPLY,
    Draft,
    Ending,
    GuardedText,
)
from worker.errors import EndpointMisconfigured, ModerationRejected
from worker.generation import FIXED_TEXTS, SEARCH_TOOL
from worker.injections import INJECTION_CHECK, injection_in
from worker.model import (
    LINKS_OF_PASSAGES,
    OPENAI_MODERATION,
    UNKNOWN_AUTHOR,
    Account,
    Event,
    EventType,
    FailurePolicy,
    Finding,
    Json,
    Message,
    ModeratorChoice,
    NewerEvent,
    Severity,
    Stage,
    StageOutcome,
    WriterSign,
)
from worker.moderation import ModeratorResult
from worker.reasons import Reason
from worker.reply_content import Sources, content_findings, hidden_findings
from worker.rules.findings import rule_findings
from worker.steps import moderators
from worker.steps.moderators import is_limited, is_unreadable
from worker.steps.run import GuardedRun, Run
from worker.trace import StageNote


def scope_ending(run: GuardedRun) -> Ending | None:
    """The ending when the account's settings or the event's age exclude an answer."""
    with run.trace.stage(Stage.SCOPE) as note:
        ending = scope.closed_ending(run.case.event, run.case.account, run.ports.clock.now())
        ending = ending or scope.budget_ending(run.case.budget)
        note.outcome = StageOutcome.FLAGGED if ending else StageOutcome.PASSED
    return ending


def too_late_ending(run: Run) -> Ending | None:
    """The ending when the message became too old during a hold or while the answer was made."""
    return scope.late_ending(run.case.event, run.case.account, run.ports.clock.now())


async def overtaken_ending(run: Run) -> Ending | None:
    """The ending when events came while the answer was made that forbid it."""
    return await _ending_by_newer(run, conversation_endings.overtaken_ending)


async def merged_ending(run: Run) -> Ending | None:
    """The ending of a message whose author wrote again within the account's window; waits for that.

    A message that is older than the window, as in a backlog, does not wait.
    """
    event, account, clock = run.case.event, run.case.account, run.ports.clock
    if run.ports.arrivals is None or not account.burst_window_s:
        return None
    ending = await _ending_by_newer(run, conversation_endings.merged_ending)
    wait_s = conversation_endings.burst_wait_s(event, account, clock.now())
    if ending is not None or not wait_s:
        return ending
    await clock.sleep(wait_s)
    return await _ending_by_newer(run, conversation_endings.merged_ending)


async def _ending_by_newer(
    run: Run, ending_of: Callable[[Event, Collection[NewerEvent], Account], Ending | None]
) -> Ending | None:
    """The ending by the events that wait behind this one: an edit of its message counts last."""
    if run.ports.arrivals is None:
        return None
    case = run.case
    newer = await run.ports.arrivals.newer(case.event)
    ending = ending_of(case.event, newer, case.account)
    if ending is None and run.edits_left:
        return conversation_endings.edited_meanwhile(case.event, case.conversation, newer)
    return ending


async def unseen_attachment_ending(run: Run) -> Ending | None:
    """The ending of a message that only a person who sees its attachments can answer."""
    ending = attachments.handed_over_ending(run.case.event, run.trace.unchecked_images)
    if ending is None:
        return None
    return too_late_ending(run) or await overtaken_ending(run) or ending


def looped_ending(run: Run, history: Sequence[Message]) -> Ending | None:
    """The ending of a message that an automatic replier wrote as an answer to the AI."""
    event, account = run.case.event, run.case.account
    run.trace.sign = reply_loops.sign_of(event, history)
    ending = reply_loops.loop_ending(event, run.trace.sign, history, account, run.ports.clock.now())
    if ending is not None:
        run.trace.sign = WriterSign.LOOP
    return ending


def rule_ending(run: GuardedRun, text: str, subject: GuardedText) -> Ending | None:
    """The ending when one of the account's rules matches."""
    if subject is REPLY and not run.case.account.rules_on_reply:
        return None
    with run.trace.stage(subject.rules_stage) as note:
        author = run.case.author if subject is MESSAGE else UNKNOWN_AUTHOR
        found = rule_findings(run.case.rules, text, stage=subject.rules_stage, author=author)
        found = found or _instruction_findings(run, text, subject)
        if not found:
            return None
        note.outcome = StageOutcome.FLAGGED
        note.detail["matched_rule"] = found[0].matched_rule
    run.trace.found(*found)
    return endings.blocked_ending(subject.rule, found[0])


def _instruction_findings(run: GuardedRun, text: str, subject: GuardedText) -> tuple[Finding, ...]:
    """The finding about an author's instruction to the model; its evidence quotes no message."""
    if subject is not MESSAGE or not run.case.account.injection_check:
        return ()
    found = injection_in(text)
    if found is None:
        return ()
    kinds = ", ".join(kind.replace("_", " ") for kind in found.kinds)
    return (
        Finding(
            stage=subject.rules_stage,
            code=INJECTION_CHECK,
            severity=Severity.BLOCK,
            matched_rule=f"{INJECTION_CHECK}:{found.kinds[0]}",
            evidence=f"Instruction to the model: {kinds}",
        ),
    )


def split_instruction_ending(run: GuardedRun, before: str, text: str) -> Ending | None:
    """The ending of an instruction to the model that a message completes."""
    found = _instruction_findings(run, f"{before}\n{text}", MESSAGE)
    if not found or _instruction_findings(run, before, MESSAGE):
        return None
    with run.trace.stage(Stage.RULES) as note:
        note.outcome = StageOutcome.FLAGGED
        note.detail["matched_rule"] = found[0].matched_rule
    run.trace.found(*found)
    return endings.blocked_ending(MESSAGE.rule, found[0])


def content_ending(run: GuardedRun, draft: Draft, history: Sequence[Message]) -> Ending | None:
    """The ending of a draft with a foreign link, markup, a secret ...: a person sees it before a customer."""
    found = content_findings(draft.reply, _sources(run, draft, history))
    if not found:
        return None
    with run.trace.stage(Stage.RULES_REPLY) as note:
        note.outcome = StageOutcome.FLAGGED
        note.detail["matched_rule"] = found[0].matched_rule
    run.trace.found(*found)
    ending = endings.silent_ending(Reason.REPLY_UNSAFE, found[0].evidence)
    return replace(ending, matched_rule=found[0].matched_rule)


def _sources(run: GuardedRun, draft: Draft, history: Sequence[Message]) -> Sources:
    """What a draft may repeat; one without citations may have the links of all its passages."""
    account, texts = run.case.account, [f"{each.title}\n{each.text}" for each in draft.passages]
    cited = [texts[each.number - 1] for each in cited_sources(draft.text, draft.passages)] or texts
    of_passages = LINKS_OF_PASSAGES in account.reply_links
    is_unknown = run.case.event.check is not None and not texts  # another bot's draft, without its passages
    conversation = (run.case.event.text, *(line.text for line in history))
    return Sources(
        linked=(account.prompt, *cited) if of_passages else (),
        shown=None if is_unknown else (account.prompt, *texts, *conversation),
        domains=tuple(each for each in account.reply_links if each != LINKS_OF_PASSAGES),
        instructions=FIXED_TEXTS,
        marks=(SEARCH_TOOL, draft.fence),
    )


def hidden_ending(run: GuardedRun, text: str) -> Ending | None:
    """The ending of a person's answer with text that the person does not see."""
    found = hidden_findings(text)
    run.trace.found(*found)
    return endings.silent_ending(Reason.REPLY_UNSAFE, found[0].evidence) if found else None


async def moderation_ending(run: GuardedRun, text: str, subject: GuardedText) -> Ending | None:
    """The ending when the account's moderators block a text, or give no result and it may not pass."""
    choices = _switched_on(run)
    if not choices:
        return None
    with run.trace.stage(subject.moderation_stage) as note:
        concluded, results = await moderators.ask(run, choices, run.masker.mask(revealed_text(text)), subject)
        given = [each for each in results if each is not None]
        _note_results(run, note, choices, results)
        if any(each.error is not None for each in given):
            run.trace.degraded = True
        if (blocking := concluded.blocked_by) is None:
            return None
        if run.case.account.moderators:
            note.detail["decided_by"] = blocking.choice.name
        if blocking.finding is None:
            note.outcome = StageOutcome.FAILED
            return _late_after_hold_ending(run, subject, blocking) or _unmoderated_ending(
                run, subject, blocking
            )
        note.outcome = StageOutcome.FLAGGED
        note.detail["matched_rule"] = blocking.finding.matched_rule
    others = (each.finding for each in given if each.finding and each is not blocking)
    run.trace.found(blocking.finding, *others)
    return endings.blocked_ending(subject.flagged, blocking.finding)


def _switched_on(run: GuardedRun) -> tuple[ModeratorChoice, ...]:
    """The account's moderators, without the moderation API while the deployment has it switched off."""
    choices = moderation.panel(run.case.account)
    if run.ports.moderator is not None:
        return choices
    return tuple(each for each in choices if each.endpoint != OPENAI_MODERATION)


def _note_results(
    run: GuardedRun,
    note: StageNote,
    choices: Sequence[ModeratorChoice],
    results: Sequence[ModeratorResult | None],
) -> None:
    """The scores near a threshold and, where the account chose moderators, one record of each."""
    given = [each for each in results if each is not None]
    answered = [each for each in given if each.scores is not None]
    if not answered:
        note.outcome = StageOutcome.FAILED
        note.detail["moderated"] = False
    else:
        highest: dict[str, Json] = {}
        for each in answered:
            assert each.scores is not None  # it answered
            highest |= moderation.margins(each.scores, each.choice)
        note.detail["highest"] = highest
    if run.case.account.moderators:
        note.detail["moderators"] = [
            moderation.record(choice, result) for choice, result in zip(choices, results, strict=True)
        ]


def _late_after_hold_ending(run: GuardedRun, subject: GuardedText, result: ModeratorResult) -> Ending | None:
    """The ending of a message that became too old for a reply during its hold."""
    event, account = run.case.event, run.case.account
    policy = result.choice.failure or account.moderation_failure
    if policy != FailurePolicy.HOLD or subject is not MESSAGE or event.type is not EventType.MESSAGE:
        return None
    return scope.late_ending(event, account, run.ports.clock.now())


def _unmoderated_ending(run: GuardedRun, subject: GuardedText, result: ModeratorResult) -> Ending:
    """The ending without a result where the text may not pass without one."""
    error = result.error
    sentence = f"{result.choice.name}: {error}" if run.case.account.moderators else str(error)
    match error:
        case EndpointMisconfigured():
            code = subject.misconfigured
        case ModerationRejected():
            code = subject.rejected
        case _ if is_limited(error):
            code = Reason.TOO_LATE
        case _ if result.choice.failure == FailurePolicy.HOLD and not is_unreadable(error):
            code, sentence = subject.timed_out, f"held too long, last: {sentence}"
        case _:
            code = subject.unavailable
    return endings.silent_ending(code, sentence, confidence=0.0)
