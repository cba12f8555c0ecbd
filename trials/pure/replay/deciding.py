"""Deciding an event again: the pinned version of the settings, a recording, and perhaps live ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from trials.pure.replay.player import Player
from worker import conversation_endings
from worker.assessment import Delivery, Policy, usable_policy
from worker.endings import Ending, silent_ending
from worker.model import Account, Decision, Json
from worker.pipeline import decide
from worker.ports import Ports
from worker.reasons import Reason
from worker.recordings.recording import AnswerMissing, Recording
from worker.rules import CompiledRules, compile_account_rules
from worker.steps.run import EventCase


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedSettings:
    """One version of an account or a candidate, ready to decide."""

    account: Account
    rules: CompiledRules
    policy: Policy
    delivery: Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One event decided again.

    Attributes:
        decision: None when the recording has no answer to something that was asked.
        missing: the port that would have had to be asked; empty where there is a decision.
        asked: ports that were asked live, in order.
    """

    decision: Decision | None
    missing: str = ""
    asked: tuple[str, ...] = ()


def compiled_version(
    account: Account,
    policy_defaults: Mapping[str, Mapping[str, Json]],
    rules: CompiledRules | None = None,
) -> PinnedSettings:
    """The version as workers compile it; ``rules`` are its compiled rules, if there are some already."""
    policy, delivery, _ = usable_policy(account.assessment_policy, policy_defaults)
    if rules is None:
        rules = compile_account_rules(account)
    return PinnedSettings(account=account, rules=rules, policy=policy, delivery=delivery)


async def replayed(
    recording: Recording,
    version: PinnedSettings,
    *,
    decision_id: UUID,
    overtaken: bool = False,
    live: Ports | None = None,
) -> Replay:
    """The decision made again from a recording; missing answers are asked live, or there is no decision.

    ``overtaken``: people took the conversation before the recorded decision was stored.
    """
    case = EventCase(
        event=recording.event,
        account=version.account,
        rules=version.rules,
        policy=version.policy,
        delivery=version.delivery,
        conversation=recording.conversation,
        budget=recording.budget,
        shed=_shed(recording),
    )
    player = Player(recording=recording, decision_id=decision_id, live=live)
    try:
        decision = await decide(case, player.ports)
    except AnswerMissing as error:
        return Replay(decision=None, missing=error.port, asked=tuple(player.asked))
    finally:
        await player.close()
    if overtaken and decision.reply is not None:
        decision = conversation_endings.without_reply(decision)
    return Replay(decision=replace(decision, recording=None), asked=tuple(player.asked))


def _shed(recording: Recording) -> Ending | None:
    if not recording.shed:
        return None
    code, sentence = recording.shed
    return replace(silent_ending(Reason(code), ""), reason=sentence)
