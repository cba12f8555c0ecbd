"""Something of everything that a review page may show, on one account: what walks of the route table meet."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count, cycle
from typing import Any, Final, Self, TypeAlias
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from uuid_utils.compat import uuid7

from compliance.appeals.links import signed_token
from db.commits.record import record_check, record_decision
from db.people.api_tokens import TokenScope
from db.people.sessions import token_hash
from db.pool import create_pool
from review.decision.panels import PANELS
from review.http.identifiers import path_segment
from tests.support.pdf_files import lines, pdf
from tests.support.samples import assessment, event, passage
from trials.pure.evaluation.items import GoldenContent, content_json
from worker.checks.verdict import stored_check, verdict_of
from worker.model import (
    Action,
    Attempt,
    AttemptOutcome,
    CostLine,
    Decision,
    DecisionKind,
    EventType,
    Feedback,
    Finding,
    GivenCheck,
    Quote,
    ReadSentence,
    ScreenedPassage,
    Severity,
    Span,
    Stage,
    StageOutcome,
    StageRecord,
    Thumb,
    Tokens,
    Verdict,
)
from worker.reasons import Reason

NUMBERS = count(1)
APPEAL_SECRET: Final = "a secret of thirty-two characters"
Text: TypeAlias = Callable[[str], str]


def plain(field: str) -> str:
    """A harmless text that says which field it stands in."""
    return f"some {field}"


class World:
    """Rows of one account, made when a walk asks for them, by the database's owner.

    Args:
        text: gives every field that people or publishers write its content.
    """

    def __init__(self, url: str, account: str, text: Text = plain) -> None:
        self.url, self.account, self.text = url, account, text
        self._connection = psycopg.connect(url, autocommit=True)
        self.decision = self._decision()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def session(self, person_id: UUID) -> str:
        """The cookie of a new session."""
        token = secrets.token_urlsafe(8)
        now = datetime.now(UTC)
        self.add(
            "sessions", token_hash=token_hash(token), person_id=person_id, expires_at=now + timedelta(days=1)
        )
        return token

    def token(self, person_id: UUID, *scopes: str, days: float = 1, token: str = "") -> str:
        """A new API token of a person, with every scope unless some are named."""
        token = token or f"hg_{uuid7().hex}"
        self.made(
            "api_tokens",
            person_id=person_id,
            name="k",
            token_hash=token_hash(token),
            prefix=token[:9],
            scopes=list(scopes or TokenScope),
            expires_at=datetime.now(UTC) + timedelta(days=days),
        )
        return token

    def person(self, *grants: tuple[str, str], name: str = "Kim", login: str = "") -> UUID:
        """A person with these (account, role) pairs."""
        person_id, login = uuid7(), login or f"walker-{next(NUMBERS)}"
        self.add("people", id=person_id, login=login, name=name, password_hash="none that verifies")
        for account, role in grants:
            self.add("person_roles", person_id=person_id, user_id=account, role=role, granted_by="test")
        return person_id

    def add(self, table: str, **values: Any) -> None:
        """Insert one row."""
        self._connection.execute(_insert(table, values), values)

    def made(self, table: str, **values: Any) -> UUID:
        """The id of a new row."""
        made = uuid7()
        self.add(table, id=made, **values)
        return made

    def of_account(self, table: str, **values: Any) -> UUID:
        """The id of a new row of the account."""
        return self.made(table, user_id=self.account, **values)

    def numbered(self, table: str, **values: Any) -> int:
        """The number that the database gives to a new row."""
        row = self._connection.execute(f"{_insert(table, values)} RETURNING id", values).fetchone()
        return int(row[0]) if row else 0

    def one(self, query: str, *values: object) -> Any:
        """The first column of a query's only row."""
        row = self._connection.execute(query, values).fetchone()
        return row[0] if row else None

    def suggested(self) -> Decision:
        """A decision without evidence, with a topic that the documents do not cover."""
        at, number, topic = datetime.now(UTC) - timedelta(minutes=4), next(NUMBERS), self.text("topic")
        asked = replace(
            self.decision.event,
            event_id=f"suggested {number}",
            entry_id=f"{number}-0",
            text=self.text("unanswered question"),
        )
        look = assessment(action=Action.SILENCE, learning_suggestions=(topic,))
        made = self._decided(at, event=asked, reason_code=Reason.NO_EVIDENCE, assessment=look)
        asyncio.run(_record(self.url, made))
        self._connection.execute("DELETE FROM learning_suggestions WHERE user_id = %s", (self.account,))
        self.add(
            "learning_suggestions",
            user_id=self.account,
            begun_at=at,
            computed_at=at,
            material=Jsonb({"days": 90, "reviewed": 9, "sent": 9, "questions": 3}),
            found=Jsonb(found_suggestions(made.decision_id, made.decided_at, self.text)),
        )
        return made

    def answered(self) -> Decision:
        """A held draft and a person's answer on the world's decision, and others that wait; one of these."""
        now, text, made = datetime.now(UTC), self.text, self.decision
        of_message = {
            "user_id": self.account,
            "conversation_id": made.event.conversation_id,
            "message_id": made.event.message_id,
        }
        passage_of = {"id": "1#1", "title": text("shown title"), "text": text("shown text"), "sha256": "0"}
        held = of_message | {
            "kind": "reply",
            "text": text("held text"),
            "draft": text("held draft"),
            "passages": Jsonb([passage_of]),
            "created_at": now,
            "send_before": now + timedelta(days=1),
            "expires_at": now + timedelta(days=1),
        }
        self.add("held_drafts", **held, decision_id=made.decision_id, reason_code="LOW_CONFIDENCE")
        self.add("held_drafts", **held, decision_id=uuid7(), reason_code="HELD_FOR_APPROVAL")
        waiting = self._waiting()
        draft = held | {"kind": "draft", "text": text("waiting draft")}
        self.add("held_drafts", **draft, decision_id=waiting.decision_id, reason_code="MODEL_ESCALATED")
        self.made(
            "answers",
            **of_message,
            scope="chat",
            decision_id=made.decision_id,
            decision_at=made.decided_at,
            outcome="edited",
            text=text("answer"),
            draft=text("draft beside the answer"),
            person=text("answering person"),
            released=False,
            rules_version=1,
            created_at=now,
        )
        self.add(
            "escalations",
            **of_message,
            decision_id=waiting.decision_id,
            event_id=waiting.event.event_id,
            author_id=waiting.event.author_id,
            scope="chat",
            reason_code="MODEL_ESCALATED",
            queue=text("escalation queue"),
            opened_at=now,
        )
        return waiting

    def rated(self) -> None:
        """A customer calls the reply to the world's decision wrong, and moderation flags the texts late."""
        at, number, text = datetime.now(UTC) - timedelta(minutes=2), next(NUMBERS), self.text
        said = replace(
            self.decision.event,
            type=EventType.FEEDBACK,
            feedback=Feedback(thumb=Thumb.DOWN, rating=1, resolved=False),
            event_id=f"feedback {number}",
            entry_id=f"{number}-0",
            author_id=text("feedback author"),
            text=text("remark"),
        )
        rated = self.decision.event.event_id
        made = self._decided(at, event=said, reason_code=Reason.FEEDBACK, rated=rated)
        asyncio.run(_record(self.url, made))
        names = ("user_id", "conversation_id", "message_id", "author_id", "event_id")
        self.add(
            "unmoderated_texts",
            **{name: getattr(self.decision.event, name) for name in names},
            decision_id=self.decision.decision_id,
            decided_at=self.decision.decided_at,
            scope="chat",
            roles=["user"],
            checked_at=at,
            result="flagged",
            matched_rule=text("late rule"),
        )

    def checked(self) -> None:
        """A program had its draft of an answer in the world's conversation checked, and may send it."""
        at, number, text = datetime.now(UTC) - timedelta(minutes=1), next(NUMBERS), self.text
        asked = replace(
            self.decision.event,
            type=EventType.CHECK,
            check=GivenCheck(draft=text("checked draft")),
            event_id=f"check {number}",
            text=text("checked message"),
        )
        made = self._decided(
            at,
            event=asked,
            kind=DecisionKind.RESPOND,
            reason_code=Reason.DRAFT_CHECKED,
            reply=asked.check.draft if asked.check else None,
        )
        verdict = verdict_of(made, shadow=False, fail_open=False)
        asyncio.run(_record_check(self.url, stored_check(made, verdict)))

    def _waiting(self) -> Decision:
        """A decision that handed its message to a person."""
        at, number, text = datetime.now(UTC) - timedelta(minutes=3), next(NUMBERS), self.text
        asked = replace(
            self.decision.event,
            event_id=f"waiting {number}",
            entry_id=f"{number}-0",
            author_id=text("waiting author"),
            text=text("waiting message"),
        )
        made = self._decided(at, event=asked, kind=DecisionKind.ESCALATE, reason_code=Reason.MODEL_ESCALATED)
        asyncio.run(_record(self.url, made))
        return made

    def _decided(self, at: datetime, **changed: Any) -> Decision:
        """The world's decision at another time, without what its rule found."""
        return replace(
            self.decision,
            decision_id=_identifier(at),
            decided_at=at,
            matched_rule=None,
            findings=(),
            quarantine=False,
            rejected_draft=None,
            **changed,
        )

    def shadowed(self) -> UUID:
        """A shadow that was switched off, which would have released the world's decision; its candidate."""
        now, text, made = datetime.now(UTC), self.text, self.decision
        candidate = self.of_account(
            "candidates",
            base_version=1,
            changes=Jsonb({"prompt": text("candidate prompt")}),
            note=text("candidate note"),
            source="person",
            created_by=text("candidate author"),
        )
        about = {"user_id": self.account, "candidate_id": candidate}
        shadow = self.made(
            "trials",
            **about,
            kind="shadow",
            state="failed",
            base_version=1,
            changes=Jsonb({"prompt": text("candidate prompt")}),
            usd_a_day=1.0,
            usd=0.02,
            reached_at=now,
            reached_id=made.decision_id,
            done=12,
            counts=Jsonb({"newly_released": 1, "unchanged": 9, "dropped": 2}),
            day=now.date(),
        )
        for kind, by, why in (
            ("start", text("shadow author"), "shadow reason"),
            ("fail", "hushgate", "shadow end"),
        ):
            step = {"kind": kind, "made_by": by, "reason": text(why), "automatic": kind == "fail"}
            self.add("trial_steps", trial_id=shadow, **step)
        self.made(
            "shadow_results",
            **about,
            shadow_id=shadow,
            decision_id=made.decision_id,
            conversation_id=made.event.conversation_id,
            author_id=made.event.author_id,
            decision_at=made.decided_at,
            kind="newly_released",
            before_code=str(made.reason_code),
            decision="respond",
            reason_code="REPLIED",
            reason=text("shadow sentence"),
            matched_rule=f"flagged_keyword:{text('matched_rule')}",
            reply=text("shadow reply"),
        )
        return candidate

    def _decision(self) -> Decision:
        at, number, text = datetime.now(UTC) - timedelta(minutes=5), next(NUMBERS), self.text
        made = Decision(
            decision_id=_identifier(at),
            decided_at=at,
            event=event(
                user_id=self.account,
                event_id=f"{text('event_id')} {number}",
                entry_id=f"{number}-0",
                conversation_id=text("conversation_id"),
                message_id=text("message_id"),
                author_id=text("author_id"),
                parent_id=text("parent_id"),
                text=text("message_text"),
                metadata={text("metadata key"): text("metadata")},
                created_at=at,
                received_at=at,
            ),
            kind=DecisionKind.IGNORE,
            reason_code=Reason.FLAGGED_RULE,
            reason=text("reason"),
            confidence=0.4,
            rules_version=1,
            matched_rule=f"flagged_keyword:{text('matched_rule')}",
            quarantine=True,
            rejected_draft=text("rejected draft"),
            degraded=True,
            findings=(
                Finding(
                    stage=Stage.RULES,
                    code="flagged_keyword",
                    severity=Severity.BLOCK,
                    matched_rule=f"flagged_keyword:{text('finding rule')}",
                    evidence=text("evidence"),
                    span=Span(start=0, end=4),
                ),
            ),
            stages=(
                StageRecord(
                    stage=Stage.RULES,
                    outcome=StageOutcome.FLAGGED,
                    duration_ms=1.5,
                    detail={"word": text("stage detail")},
                ),
                StageRecord(
                    stage=Stage.MODERATION,
                    outcome=StageOutcome.PASSED,
                    duration_ms=1.5,
                    detail={
                        "highest": {f"guard:{text('category')}": {"score": 0.4, "threshold": 0.5}},
                        "moderators": [
                            {"name": text("moderator"), "outcome": "clear", "model": text("moderator model")},
                            {
                                "name": "second_moderator",
                                "outcome": "no_result",
                                "error": text("moderator error"),
                            },
                        ],
                    },
                ),
            ),
            attempts=(
                Attempt(
                    number=1,
                    stage=Stage.GENERATION,
                    outcome=AttemptOutcome.TIMEOUT,
                    duration_ms=12.0,
                    detail=text("attempt detail"),
                    moderator=text("attempt moderator"),
                ),
            ),
            passages=(passage(title=text("passage title"), text=text("passage text")),),
            assessment=assessment(
                explanation=text("explanation"),
                category=text("category"),
                action=Action.SILENCE,
                sentences=(_read(text),),
                left_out=text("left out by the draft"),
            ),
            models={"answer": text("model")},
            costs=(
                CostLine(
                    purpose=text("purpose"), model=text("paid model"), tokens=Tokens(prompt=1), nano_usd=None
                ),
            ),
            prompt_hash="0" * 64,
            masked={text("masked kind"): 1},
            screened=(
                ScreenedPassage(
                    passage_id=text("screened passage"),
                    title=text("screened title"),
                    text_hash=text("screened hash"),
                    check=text("screened check"),
                    evidence=text("screened evidence"),
                ),
            ),
        )
        asyncio.run(_record(self.url, made))
        return made


