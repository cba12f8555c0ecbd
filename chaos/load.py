"""Publishes the events of a run, by the stream and by HTTP, and takes conversations as a person."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

import orjson
from redis import Redis
from redis.exceptions import RedisError

from chaos.fleet.seeding import ANSWERS, DESK, KEYWORD, OFF, SHOP
from chaos.fleet.world import Interrupted, World
from chaos.kinds import Role
from chaos.laws.observations import MARK, EventKind, PublishedEvent
from chaos.ledger import Ledger

BATCH: Final = 40
FURTHER_BATCH: Final = 10
FURTHER_BACKLOG: Final = 20
FURTHER_S: Final = 0.4
"""While faults come after the planned events: small batches, as a fast fleet would else meet them idle."""
BY_HTTP: Final = 0.15
"""Share of the batches that are published by HTTP; those without malformed payloads."""
REPEATED: Final = 0.04
RETRY_S: Final = 0.3
BEHIND_S: Final = 30.0
"""How far a publisher with a rate catches up after an outage; what it is behind more is left out."""
EVENTS_PER_CONVERSATION: Final = 40
QUESTIONS: Final = tuple(ANSWERS)
SLOWED: Final = "[[sandbox:llm=500:1]] "
TEXTS: Final = {
    EventKind.DOUBTFUL: "[[sandbox:llm=ungrounded]] Can I return a purchase after thirty days?",
    EventKind.SLOW: f"{SLOWED}{QUESTIONS[0]}",
    EventKind.RULE: f"this is {KEYWORD} {{mark}}",
    EventKind.MODERATED: "I will kill you {mark}",
    EventKind.BAD_DRAFT: f"[[sandbox:llm=flagged]] {QUESTIONS[0]} {{mark}}",
    EventKind.HANDOFF: "I want to speak to a human about {word}",
    EventKind.AGENT: "Hello, this is Kim. I will look after it.",
}
LETTERS: Final = str.maketrans("0123456789", "bcdfghjklm")
"""Who repeats a text, but for its numbers, is taken for an automatic replier."""
SHARES: Final = {
    EventKind.RULE: 0.50,
    EventKind.QUESTION: 0.19,
    EventKind.DOUBTFUL: 0.05,
    EventKind.SLOW: 0.01,
    EventKind.MODERATED: 0.08,
    EventKind.BAD_DRAFT: 0.04,
    EventKind.HANDOFF: 0.05,
    EventKind.OLD: 0.02,
    EventKind.OFF: 0.03,
    EventKind.MALFORMED: 0.03,
}
"""Half of them end at the rules, so that thousands of events take a minute and not five."""
DOUBTFUL_APART: Final = frozenset({EventKind.DOUBTFUL, EventKind.SLOW})
"""People get their conversations now and then; no message calls people into those of other questions."""
MODERATED_APART: Final = frozenset({EventKind.MODERATED, EventKind.BAD_DRAFT})
"""Their conversations have the question only that is answered: where people own one, nothing is moderated."""
MALFORMED: Final = ('{{bad "{}"', "[]{}", '{{"user_id":"u","x":"{}"}}', '{{"text":"\\ud800{}"}}')


class Publisher:
    """Publishes the plan's number of events, then further ones while faults come, or until the run stops.

    Args:
        faults_come: whether a fault is still to come or to end.
        ledger: of an earlier publisher of the same run, which this one goes on with.
    """

    def __init__(self, world: World, faults_come: Callable[[], bool], ledger: Ledger | None = None) -> None:
        self.ledger = ledger or Ledger()
        self.thread = threading.Thread(target=self._run, name="publisher", daemon=True)
        self._world = world
        self._faults_come = faults_come
        self._rng = random.Random(world.plan.seed + 1)
        self._redis: Redis | None = None
        self._bodies: dict[str, bytes] = {}
        self._due_s = 0.0

    def _run(self) -> None:
        try:
            while not self._has_enough or self._faults_come():
                self._await_room()
                before = len(self.ledger.entries)
                draw = self._rng.random()
                if draw < 0.06:
                    self._takeover()
                elif draw < 0.12:
                    self._person_writes()
                else:
                    self._publish(self._batch(), by_http=draw > 1 - BY_HTTP)
                self._keep_rate(len(self.ledger.entries) - before)
        except Interrupted:
            pass

    @property
    def _has_enough(self) -> bool:
        return len(self.ledger.entries) >= self._world.plan.events

    def _keep_rate(self, published: int) -> None:
        if self._has_enough:
            self._world.pause(FURTHER_S)
            return
        if rate := self._world.plan.rate_per_s:
            self._due_s = max(self._due_s, time.monotonic() - BEHIND_S) + published / rate
            self._world.pause(max(0.0, self._due_s - time.monotonic()))

    def _await_room(self) -> None:
        while True:
            try:
                waiting = sum(int(self._client().xlen(each.name)) for each in self._world.layout.current())
                if waiting < (FURTHER_BACKLOG if self._has_enough else self._world.plan.backlog):
                    return
            except RedisError:
                self._redis = None
            self._world.pause(0.1)

    def _batch(self) -> list[str]:
        """Names of new events; some of them twice."""
        names: list[str] = []
        for _ in range(FURTHER_BATCH if self._has_enough else BATCH):
            if names and self._rng.random() < REPEATED:
                names.append(self._rng.choice(names))
            else:
                kind = self._rng.choices(tuple(SHARES), tuple(SHARES.values()))[0]
                names.append(self._new(kind, self._conversation(kind)))
        return names

    def _conversation(self, kind: EventKind) -> str:
        """One in which the kind ends as it is meant to: people own those with handoffs now and then."""
        window = len(self.ledger.published) // (EVENTS_PER_CONVERSATION * 100)
        if kind is EventKind.HANDOFF or (kind is EventKind.RULE and self._rng.random() < 0.05):
            return f"h{window}.{self._rng.randrange(12)}"
        if kind in DOUBTFUL_APART or (kind is EventKind.QUESTION and self._rng.random() < 0.15):
            return f"d{window}.{self._rng.randrange(50)}"
        family = "off" if kind is EventKind.OFF else "m" if kind in MODERATED_APART else "c"
        if kind in {EventKind.RULE, EventKind.QUESTION} and self._rng.random() < 0.4:
            family = "m"
        return f"{family}{window}.{self._rng.randrange(50)}"

    def _new(self, kind: EventKind, conversation: str, account: str = "") -> str:
        number = len(self.ledger.published)
        name = f"e{self._world.plan.seed}.{number}"
        text = TEXTS.get(kind) or self._rng.choice(QUESTIONS)
        answer = ANSWERS.get(text.removeprefix(SLOWED), "")
        self.ledger.published[name] = PublishedEvent(
            name=name, conversation=conversation, kind=kind, answer=answer
        )
        if kind is EventKind.MALFORMED:
            self._bodies[name] = self._rng.choice(MALFORMED).format(f" {name} ").encode()
            return name
        days = 3 if kind is EventKind.OLD else 0
        body: dict[str, Any] = {
            "event_id": name,
            "user_id": account or (OFF if kind is EventKind.OFF else SHOP),
            "scope": "chat",
            "conversation_id": conversation,
            "message_id": name,
            "author_id": "a",
            "text": text.format(mark=f"{MARK}{number}q", word=str(number).translate(LETTERS)),
            "created_at": (datetime.now(UTC) - timedelta(days=days)).isoformat(),
        }
        if kind is EventKind.AGENT:
            body["type"] = "agent_message"
        self._bodies[name] = orjson.dumps(body)
        return name

    def _takeover(self) -> None:
        """Two questions, then a person takes the conversation, then two questions without an answer."""
        conversation = f"t{len(self.ledger.published)}"
        self._publish([self._new(EventKind.QUESTION, conversation, DESK) for _ in range(2)], by_http=False)
        self._world.pause(self._rng.random() * 0.6)  # the replies are under way, or not
        path = f"/api/v1/accounts/{DESK}/conversations/{quote(conversation)}/take"
        while self._world.post(Role.REVIEW, path, b"{}")[0] != 200:  # 404: no event of it is stored yet
            self._world.pause(RETRY_S)
        self.ledger.taken[conversation] = self._now()
        kind = EventKind.AFTER_TAKEOVER
        self._publish([self._new(kind, conversation, DESK) for _ in range(2)], by_http=False)

    def _person_writes(self) -> None:
        """A question, a message of a person, and a question without an answer."""
        conversation = f"g{len(self.ledger.published)}"
        kinds = (EventKind.QUESTION, EventKind.AGENT, EventKind.AFTER_TAKEOVER)
        self._publish([self._new(kind, conversation, DESK) for kind in kinds], by_http=False)

    def _now(self) -> str:
        """An id that every later entry of the reply stream exceeds."""
        while True:
            try:
                seconds, micros = self._client().time()
            except RedisError:
                self._redis = None
                self._world.pause(RETRY_S)
            else:
                return f"{seconds * 1000 + micros // 1000 + 1}-0"

    def _publish(self, names: Sequence[str], *, by_http: bool) -> None:
        """Publish, and again until each is acknowledged, in their order."""
        is_clean = all(self.ledger.published[name].kind is not EventKind.MALFORMED for name in names)
        left = list(names)
        while left:
            sent = self._by_http(left) if by_http and is_clean else self._by_stream(left)
            self.ledger.entries.update(zip(sent, left, strict=False))
            left = left[len(sent) :]
            self.ledger.unacknowledged.update(left)
            if left:
                self._world.pause(RETRY_S)
        for name in set(names):
            self._bodies.pop(name, None)

    def _by_stream(self, names: Sequence[str]) -> list[str]:
        """Entry ids of all of these events, or none.

        One transaction: at the memory limit, a plain pipeline can refuse an event and accept the next one.
        """
        shards = [self._world.layout.shard_of(self._bodies[name]) for name in names]
        try:
            with self._client().pipeline(transaction=True) as pipeline:
                for name, shard in zip(names, shards, strict=True):
                    pipeline.xadd(shard.name, {"data": self._bodies[name]})
                added = pipeline.execute()
            return [each.decode() + shard.mark for each, shard in zip(added, shards, strict=True)]
        except (RedisError, OSError):
            self._redis = None
            return []

    def _by_http(self, names: Sequence[str]) -> list[str]:
        """Entry ids of all of these events, or none."""
        body = b"[" + b",".join(self._bodies[name] for name in names) + b"]"
        status, answer = self._world.post(Role.GATEWAY, "/api/v1/events", body)
        if status != 202:
            return []
        self.ledger.by_http += len(names)
        return [each["entry_id"] for each in orjson.loads(answer)["events"]]

    def _client(self) -> Redis:
        if self._redis is None:
            self._redis = self._world.redis
        return self._redis
