"""Lets the team answer in Slack: asks about each message that waits, and does what people press.

    HUSHGATE_URL=https://hushgate.example HUSHGATE_TOKEN=hg_... PEOPLE_TOKENS=people.json ...

HUSHGATE_TOKEN reads (scopes `read`, `answer`). PEOPLE_TOKENS is a file such as `{"U0LEE": "hg_..."}`: each
person answers with an API token of their own (scopes `answer`, `review`), so that Hushgate knows who answered
and what they may do. Presses wait in a stream: after a crash they are done once, by their `answer_id`.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode
from uuid import NAMESPACE_URL, uuid5

import redis

from . import slack, slack_forms
from .client import call
from .consumer import ESCALATIONS, EVENTS, REPLIES, Consumer
from .environment import hushgate, setting
from .hushgate import Away, Hushgate, Refused, conversation_path
from .lease import LEASE_S, Lease
from .recipe import ANY_TOKEN, Gone, Json, PayloadError, Request, SendRefused, Setup, TryLater, find, read

POLL_S: Final = 5.0
"""Between two polls while events, replies or escalations come; each is a line of Hushgate's access log."""
QUIET_S: Final = 600.0
"""The same while none come: drafts grow too old, and people close messages on the pages."""
STREAMS: Final = (EVENTS, REPLIES, ESCALATIONS)
BLOCK_S: Final = min(1.0, LEASE_S / 4)
ANSWER_S: Final = 15
"""Moderation of an answer takes its time."""
PAGE: Final = 500
ACTIONS: Final = {"approve": "approve", "edited": "edit"}
LOG: Final = logging.getLogger("desk")


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Log what cannot be done, and go on: only Slack, Hushgate and Redis make the desk wait."""
    try:
        yield
    except (Refused, SendRefused, KeyError, ValueError) as error:
        LOG.warning("%s: %s", what, error)


class Desk:
    """The team's place in Slack for one account, whatever channel its customers write in."""

    def __init__(
        self, client: redis.Redis, inbox: Setup, hushgate: Hushgate, *, url: str, token: str, people: Path
    ) -> None:
        self.redis, self.inbox, self.hushgate = client, inbox, hushgate
        self.url, self.token, self.people = url, token, people
        group = f"{slack.NAME}:{inbox.account}"
        self.asked, self.presses = f"{group}:asked", f"{group}:presses"
        self.lease = Lease(client, f"{group}:desk", f"desk-{os.getpid()}-{id(self)}")
        self.polled_at = -QUIET_S
        self.traffic: list[object] = []

    def run(self) -> None:
        """Ask and answer for ever."""
        while True:
            try:
                self.step()
            except (TryLater, Away, redis.RedisError) as error:
                LOG.warning("%s", error)
                time.sleep(min(getattr(error, "after_s", 1.0), 5.0))

    def step(self) -> None:
        """Do what was pressed, then ask about what waits when something may have begun to wait."""
        if not self.lease.take():
            time.sleep(BLOCK_S)
            return
        entries: Any = self.redis.xread({self.presses: "0"}, count=1, block=math.ceil(BLOCK_S * 1000))
        for entry_id, fields in entries[0][1] if entries else ():
            with _logged(f"press {entry_id}"):
                self.press(json.loads(fields["data"]))
            self.redis.xdel(self.presses, entry_id)
        if self.is_due() and self.lease.renew():
            with _logged("poll"):
                self.poll()

    def is_due(self) -> bool:
        """Whether a stream has other entries than before the last whole poll, or that was long ago."""
        quiet_s = time.monotonic() - self.polled_at
        return quiet_s >= QUIET_S or (quiet_s >= POLL_S and self.newest() != self.traffic)

    def newest(self) -> list[object]:
        """What changes when an entry is added to a stream, or removed as its event was decided."""
        found: list[object] = []
        for stream in STREAMS:
            try:
                entries: Any = self.redis.xinfo_stream(stream)
                found.append((entries["length"], entries["last-generated-id"]))
            except redis.ResponseError:  # no entry was ever added
                found.append(None)
        return found

    def poll(self) -> None:
        """Ask about what began to wait; say who answered what no longer waits."""
        self.polled_at, self.traffic, traffic = time.monotonic(), [], self.newest()
        waiting = self.waiting()
        asked: Any = self.redis.hgetall(self.asked)
        for decision_id in waiting:
            if not asked.get(decision_id) and self.lease.renew():
                with _logged(decision_id):
                    self.ask(decision_id, was_tried=decision_id in asked)
        for decision_id in asked.keys() - set(waiting):
            if self.lease.renew():
                with _logged(decision_id):
                    self.close(decision_id)
        self.traffic = traffic

    def waiting(self) -> list[str]:
        """The decisions of the account that wait for a person, the oldest first."""
        found: list[str] = []
        query = {"account": self.inbox.account, "limit": str(PAGE)}
        while True:
            page = self.hushgate.call("GET", f"waiting?{urlencode(query)}")
            found += [read(each, "decision_id", str) for each in read(page, "waiting", list)]
            if not (cursor := find(page, "next", str)):
                return found
            query["cursor"] = cursor

    def ask(self, decision_id: str, *, was_tried: bool) -> None:
        """Post the message with its buttons once: after a crash it is looked for."""
        stamp = self.posted_before(decision_id) if was_tried else None
        if stamp is None:
            body = self.shown(decision_id)
            self.redis.hset(self.asked, decision_id, "")
            try:
                stamp = read(self.slack("/chat.postMessage", body), "ts", str)
            except TryLater as error:
                if error.is_limit:  # Slack took nothing
                    self.redis.hdel(self.asked, decision_id)
                raise
        self.redis.hset(self.asked, decision_id, stamp)

    def posted_before(self, decision_id: str) -> str | None:
        """The time stamp of our message about a decision, among the newest of the place."""
        query = {"channel": self.inbox.place, "include_all_metadata": "true", "limit": "200"}
        answer = self.slack(f"/conversations.history?{urlencode(query)}", None)
        return slack.sent_before(answer, {}, self.inbox, decision_id)

    def shown(self, decision_id: str, note: str = "") -> Json:
        """The message about a decision."""
        decision = self.hushgate.call("GET", f"decisions/{quote(decision_id)}")
        drafts = self.drafts(decision_id)
        body = slack_forms.waiting(decision, drafts, self.link(decision_id), note)
        metadata = {"event_type": "hushgate_waiting", "event_payload": {"key": decision_id}}
        return body | {"channel": self.inbox.place, "metadata": metadata}

    def close(self, decision_id: str, answers: Sequence[object] = (), who: str = "") -> None:
        """Replace the message by who did what: by ``answers``, or what Hushgate stores."""
        try:
            stored = self.drafts(decision_id)
        except Refused as refused:  # it is no longer stored, or not shown to us
            stored = {"answers": [], "covered": [str(refused)]}
        line, text = slack_forms.answered(answers or stored["answers"], who)
        if stamp := self.stamp(decision_id):
            shown = "" if stored["covered"] else text
            self.update(stamp, slack_forms.closed(line, self.link(decision_id), shown))
        self.redis.hdel(self.asked, decision_id)

    def press(self, press: Json) -> None:
        """Do what a person pressed; what cannot be done is said to this person only."""
        user, decision_id = read(press, "user", str), read(press, "decision", str)
        try:
            token = self.tokens().get(user, "")
        except (OSError, ValueError) as error:
            LOG.warning("PEOPLE_TOKENS: %s", error)
            self.notify(press, "Hushgate cannot read PEOPLE_TOKENS. When that is corrected, press again.")
            return
        if not ANY_TOKEN.fullmatch(token):
            self.notify(press, "Hushgate does not know you here: PEOPLE_TOKENS has no API token of yours.")
        elif not self.stamp(decision_id):
            self.notify(press, "This message was answered.")
        else:
            try:
                self.act(press, user, self.hushgate.as_person(token))
            except Refused as refused:
                self.refused(press, refused)
            except Away:
                self.notify(press, "Hushgate does not answer. Press again.")

    def act(self, press: Json, user: str, person: Hushgate) -> None:
        """Open the form, take the conversation, or answer."""
        decision_id = press["decision"]
        drafts = person.call("GET", f"decisions/{quote(decision_id)}/drafts")
        if press["action"] == "edit":
            view = slack_forms.form(press, drafts)
            try:
                self.slack("/views.open", {"trigger_id": press["trigger"], "view": view})
            except SendRefused:  # three seconds after the press
                self.notify(press, "Slack did not open the form in time. Press again.")
        elif press["action"] == "take":
            decision = self.hushgate.call("GET", f"decisions/{quote(decision_id)}")
            conversation = read(decision, "conversation_id", str)
            person.call("POST", f"{conversation_path(self.inbox.account, conversation)}/take")
            shown = self.shown(decision_id, f"<@{user}> took the conversation.")
            self.update(read({"ts": self.stamp(decision_id)}, "ts", str), shown)
        else:
            path = f"decisions/{quote(decision_id)}/answers"
            stored = person.call("POST", path, answer_of(press, drafts), timeout_s=ANSWER_S)
            with suppress(Away):  # the next poll closes the message
                self.close(decision_id, [read(stored, "answer", dict)], f"<@{user}>")

    def refused(self, press: Json, refused: Refused) -> None:
        """Say why; another answer that was stored first closes the message."""
        if answers := refused.body.get("answers"):
            self.close(press["decision"], answers)
            self.notify(press, "Another answer was stored first.")
        else:
            self.notify(press, str(refused))

    def tokens(self) -> Mapping[str, str]:
        """The API tokens of people by their Slack id; read again for each press, as people come and go."""
        found = json.loads(self.people.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
            raise PayloadError(f"{self.people.name}: expected an object of texts, got another value")
        return found

    def notify(self, press: Json, text: str) -> None:
        """Show a text to the person who pressed, with what this person wrote."""
        if written := press.get("text"):
            text = f"{text}\n\nYour text:\n{written}"
        body = {"channel": self.inbox.place, "user": press["user"], **slack_forms.notice(text)}
        self.slack("/chat.postEphemeral", body)

    def update(self, stamp: str, body: Json) -> None:
        """Change our message; people may have deleted it."""
        with suppress(Gone):
            self.slack("/chat.update", body | {"channel": self.inbox.place, "ts": stamp})

    def stamp(self, decision_id: str) -> str | None:
        """The time stamp of the message about a decision while it waits."""
        found: Any = self.redis.hget(self.asked, decision_id)
        return found or None

    def drafts(self, decision_id: str) -> Json:
        """Drafts, answers and covers of a decision."""
        return self.hushgate.call("GET", f"decisions/{quote(decision_id)}/drafts")

    def link(self, decision_id: str) -> str:
        """The page of a decision."""
        return f"{self.hushgate.url}/decisions/{quote(decision_id)}"

    def slack(self, path: str, body: Json | None) -> Json:
        """An answer of Slack."""
        request = Request(method="GET" if body is None else "POST", path=path, body=body)
        answer = call(self.url, request, headers=slack.RECIPE.credentials(self.token), key="")
        slack.check_answer(answer)
        return answer


def answer_of(press: Json, drafts: Json) -> Json:
    """The body of an answer: with the draft that the person saw, and the same id when it is repeated."""
    name = f"{press['decision']}/{press['user']}/{press['action']}/{press['at']}"
    body: Json = {"answer_id": str(uuid5(NAMESPACE_URL, name))}
    others = [each for each in read(drafts, "answers", list) if each["id"] != body["answer_id"]]
    if others:
        body["seen"] = others[-1]["id"]
    if press["action"] == "reject":
        return body | {"action": "dismiss"}
    if press["action"] == "edited":
        body["text"] = press["text"]
    if not press["draft"]:
        return body | {"action": "write"}
    return body | {"action": ACTIONS[press["action"]], "draft": int(press["draft"])}


def make_desk(consumer: Consumer) -> Desk | None:
    """The desk beside a consumer; None in another channel than Slack, and without HUSHGATE_URL.

    The consumer then announces no escalations: the desk shows them, with buttons.
    """
    if consumer.channel.name != slack.NAME or (api := hushgate()) is None:
        return None
    setting("ESCALATION_PLACE")
    del consumer.handlers[ESCALATIONS]
    return Desk(
        consumer.redis,
        consumer.inbox,
        api,
        url=consumer.url,
        token=consumer.token,
        people=Path(setting("PEOPLE_TOKENS")),
    )