def _insert(table: str, values: dict[str, Any]) -> str:
    marks = ", ".join(f"%({name})s" for name in values)
    return f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"


def _read(text: Text) -> ReadSentence:
    """A sentence that holds the whole draft, with quotes in title and text of the only passage."""
    return ReadSentence(
        start=0,
        end=1_000,
        verdict=Verdict.SUPPORTED,
        support=0.0,
        quotes=(Quote(passage=1, start=0, end=9), Quote(passage=1, start=None, end=None)),
        unknown_quotes=2,
        disagreements=(f"name: {text('disagreeing fact')}", f"{text('kind of fact')}: 7"),
    )


def _identifier(at: datetime) -> UUID:
    """A UUIDv7 of this time."""
    milliseconds = int(at.timestamp() * 1000)
    return UUID(int=(milliseconds << 80) | (7 << 76) | (2 << 62) | secrets.randbits(62))


async def _record(url: str, made: Decision) -> None:
    async with create_pool(url, size=1, application="test", role=None) as source:
        await record_decision(source, made)


async def _record_check(url: str, decision: Decision) -> None:
    async with create_pool(url, size=1, application="test", role=None) as source:
        assert await record_check(source, decision, "hash")


def job(world: World, person_id: UUID) -> UUID:
    """A finished export of this person."""
    now, job_id = datetime.now(UTC), uuid7()
    params = {"query": "", "form": "ndjson", "bom": False, "site": "", "accounts": []}
    world.add(
        "jobs",
        id=job_id,
        person_id=person_id,
        kind="export",
        params=Jsonb(params),
        state="done",
        total=0,
        finished_at=now,
        error=world.text("job error"),
    )
    return job_id


