"""A client of the review pages that asks for jobs: bulk reviews, their undo and exports, over HTTP."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias
from urllib.parse import urlencode, urlsplit

import orjson

from chaos.fleet.world import World
from chaos.kinds import Role
from chaos.laws.observations import JobKind, SeenJob
from cli.deployment import loopback
from review.http.visit import SESSION_COOKIE, csrf_token

ANSWER_S: Final = 20.0
DOWNLOAD_S: Final = 60.0
REVIEWED_AT_ONCE: Final = 200
"""The most that may be ticked: two steps of a bulk review."""
UNTICKED: Final = """
    SELECT id::text FROM ai_decisions WHERE created_at < now() AND id <> ALL(%s::uuid[]) LIMIT %s
"""
OLDER: Final = "SELECT id::text FROM ai_decisions WHERE created_at < %s"
REVIEWED: Final = """
    SELECT decision_id::text FROM decision_reviews WHERE job_id = %s AND (ruling = 'withdrawn') = %s
"""
JOB: Final = """
    SELECT id::text, state FROM jobs WHERE kind = %s AND position(%s IN params::text) > 0 ORDER BY created_at
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedJob:
    """A job that was asked for.

    Attributes:
        mark: text that only the parameters of this job hold.
        expected: ids of decisions that it must process, known before it was asked for.
        until: only decisions made before this moment may be processed; None: only those of ``expected``.
    """

    kind: JobKind
    mark: str
    expected: frozenset[str]
    until: datetime | None = None


Fields: TypeAlias = dict[str, str | list[str]]
Request: TypeAlias = tuple[AskedJob, str, Fields]
"""A job, and the path and the form that ask for it."""


class ReviewClient:
    """Asks for one job at a time, each time of the next kind."""

    def __init__(self, world: World) -> None:
        self.asked: list[AskedJob] = []
        self._acknowledged: set[str] = set()
        self._world = world

    def is_served(self) -> bool:
        """Whether the review pages answer."""
        return loopback.status(f"{self._world.addresses[Role.REVIEW]}/healthz") == 200

    def ask(self) -> AskedJob | None:
        """Ask for the next job; None when there is nothing to do yet.

        Raises:
            OSError: a server is away; the job may have been stored nevertheless.
        """
        prepare: dict[JobKind, Callable[[], Request | None]] = {
            JobKind.BULK_REVIEW: self._review,
            JobKind.BULK_UNDO: self._undo,
            JobKind.EXPORT: self._export,
        }
        kinds = list(prepare)
        last = kinds.index(self.asked[-1].kind) if self.asked else -1
        for step in range(1, len(kinds) + 1):
            prepared = prepare[kinds[(last + step) % len(kinds)]]()
            if prepared is not None:
                job, path, fields = prepared
                self.asked.append(job)
                self._post(path, fields)
                self._acknowledged.add(job.mark)
                return job
        return None

    def state(self, job: AskedJob) -> str:
        """As stored; empty when the job is not stored."""
        found = self._world.rows(JOB, job.kind, job.mark)
        return str(found[0][1]) if found else ""

    def seen(self) -> tuple[SeenJob, ...]:
        """What became of each job that was stored, or whose request was answered."""
        return tuple(self._seen())

    def _seen(self) -> Iterator[SeenJob]:
        for job in self.asked:
            stored = self._world.rows(JOB, job.kind, job.mark)
            if not stored and job.mark in self._acknowledged:
                yield SeenJob(name=job.mark, state="lost", expected=job.expected, allowed=job.expected)
            if len(stored) > 1:
                state = f"{len(stored)} jobs"
                yield SeenJob(name=job.mark, state=state, expected=job.expected, allowed=job.expected)
            for job_id, state in stored:
                allowed = job.expected
                if job.until is not None:
                    allowed |= {row[0] for row in self._world.rows(OLDER, job.until)}
                yield SeenJob(
                    name=f"{job.kind} {job_id}",
                    state=state,
                    expected=job.expected,
                    allowed=allowed,
                    processed=self._processed(job, job_id) if state == "done" else (),
                )

    def _processed(self, job: AskedJob, job_id: str) -> tuple[str, ...]:
        if job.kind is JobKind.EXPORT:
            files = self._world.until(lambda: [self._request("GET", f"/jobs/{job_id}/file")], DOWNLOAD_S)
            lines = files[0].splitlines() if files else ()
            return tuple(orjson.loads(line)["id"] for line in lines)
        undone = job.kind is JobKind.BULK_UNDO
        return tuple(row[0] for row in self._world.rows(REVIEWED, job_id, undone))

    def _review(self) -> Request | None:
        reviews = [each for each in self.asked if each.kind is JobKind.BULK_REVIEW]
        ticked = [each for review in reviews for each in review.expected]
        ids = [row[0] for row in self._world.rows(UNTICKED, ticked, REVIEWED_AT_ONCE)]
        if len(ids) <= REVIEWED_AT_ONCE / 2:
            return None
        mark = f"bulk review {len(self.asked)} of the chaos run"
        count = str(len(ids))
        fields: Fields = {
            "query": "",
            "id": ids,
            "count": count,
            "typed": count,
            "asked_at": datetime.now(UTC).isoformat(),
            "ruling": "agree",
            "reason": "CORRECT",
            "corrected": "",
            "remedy": "none",
            "note": mark,
        }
        return AskedJob(kind=JobKind.BULK_REVIEW, mark=mark, expected=frozenset(ids)), "/bulk", fields

    def _undo(self) -> Request | None:
        undone = {each.mark for each in self.asked if each.kind is JobKind.BULK_UNDO}
        for job in self.asked:
            if job.kind is JobKind.BULK_REVIEW:
                for job_id, state in self._world.rows(JOB, job.kind, job.mark):
                    if state == "done" and job_id not in undone:
                        undo = AskedJob(kind=JobKind.BULK_UNDO, mark=job_id, expected=job.expected)
                        return undo, f"/jobs/{job_id}/undo", {}
        return None

    def _export(self) -> Request | None:
        until = datetime.now(UTC)
        mark = until.isoformat()
        expected = frozenset(row[0] for row in self._world.rows(OLDER, until))
        fields: Fields = {"query": urlencode({"until": mark}), "format": "ndjson"}
        job = AskedJob(kind=JobKind.EXPORT, mark=urlencode({"until": mark}), expected=expected, until=until)
        return job, "/exports", fields

    def _post(self, path: str, fields: Fields) -> None:
        self._request("POST", path, {"csrf": csrf_token(self._world.access.session), **fields})

    def _request(self, method: str, path: str, fields: Fields | None = None) -> bytes:
        """The body of an answer.

        Raises:
            OSError: no answer, or one with a status of 400 or more.
        """
        address = urlsplit(self._world.addresses[Role.REVIEW])
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=ANSWER_S)
        headers = {"Cookie": f"{SESSION_COOKIE}={self._world.access.session}"}
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            connection.request(method, path, urlencode(fields or {}, doseq=True) or None, headers)
            answer = connection.getresponse()
            body = answer.read()
        except http.client.HTTPException as error:
            raise OSError(f"{path}: {error!r}") from error
        finally:
            connection.close()
        if answer.status >= 400:
            raise OSError(f"{path}: expected a status below 400, got {answer.status}: {body[:200]!r}")
        return body
