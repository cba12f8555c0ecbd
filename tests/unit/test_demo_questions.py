"""The questions of the demo are asked like people ask."""

from __future__ import annotations

from cli.demo import events
from sandbox.cases import Writes, load_cases
from sandbox.replies.extractive import content_words

CASES = load_cases(events.CASES).cases
DOCUMENTS = {
    f"{each['account']}/{each['title']}": "\n".join((each["title"], *each["paragraphs"]))
    for each in events.setup()["documents"]
}


def test_at_least_half_of_the_questions_share_no_content_word_with_their_document() -> None:
    """Questions that are no cases count as sharing words."""
    texts = {case.query for case in CASES}
    questions = [line["text"] for line in events.chats() if "?" in line["text"] or line["text"] in texts]
    unlike = [
        case
        for case in CASES
        if case.doc and not content_words(case.query) & content_words(DOCUMENTS[case.doc])
    ]

    assert len(unlike) >= len(questions) / 2


def test_every_case_is_asked_once_and_its_probes_stand_in_the_documents() -> None:
    """Right, wrong and invented answers are among them."""
    asked = [line[events.CASE] for line in events.chats() if events.CASE in line]
    evidence = "\n".join(DOCUMENTS.values())
    probes = [probe for case in CASES for probe in (case.probe, case.wrong_probe) if probe]

    assert sorted(asked) == sorted(case.case_id for case in CASES)
    assert all(probe in evidence for probe in probes)
    assert {case.writes for case in CASES} == {None, Writes.WRONG, Writes.INVENTED}