def view(world: World, person_id: UUID) -> UUID:
    """A view that this person saved."""
    name = f"{world.text('view name')} {next(NUMBERS)}"
    return world.made("saved_views", person_id=person_id, name=name, query="decision=ignore", shared=True)


def queue(world: World, _: UUID) -> UUID:
    """A queue with the world's decision in it."""
    name = f"{world.text('queue name')} {next(NUMBERS)}"
    made = world.made("queues", name=name, kind="hand", definition=Jsonb({}))
    world.add("queue_items", queue_id=made, **_about(world))
    return made


def item(world: World, person_id: UUID) -> UUID:
    """A decision that this person has claimed in a queue."""
    queue_id = queue(world, person_id)
    until = datetime.now(UTC) + timedelta(minutes=5)
    query = (
        "UPDATE queue_items SET claimed_by = %s, claimed_until = %s, assigned_to = %s"
        " WHERE queue_id = %s RETURNING decision_id"
    )
    made: UUID = world.one(query, person_id, until, person_id, queue_id)
    return made


def review(world: World, person_id: UUID) -> UUID:
    """A review by this person, just now."""
    return world.made(
        "decision_reviews",
        person_id=person_id,
        person="walker",
        ruling="unsure",
        note=world.text("note"),
        source="page",
        **_about(world),
    )


