"""One decision for every reason that another event of the conversation causes, on a running engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from tests.support.running import Running, eventually
from worker.reasons import Reason

HOURS: Final = {
    "Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]
}
QUESTION: Final = "When are you open on weekdays?"
AWAY: Final = "I am out of the office until Monday."
SUNDAY: Final = "Is the shop open on Sunday?"
GREETING: Final = "I am Ann, I will help you."
THANKS: Final = "Thank you, that was all."
TALK: Final = "talk"
SLOW_S: Final = 0.7
"""Latency of the model while another event is published."""

Scenario: TypeAlias = Callable[[Running, str], dict[str, Any]]
"""Makes one decision of an account; its audit row."""


def agent(engine: Running, user_id: str, text: str = GREETING, **more: Any) -> str:
    """Publish a message of a person of the team in the conversation; its event id."""
    return engine.publish(user_id, text, type="agent_message", conversation_id=TALK, author_id="ann", **more)


def ask(engine: Running, user_id: str, text: str = QUESTION, **more: Any) -> str:
    """Publish a question and wait until the model is asked, which takes its time; its event id."""
    engine.sandbox.set_latency(chat=SLOW_S)
    before = engine.sandbox.calls("chat")
    event_id = engine.publish(user_id, text, conversation_id=TALK, **more)
    eventually(lambda: engine.sandbox.calls("chat") > before, "the model to be asked")
    return event_id


def _agent_message(engine: Running, user_id: str) -> dict[str, Any]:
    return engine.decided(user_id, agent(engine, user_id))


def _owned(engine: Running, user_id: str) -> dict[str, Any]:
    engine.decided(user_id, agent(engine, user_id))
    return engine.decide(user_id, QUESTION, conversation_id=TALK)


def _taken_over(engine: Running, user_id: str) -> dict[str, Any]:
    asked = ask(engine, user_id)
    agent(engine, user_id)
    return engine.decided(user_id, asked)


def _superseded(engine: Running, user_id: str) -> dict[str, Any]:
    asked = ask(engine, user_id)
    engine.publish(user_id, SUNDAY, conversation_id=TALK)
    return engine.decided(user_id, asked)


def _withdrawn(engine: Running, user_id: str) -> dict[str, Any]:
    asked = ask(engine, user_id, message_id="m1")
    engine.publish(user_id, "", type="message_deleted", conversation_id=TALK, message_id="m1")
    return engine.decided(user_id, asked)


def _edited(engine: Running, user_id: str) -> dict[str, Any]:
    engine.decide(user_id, QUESTION, conversation_id=TALK, message_id="m1")
    return engine.decide(user_id, SUNDAY, type="message_edited", conversation_id=TALK, message_id="m1")


def _deleted(engine: Running, user_id: str) -> dict[str, Any]:
    engine.decide(user_id, QUESTION, conversation_id=TALK, message_id="m1")
    return engine.decide(user_id, "", type="message_deleted", conversation_id=TALK, message_id="m1")


def _merged(engine: Running, user_id: str) -> dict[str, Any]:
    first = engine.publish(user_id, QUESTION, conversation_id=TALK)
    engine.publish(user_id, SUNDAY, conversation_id=TALK)
    return engine.decided(user_id, first)


def _acknowledged(engine: Running, user_id: str) -> dict[str, Any]:
    engine.decide(user_id, QUESTION, conversation_id=TALK)
    return engine.decide(user_id, THANKS, conversation_id=TALK)


def _repeated(engine: Running, user_id: str) -> dict[str, Any]:
    engine.decide(user_id, QUESTION, conversation_id=TALK, message_id="m1")
    return engine.decide(user_id, QUESTION, conversation_id=TALK, message_id="m1")


def _outdated(engine: Running, user_id: str) -> dict[str, Any]:
    engine.decide(user_id, "", type="message_deleted", conversation_id=TALK, message_id="m1")
    return engine.decide(user_id, SUNDAY, type="message_edited", conversation_id=TALK, message_id="m1")


def _looped(engine: Running, user_id: str) -> dict[str, Any]:
    engine.decide(user_id, QUESTION, conversation_id=TALK)
    return engine.decide(user_id, AWAY, conversation_id=TALK)


def _looped_again(engine: Running, user_id: str) -> dict[str, Any]:
    _looped(engine, user_id)
    ended = "UPDATE conversations SET people_until = now() - interval '1 s' WHERE user_id = %s"
    engine.database.execute(ended, (user_id,))  # the worker's clock may be some milliseconds behind
    return engine.decide(user_id, AWAY, conversation_id=TALK)


def _rated(engine: Running, user_id: str) -> dict[str, Any]:
    engine.decide(user_id, QUESTION, conversation_id=TALK, message_id="m1")
    return rate(engine, user_id, thumb="down")


def _rated_unknown(engine: Running, user_id: str) -> dict[str, Any]:
    return rate(engine, user_id, thumb="up")


def rate(
    engine: Running, user_id: str, text: str = "", message_id: str = "m1", **marks: Any
) -> dict[str, Any]:
    """Publish feedback about the reply to a message of the conversation; its audit row."""
    event_id = engine.publish(
        user_id, text, type="feedback", feedback=marks, conversation_id=TALK, message_id=message_id
    )
    return engine.decided(user_id, event_id)


SCENARIOS: Final[Mapping[Reason, Scenario]] = {
    Reason.OWNED_BY_PEOPLE: _owned,
    Reason.TAKEN_OVER: _taken_over,
    Reason.AGENT_MESSAGE: _agent_message,
    Reason.BURST_MERGED: _merged,
    Reason.ACKNOWLEDGED: _acknowledged,
    Reason.SUPERSEDED: _superseded,
    Reason.MESSAGE_WITHDRAWN: _withdrawn,
    Reason.MESSAGE_EDITED: _edited,
    Reason.MESSAGE_DELETED: _deleted,
    Reason.MESSAGE_REPEATED: _repeated,
    Reason.CHANGE_OUTDATED: _outdated,
    Reason.FEEDBACK: _rated,
    Reason.FEEDBACK_UNMATCHED: _rated_unknown,
    Reason.AUTO_REPLY_LOOP_ESCALATED: _looped,
    Reason.AUTO_REPLY_LOOP: _looped_again,
}
SETTINGS: Final[Mapping[Reason, Mapping[str, Any]]] = {Reason.BURST_MERGED: {"burst_window_s": 10.0}}


def conversation_ending(engine: Running, reason: Reason) -> dict[str, Any]:
    """The audit row of a decision that ends for this reason, in an account of its own."""
    user_id = engine.account(documents=HOURS, **SETTINGS.get(reason, {}))
    row = SCENARIOS[reason](engine, user_id)
    engine.sandbox.reset()
    return row
