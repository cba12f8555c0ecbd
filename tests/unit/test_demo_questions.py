"""The questions of the demo are asked like people ask."""

from __future__ import annotations

import pytest

from cli.demo import events
from sandbox.cases import Writes, load_cases
from sandbox.replies.extractive import best_extract, content_words, numbered_passages
from tests.support.samples import passage
from worker import generation
from worker.documents.chunking import document_chunks
from worker.documents.model import DocumentFormat
from worker.documents.readers import parse_document
from worker.documents.reading import document_format

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


@pytest.mark.parametrize(
    ("kind", "question", "answer"),
    [
        (DocumentFormat.MARKDOWN, "How long does a repair take?", "A repair takes about two weeks."),
        (DocumentFormat.MARKDOWN, "What do small repairs cost?", "Small repairs cost 25 euros."),
        (
            DocumentFormat.CSV,
            "What does the wool rug cost?",
            "Product Wool rug: price 180 euros, width 200 cm, in stock yes.",
        ),
        (
            DocumentFormat.CSV,
            "Is the pine shelf in stock?",
            "Product Pine shelf: price 60 euros, width 80 cm, in stock no.",
        ),
    ],
)
def test_a_page_with_headings_and_a_price_list_are_asked_about(
    kind: DocumentFormat, question: str, answer: str
) -> None:
    """The sandbox finds the answer in the file as a worker shows it to a model."""
    paths = [events.DOCUMENTS / each["file"] for each in events.setup()["files"]]
    (path,) = [each for each in paths if document_format(each.name, b"") is kind]
    chunks = document_chunks(parse_document(path.read_bytes(), kind), title=path.stem)
    shown = generation.numbered(
        [passage(n, title=each.title, text=each.text) for n, each in enumerate(chunks, 1)]
    )
    extract = best_extract(question, numbered_passages(shown))

    assert question in [line["text"] for line in events.chats()]
    assert extract is not None
    assert extract.text == answer