def conversation(world: World, _: UUID) -> str:
    """The decision's conversation, which a person has taken."""
    conversation_id, now = world.decision.event.conversation_id, datetime.now(UTC)
    if world.one("SELECT 1 FROM conversations WHERE conversation_id = %s", conversation_id) is None:
        world.add(
            "conversations",
            user_id=world.account,
            conversation_id=conversation_id,
            people_until=now + timedelta(hours=1),
            changed_at=now,
            changed_by=world.text("changed_by"),
            cause="command",
            changes=1,
        )
    return conversation_id


def document(world: World, _: UUID) -> int:
    """A document of the account."""
    made = world.numbered(
        "documents",
        user_id=world.account,
        title=world.text("document title"),
        source=f"{world.text('document source')} {next(NUMBERS)}",
        content_hash=secrets.token_hex(32),
        metadata=Jsonb({world.text("label"): world.text("label value")}),
        format="pdf",
        pages=1,
    )
    world.add(
        "document_files",
        document_id=made,
        user_id=world.account,
        data=pdf(lines("A page.")),
    )
    world.add(
        "chunks",
        document_id=made,
        number=1,
        page=1,
        user_id=world.account,
        text=world.text("chunk"),
        title=world.text("chunk title"),
        flags=[world.text("flag")],
        released_at=datetime.now(UTC),
        released_by=world.text("released by"),
    )
    return made


