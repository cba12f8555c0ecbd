"""Deciding an event again: the pinned version of the settings, a recording, and perhaps live ports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from trials.pure.replay.player import Player
from worker import conversation_endings
from worker.endings import Ending, silent_ending
from worker.model import Decision
from worker.pipeline import decide
from worker.ports import Ports
from worker.reasons import Reason
from worker.recordings.recording import AnswerMissing, Recording
from worker.steps.run import PinnedSettings


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


async def replayed(
    recording: Recording,
    settings: PinnedSettings,
    *,
    decision_id: UUID,
    overtaken: bool = False,
    live: Ports | None = None,
) -> Replay:
    """The decision made again from a recording; missing answers are asked live, or there is no decision.

    ``overtaken``: people took the conversation before the recorded decision was stored.
    """
    case = settings.case(recording.event, recording.conversation, recording.budget, _shed(recording))
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
