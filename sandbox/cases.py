"""A set of conversations whose truth is known: ``cases.jsonl``, one JSON object a line, and its documents.

``docs/conversations-set.md`` describes the fields. The sandbox reads the cases to write and to judge drafts;
``hushgate assess conversations`` publishes the questions and counts the endings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import orjson

CASES_FILE = "cases.jsonl"
CITATION = re.compile(r"\[\d{1,4}\]")
NOT_A_WORD = re.compile(r"[\W_]+")
LEAST_CONTAINED = 12
"""A question within a longer text is recognised from this many characters on."""
NOT_IN_DOCUMENTS = "not_in_documents"


class Writes(StrEnum):
    """What the model writes: the right answer, the answer to a neighbouring question, or a made-up fact."""

    RIGHT = "right"
    WRONG = "wrong"
    INVENTED = "invented"


class DraftKind(StrEnum):
    """What a text is, compared with the texts of its case."""

    RIGHT = "right"
    WRONG = "wrong"
    INVENTED = "invented"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseLine:
    """An earlier line of a case's conversation; ``role`` is ``user`` or ``assistant``."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with its right answer and two that must be held back.

    Attributes:
        case_id: unique in the file.
        domain: the business; its documents are ``docs/<domain>/*.md``.
        kind: such as ``question``, ``yes_no``, ``follow_up``; ``not_in_documents`` has no ``doc``.
        scope: ``chat`` or ``comment``.
        doc: the document with the answer, or None.
        probe: the verbatim part of it that contains the answer, or None.
        wrong_probe: a verbatim part of another document that supports ``wrong_answer``.
        rewrite: a good search query for the question.
        writes: what the model writes for this case whatever the run says, or None.
    """

    case_id: str
    domain: str
    kind: str
    query: str
    answer: str
    scope: str = "chat"
    language: str = "en"
    history: tuple[CaseLine, ...] = ()
    doc: str | None = None
    probe: str | None = None
    wrong_answer: str | None = None
    wrong_probe: str | None = None
    invented: str | None = None
    rewrite: str = ""
    writes: Writes | None = None

    def text_of(self, kind: DraftKind) -> str:
        """The case's text of a kind; empty without one."""
        texts = {DraftKind.RIGHT: self.answer, DraftKind.WRONG: self.wrong_answer}
        return (self.invented if kind is DraftKind.INVENTED else texts.get(kind)) or ""

    def kind_of(self, sentences: Sequence[str]) -> DraftKind:
        """The text of the case that contains most of these sentences: the right one on a tie."""
        parts = [part for part in map(folded, sentences) if part]
        counts = {
            kind: sum(part in folded(self.text_of(kind)) for part in parts)
            for kind in (DraftKind.RIGHT, DraftKind.INVENTED, DraftKind.WRONG)
        }
        best = max(counts, key=lambda kind: counts[kind])
        return best if counts[best] else DraftKind.OTHER


class CaseFile:
    """The cases of a file, found by their question."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self.cases = tuple(cases)
        self._by_query: dict[str, list[Case]] = {}
        for case in self.cases:
            self._by_query.setdefault(folded(case.query), []).append(case)
        self._longest_first = sorted(self._by_query, key=len, reverse=True)

    def find(self, question: str, earlier: Sequence[str] = ()) -> Case | None:
        """The case with this question; of several, the one whose history ends as the conversation does."""
        key = folded(question)
        found = self._by_query.get(key) or next(
            (self._by_query[k] for k in self._longest_first if len(k) >= LEAST_CONTAINED and k in key), None
        )
        if not found:
            return None
        said = [folded(line) for line in earlier]
        return next((case for case in found if _continues(case, said)), found[0])


def folded(text: str) -> str:
    """The text without citations, case and punctuation; as it is when it has no letter or digit."""
    return NOT_A_WORD.sub(" ", CITATION.sub(" ", text).casefold()).strip() or text.strip()


def load_cases(place: Path) -> CaseFile:
    """The cases of a file, or of ``cases.jsonl`` in a folder; ValueError names file, line and field."""
    path = place / CASES_FILE if place.is_dir() else place
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ValueError(f"{path}: expected a readable file of cases ({error.strerror})") from error
    cases = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                cases.append(parse_case(orjson.loads(line)))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
    if not cases:
        raise ValueError(f"{path}: expected at least one case, got none")
    _require_unique(path, cases)
    return CaseFile(cases)


def parse_case(document: object) -> Case:
    """The case in a JSON object; unknown fields are ignored; ValueError names the field."""
    if not isinstance(document, Mapping):
        raise ValueError(f"expected an object, got {document!r}"[:200])  # noqa: TRY004  # one error type for bad input
    writes = _text(document, "writes", required=False)
    if writes is not None and writes not in set(Writes):
        raise ValueError(f"writes: expected one of {', '.join(Writes)}, got {writes!r}")
    optional = {
        name: _text(document, name, required=False)
        for name in ("doc", "probe", "wrong_answer", "wrong_probe", "invented")
    }
    if (optional["doc"] is None) != (optional["probe"] is None):
        raise ValueError("doc, probe: expected both or none")
    query = _text(document, "query") or ""
    scope = _text(document, "scope", required=False) or "chat"
    if scope not in ("chat", "comment"):
        raise ValueError(f"scope: expected chat or comment, got {scope!r}")
    return Case(
        case_id=_text(document, "id") or "",
        domain=_text(document, "domain") or "",
        kind=_text(document, "kind", required=False) or "question",
        query=query,
        answer=_text(document, "answer") or "",
        scope=scope,
        language=_text(document, "lang", required=False) or "en",
        history=tuple(_history(document.get("history") or [])),
        rewrite=_text(document, "rewrite", required=False) or query,
        writes=Writes(writes) if writes else None,
        **optional,
    )


def _continues(case: Case, said: Sequence[str]) -> bool:
    """Whether the last line of the case's history was said."""
    last = folded(case.history[-1].text) if case.history else ""
    return any(last in line for line in said) if last else not said


def _history(lines: object) -> Iterator[CaseLine]:
    if not isinstance(lines, list):
        raise ValueError(f"history: expected a list of lines, got {lines!r}"[:200])  # noqa: TRY004  # one error type
    for at, line in enumerate(lines):
        role, text = (line.get("role"), line.get("text")) if isinstance(line, Mapping) else (None, None)
        if role not in ("user", "assistant") or not isinstance(text, str) or not text.strip():
            raise ValueError(f"history[{at}]: expected role (user or assistant) and text, got {line!r}"[:200])
        yield CaseLine(role=role, text=text)


def _text(document: Mapping[str, object], name: str, *, required: bool = True) -> str | None:
    value = document.get(name)
    if value is None and not required:
        return None
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name}: expected a text, got {value!r}"[:200])
    return value


def _require_unique(path: Path, cases: Sequence[Case]) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.case_id in seen:
            raise ValueError(f"{path}: id: expected every id once, got {case.case_id!r} twice")
        seen.add(case.case_id)