def version(world: World, _: UUID) -> int:
    """A version of the account's rules."""
    found = world.one("SELECT max(version) FROM ai_rules WHERE user_id = %s", world.account) or 0
    world.add(
        "ai_rules",
        user_id=world.account,
        version=found + 1,
        flagged_keywords=[world.text("keyword")],
        flagged_phrases=[world.text("phrase")],
        allowed=[world.text("allowed")],
        prompt=world.text("prompt"),
        moderators=Jsonb(
            [
                {
                    "name": world.text("chosen moderator"),
                    "endpoint": world.text("chosen endpoint"),
                    "thresholds": {world.text("chosen category"): 0.5},
                    "policy": world.text("policy"),
                }
            ]
        ),
        fallback_texts=Jsonb({"en": world.text("fallback")}),
        disclosure_texts=Jsonb({"en": world.text("disclosure")}),
        handoff_texts=Jsonb({"en": world.text("handoff")}),
        handoff_texts_closed=Jsonb({"en": world.text("handoff, closed")}),
        escalation_actions=Jsonb({world.text("action key"): "silence"}),
        escalation_queues=Jsonb({world.text("queue key"): world.text("queue")}),
        time_zone=world.text("time zone"),
        business_hours=Jsonb({"mon": world.text("hours")}),
        moderation_thresholds=Jsonb({world.text("own category"): 0.5}),
        assessment_policy=Jsonb(
            {
                "fallbacks": {world.text("policy language"): world.text("policy fallback")},
                "retry_with": {"below": 0.1, "prompt": world.text("second prompt")},
            }
        ),
        holidays=[world.text("holiday")],
        appeals_enabled=True,
        statements_enabled=True,
        statement_grounds=Jsonb({"FLAGGED_RULE": _ground(world.text("statement ground"))}),
        statement_countries=["de"],
        changed_by=world.text("changed by"),
    )
    return int(found) + 1


def _ground(text: str) -> str:
    reference = text.replace("|", "")
    ground = "DECISION_VISIBILITY_CONTENT_DISABLED | DECISION_GROUND_INCOMPATIBLE_CONTENT"
    return f"{ground} | STATEMENT_CATEGORY_CYBER_VIOLENCE | {reference} | it is forbidden"


def invitation(world: World, person_id: UUID) -> UUID:
    """An open invitation to the account."""
    return world.made("invitations", **_invited(world, secrets.token_hex(16)))


def invitation_link(world: World, person_id: UUID) -> str:
    """The token of an open invitation of this person to the account."""
    token = secrets.token_hex(16)
    login = world.one("SELECT login FROM people WHERE id = %s", person_id)
    world.made("invitations", **_invited(world, token) | {"login": login})
    return token


def _invited(world: World, token: str) -> dict[str, Any]:
    inviter = world.person((world.account, "account_admin"))
    now = datetime.now(UTC)
    return {
        "token_hash": token_hash(token),
        "login": f"{world.text('invited login')} {next(NUMBERS)}".lower(),
        "user_id": world.account,
        "role": "viewer",
        "invited_by": inviter,
        "created_at": now,
        "expires_at": now + timedelta(days=1),
    }


def hold(world: World, _: UUID) -> UUID:
    """A legal hold on the account, in force."""
    return world.of_account(
        "legal_holds",
        kind="author",
        subject=world.text("held author"),
        reason=world.text("reason of a hold"),
        placed_by=world.text("hold placed by"),
    )


def erasure(world: World, _: UUID) -> UUID:
    """An erasure that was counted and waits for a person."""
    return world.of_account(
        "erasures",
        kind="author",
        subject=world.text("erased author"),
        salt=b"",
        subject_hash="",
        reason=world.text("reason of an erasure"),
        requested_by=world.text("erasure requested by"),
        phase="previewed",
        preview=Jsonb({"messages": 1}),
        receipt=Jsonb({}),
    )


