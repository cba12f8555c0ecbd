"""The account's rules and moderators test a person's text, with the adapters of a worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from review.accounts.rule_matches import compiled_rules
from review.answers.answerable import AnswerRejected
from review.languages import gettext as _
from review.languages import mark
from review.words.decisions import named_rule
from worker.adapters import openai_client, openai_http
from worker.adapters.chat_classifier import ChatClassifier
from worker.adapters.openai_moderation import OpenAIModerator
from worker.adapters.system_clock import SystemClock
from worker.answer_check import AnswerPorts, CheckedAnswer, check_answer
from worker.assessment import parse_policy
from worker.endings import Ending
from worker.errors import HushgateError
from worker.model import OPENAI_MODERATION, Account, Event
from worker.moderation import panel
from worker.reasons import Reason
from worker.settings import ModerationSettings, ReviewSettings
from worker.steps.run import EventCase

PATIENCE_S: Final = 25.0
"""Longest wait of a person for moderation."""
CONNECTIONS: Final = 4
AWAY: Final = frozenset(
    {
        Reason.REPLY_MODERATION_UNAVAILABLE,
        Reason.REPLY_MODERATION_TIMED_OUT,
        Reason.REPLY_MODERATION_MISCONFIGURED,
    }
)
"""Endings without a result of moderation; the others name a fault of the text."""
NO_KEY: Final = mark(
    "Moderation is not configured for the review pages, and nothing is sent unmoderated. Set"
    " HUSHGATE_MODERATION_KEY for `hushgate review`, or HUSHGATE_MODERATION=off everywhere."
)


class AnswerBlocked(AnswerRejected):
    """A rule or a moderator stopped the text; nothing was sent."""


class ModerationAway(HushgateError):
    """Moderation gave no result; nothing was sent, and a retry may help."""


async def check_text(settings: ReviewSettings, account: Account, event: Event, text: str) -> CheckedAnswer:
    """The result of rules and moderation for a text that may be sent.

    Raises:
        AnswerBlocked: a rule matched, or a moderator flagged or refused the text.
        ModerationAway: moderation gave no result.
    """
    if _lacks_key(settings, account):
        raise ModerationAway(_(NO_KEY))
    policy = parse_policy({})  # only drafts of the model are assessed
    case = EventCase(event=event, account=account, rules=await compiled_rules(account), policy=policy)
    async with _moderation_ports(settings) as ports:
        try:
            async with asyncio.timeout(PATIENCE_S):
                checked = await check_answer(text, case, ports)
        except TimeoutError as error:
            text = _("Moderation did not answer within %(seconds)s s.")
            raise ModerationAway(text % {"seconds": round(PATIENCE_S)}) from error
    if checked.blocked is not None:
        raise _refusal(checked.blocked)
    return checked


def _refusal(ending: Ending) -> AnswerBlocked | ModerationAway:
    why = ending.reason.partition(": ")[2] or ending.reason
    if ending.reason_code in AWAY:
        text = _("Moderation gave no result, and nothing is sent unmoderated: %(why)s")
        return ModerationAway(text % {"why": why})
    if ending.reason_code is Reason.REPLY_FLAGGED_RULE:
        text = _("The text contains %(rule)s. Change the text.")
        return AnswerBlocked(text % {"rule": named_rule(ending.matched_rule or "")})
    if ending.reason_code is Reason.REPLY_UNSAFE:
        return AnswerBlocked(_("The text has hidden characters, which readers do not see. Type it again."))
    return AnswerBlocked(_("Moderation stops this text: %(why)s") % {"why": why})


def _lacks_key(settings: ReviewSettings, account: Account) -> bool:
    """Whether the moderation API would be asked without a server or its key."""
    asked = any(each.endpoint == OPENAI_MODERATION for each in panel(account))
    return asked and settings.moderation_problem is not None


@asynccontextmanager
async def _moderation_ports(settings: ReviewSettings) -> AsyncIterator[AnswerPorts]:
    """The moderators of the settings, for one check."""
    async with AsyncExitStack() as stack:
        moderator = None
        if (server := settings.servers.moderation) is not None:
            moderator = OpenAIModerator(
                await _client(stack, server.url, server.key),
                model=server.model,
                timeout_s=settings.moderation_timeout_s,
                watch=openai_client.Watch("moderation"),
            )
        classifiers = {}
        for name, each in settings.classifiers.items():
            client = await _client(stack, each.base_url, _classifier_key(settings, name))
            watch = openai_client.Watch(f"classifier {name}")
            classifiers[name] = ChatClassifier(client, name=name, endpoint=each, watch=watch)
        yield AnswerPorts(clock=SystemClock(), moderator=moderator, classifiers=classifiers)


async def _client(stack: AsyncExitStack, url: str, key: str | None) -> openai_http.ApiClient:
    client = openai_client.client(url, key, connections=CONNECTIONS)
    stack.push_async_callback(client.close)
    return client


def _classifier_key(settings: ModerationSettings, name: str) -> str | None:
    key = settings.classifier_keys.get(name)
    return key.get_secret_value() if key else None