def appeal(world: World, _: UUID) -> UUID:
    """An open appeal against the world's decision."""
    made, now = world.decision, datetime.now(UTC)
    found: UUID | None = world.one("SELECT id FROM appeals WHERE decision_id = %s", made.decision_id)
    if found is not None:
        return found
    of_event = ("event_id", "conversation_id", "message_id", "author_id")
    return world.made(
        "appeals",
        **_about(world) | {name: getattr(made.event, name) for name in of_event},
        scope="chat",
        source="api",
        text=world.text("appeal"),
        entered_by=world.text("appeal entered by"),
        created_at=now,
        due_at=now + timedelta(days=14),
    )


def appeal_link(world: World, _: UUID) -> str:
    """The token of a link to appeal against the world's decision."""
    until = datetime.now(UTC) + timedelta(days=1)
    return signed_token(APPEAL_SECRET, world.decision.decision_id, until)


def _about(world: World) -> dict[str, Any]:
    made = world.decision
    return {"decision_id": made.decision_id, "decision_at": made.decided_at, "user_id": world.account}


def endpoint(world: World, _: UUID) -> UUID:
    """A webhook endpoint of the account, disabled, with deliveries."""
    made = world.of_account(
        "webhook_endpoints",
        url=f"https://example.com/{world.text('endpoint url')}",
        description=world.text("endpoint note"),
        types=["reply.created"],
        secret="whsec_none",
        secret_hint="whsec_…",
        created_by=world.text("endpoint creator"),
    )
    _delivery_to(world, made)
    return made


def delivery(world: World, person_id: UUID) -> int:
    """A failed delivery to an endpoint of the account."""
    return _delivery_to(world, endpoint(world, person_id))


def _delivery_to(world: World, endpoint_id: UUID) -> int:
    now, conversation_id = datetime.now(UTC), world.text("delivered conversation")
    event_row = world.numbered(
        "outgoing_events",
        user_id=world.account,
        conversation_id=conversation_id,
        type="reply.created",
        key=secrets.token_hex(8),
        body=Jsonb({world.text("body key"): world.text("body text")}),
        created_at=now,
    )
    return world.numbered(
        "webhook_deliveries",
        endpoint_id=endpoint_id,
        event_row=event_row,
        user_id=world.account,
        conversation_id=conversation_id,
        state="failed",
        error="status",
        status=500,
        answer=world.text("answer"),
        created_at=now,
        ended_at=now,
    )


def found_suggestions(
    decision_id: UUID, decided_at: datetime, text: Callable[[str], str]
) -> list[dict[str, Any]]:
    """One suggestion of each kind, resting on a decision."""
    rule, added, word = text("suggested rule"), text("suggested entry"), text("suggested word")
    precision = {"share": 0.2, "low": 0.1, "high": 0.4}
    reviewed = {"overturned": 8, "upheld": 2, "released": 8, "lost": 0, "sampled": False}
    drift = {"before": 0.1, "after": 0.3, "change": 0.2, "low": 0.1, "high": 0.3, "of_before": 90}
    evidence: dict[str, dict[str, Any]] = {
        "rule": {"rule": rule, "action": "allow", "added": added, "precision": precision} | reviewed,
        "word": {
            "word": word, "z": 3.1, "missed": 4, "of_missed": 5, "newly_stopped": 6, "of_sent": 90,
            "upheld": 1, "not_reviewed": 1,
        },
        "document": {"words": [text("question word")], "questions": 3, "authors": 3},
        "feedback": {"words": [text("rated word")], "questions": 3, "authors": 3},
        "prompt": drift | {"measure": "hedges", "of_after": 80, "weeks": [0.1, None, 0.3]},
    }  # fmt: skip
    edit = {"setting": "allowed", "added": [added], "removed": [], "value": None}
    decisions = [[str(decision_id), decided_at.isoformat()]]
    return [
        {"kind": kind, "key": f"{kind} {word}", "evidence": figures, "edits": [edit], "decisions": decisions}
        for kind, figures in evidence.items()
    ]


Sample: TypeAlias = Callable[[World, UUID], object]


def figure_note(world: World, _: UUID) -> int:
    """A note of a lead on the plots of the account."""
    return world.numbered(
        "figure_notes",
        user_id=world.account,
        at=datetime.now(UTC),
        text=world.text("figure note"),
        created_by=world.text("noted by"),
    )


def author(world: World, _: UUID) -> str:
    """The decision's author in an address, with a note and a tag."""
    found = world.decision.event.author_id
    _written_about(world, "author", found)
    return path_segment(found)


def conversation_reference(world: World, person_id: UUID) -> str:
    """The decision's conversation in an address, with a note and a tag."""
    found = conversation(world, person_id)
    _written_about(world, "conversation", found)
    return path_segment(found)


def _written_about(world: World, kind: str, subject: str) -> None:
    about = {"user_id": world.account, "kind": kind, "subject": subject}
    world.made("subject_notes", text=world.text("subject note"), person=world.text("noter"), **about)
    tag = f"{world.text('tag')} {next(NUMBERS)}"
    world.add("subject_tags", tag=tag, added_by=world.text("tagger"), **about)


def comment(world: World, person_id: UUID) -> UUID:
    """A comment of this person that mentions them, and the assignment of the decision to them."""
    made = world.made(
        "decision_comments",
        person_id=person_id,
        person="walker",
        text=world.text("comment"),
        **_about(world),
    )
    world.add("comment_mentions", comment_id=made, person_id=person_id, user_id=world.account)
    values = (world.decision.decision_id, world.decision.decided_at, world.account, person_id)
    world.one(ASSIGNMENT, *values, uuid7(), world.text("assigner"))
    return made


def candidate(world: World, _: UUID) -> UUID:
    """Settings of the account that are not in force."""
    return world.of_account(
        "candidates",
        base_version=world.one("SELECT max(version) FROM ai_rules WHERE user_id = %s", world.account) or 0,
        changes=Jsonb({"prompt": world.text("candidate prompt")}),
        note=world.text("candidate note"),
        source="person",
        created_by=world.text("candidate maker"),
    )


def rollout(world: World, person_id: UUID) -> UUID:
    """A rollout that was returned."""
    made = world.of_account(
        "trials",
        kind="rollout",
        candidate_id=candidate(world, person_id),
        base_version=1,
        changes=Jsonb({"prompt": world.text("candidate prompt")}),
        share=0.1,
        state="returned",
        plan=Jsonb(
            {"bounds": ["blocks<=+0.05", "latency<=x1.5"], "least": 50, "metric": "blocks", "planned": 2000}
        ),
    )
    world.add(
        "trial_steps",
        trial_id=made,
        kind="return",
        share=0.0,
        made_by=world.text("rollout author"),
        reason=world.text("rollout reason"),
        figures=Jsonb(ROLLOUT_FIGURES),
    )
    return made


def backtest(world: World, _: UUID) -> UUID:
    """A backtest with the world's decision as its example."""
    now = datetime.now(UTC)
    example = {"decision_id": str(world.decision.decision_id), "group": "newly_stopped"}
    made = world.of_account(
        "trials",
        kind="backtest",
        state="finished",
        base_version=world.one("SELECT max(version) FROM ai_rules WHERE user_id = %s", world.account) or 0,
        changes=Jsonb({"prompt": world.text("backtest prompt")}),
        since=now - timedelta(days=7),
        until=now,
        plan=Jsonb({"total": 12}),
        done=12,
        counts=Jsonb(BACKTEST_COUNTS),
        examples=Jsonb([example | {"before": "FLAGGED_RULE", "after": "REPLIED"}]),
    )
    world.add("trial_steps", trial_id=made, kind="start", made_by=world.text("backtest maker"), reason="")
    return made


def shadow(world: World, _: UUID) -> UUID:
    """A shadow that was switched off."""
    world.shadowed()
    query = "SELECT id FROM trials WHERE user_id = %s AND kind = 'shadow' ORDER BY id DESC LIMIT 1"
    made: UUID = world.one(query, world.account)
    return made


TRIALS: Final = cycle((backtest, rollout, shadow))


def trial(world: World, person_id: UUID) -> UUID:
    """A trial of each kind in turn."""
    return next(TRIALS)(world, person_id)


def golden_set(world: World, _: UUID) -> UUID:
    """A golden set with the world's decision, an imported row and a result."""
    made = world.of_account(
        "golden_sets",
        name=f"{world.text('golden set')[:80]} {next(NUMBERS)}",
        purpose=world.text("golden purpose"),
        created_by=world.text("golden author"),
    )
    asked = world.decision.event
    for decision_id, source in ((world.decision.decision_id, "decision"), (None, "import")):
        content = GoldenContent(event=replace(asked, text=world.text("golden text")))
        world.of_account(
            "golden_set_items",
            set_id=made,
            row_id=f"{world.text('golden row')[:200]} {next(NUMBERS)}"
            if decision_id is None
            else str(decision_id),
            source=source,
            decision_id=decision_id,
            conversation_id=asked.conversation_id,
            author_id=asked.author_id,
            expected="silent",
            expected_reason="FLAGGED_RULE",
            labelled_by=world.text("golden labeller"),
            content=Jsonb(content_json(content)),
            recorded_at=world.decision.decided_at,
        )
    arm = GOLDEN_ARM | {"model": world.text("golden model"), "settings": world.text("golden settings")}
    run = {"kind": "evaluation", "state": "finished", "base_version": 1, "changes": Jsonb({})}
    run |= {"plan": Jsonb({"set_version": 1}), "user_id": world.account, "arms": Jsonb([arm])}
    world.made("trials", set_id=made, **run)
    return made


BACKTEST_COUNTS: Final = {
    "unchanged": 9,
    "newly_stopped": 2,
    "newly_stopped.agree": 1,
    "newly_stopped.overturn": 1,
    "needs_answers": 1,
    "waits": -1,
    "usd": 0.0042,
}
"""Of twelve decisions, as they are stored."""
GOLDEN_ARM: Final = {
    "arm": "version 1, a model",
    "settings": "version 1",
    "model": "a model",
    "failures": {"LLM_ERROR": 1},
    "usd": 0.0123,
    "unpriced": [],
    "latency_p50_ms": 812.4,
    "latency_p95_ms": 2210.9,
    "precision": {"share": 0.9, "low": 0.596, "high": 0.982, "of": 10},
    "recall": None,
    "accuracy": {"share": 0.9, "low": 0.596, "high": 0.982, "of": 10},
}
"""The figures of a model as they are stored, as far as pages show them."""
_OF_ARM: Final = {"units": 200, "size": 200.0, "crossed": 20.0, "size_squared": 200.0, "counted": 200}
ROLLOUT_FIGURES: Final = {
    "live": {
        "p95_ms": 0.0,
        "left_out": 0,
        "measures": {"blocks": _OF_ARM | {"hits": 20.0, "hits_squared": 20.0}},
    },
    "candidate": {
        "p95_ms": 0.0,
        "left_out": 0,
        "measures": {"blocks": _OF_ARM | {"hits": 60.0, "hits_squared": 60.0, "crossed": 60.0}},
    },
}
"""Of both arms as they are stored: a tenth and three tenths of the decisions were blocked."""
ASSIGNMENT: Final = """
    WITH made AS (
        INSERT INTO decision_assignments (decision_id, decision_at, user_id, person_id, change, assigned_by)
        VALUES (%s, %s, %s, %s, %s, %s)
        ON CONFLICT (decision_id) DO UPDATE SET person_id = excluded.person_id RETURNING 1)
    SELECT count(*) FROM made
"""
OF_ACCOUNT: Final[dict[str, Sample]] = {
    "account": lambda world, _: world.account,
    "author_ref": author,
    "comment_id": comment,
    "conversation_ref": conversation_reference,
    "appeal_id": appeal,
    "candidate_id": candidate,
    "trial_id": trial,
    "set_id": golden_set,
    "conversation": conversation,
    "delivery": delivery,
    "endpoint_id": endpoint,
    "erasure_id": erasure,
    "hold_id": hold,
    "note": figure_note,
    "decision_id": lambda world, _: world.decision.decision_id,
    "names": lambda _world, _person: ",".join(PANELS),
    "document": document,
    "page": lambda _world, _person: 1,
    "invitation_id": invitation,
    "review_id": review,
    "version": version,
    "person_id": lambda world, _: world.person((world.account, "viewer"), name=world.text("name")),
}
"""Path parameters that name something of one account: people who may not see the account get 404."""
OWN: Final[dict[str, Sample]] = {
    "job_id": job,
    "view_id": view,
    "item_id": item,
    "token": invitation_link,
}
"""Path parameters that name something of one person."""
SHARED: Final[dict[str, Sample]] = {
    "queue_id": queue,
    "figure": lambda _world, _person: "decisions",
    "link": appeal_link,
}
"""Path parameters that name something of everybody."""
SAMPLES: Final = OF_ACCOUNT | OWN | SHARED
QUERIES: Final = {
    "compare": "?from=1&to=1",
    "go": "?q=hostile",
    "settings": "?level=all",
    "statements": "?since=2026-01-01&until=2026-01-31",
    "statements_file": "?since=2026-01-01&until=2026-01-31&format=csv",
}
"""What pages need in their query to show anything, by their name."""
