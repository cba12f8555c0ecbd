"""Retrieval, recheck, fallback and escalation in the pipeline, on real servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from db.documents import model_change
from sandbox.server import SandboxHandle
from tests.support.library import embedding, opened
from tests.support.running import Running, eventually, running
from worker.reasons import Reason

HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "When are you open on weekdays?"
ASKED = "Is the shop open on weekdays, please?"
"""It has a word that the passage lacks, so the copied answer is read by the judge."""
LABELLED = "UPDATE documents SET metadata = %(labels)s WHERE user_id = %(user_id)s"
GUARDRAIL = {"name": "guardrail", "initial_similarity": 0.0, "recheck_similarity": 0.0}


@pytest.fixture
def engine(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A fresh engine that searches by words, whatever model another test left in use."""
    with running(database_url, redis_url, sandbox, HUSHGATE_EMBEDDINGS="off") as each:
        yield each


@pytest.fixture
def embedding_engine(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A fresh engine that searches by vectors too."""
    environment = {"HUSHGATE_EMBEDDINGS": "hash"}
    with running(database_url, redis_url, sandbox, **environment) as each:
        yield each


async def embed_all(url: str, sandbox: SandboxHandle) -> None:
    """What `hushgate documents reembed` does."""
    async with opened(url) as source, embedding(sandbox) as model:
        async for _ in model_change.reembed_chunks(source, model):
            pass


def judge_says(engine: Running, *scores: float) -> None:
    """The judge's next answers, one for each draft."""
    for score in reversed(scores):
        engine.sandbox.add_rule("judge", "score", value=str(score), times=1)


def test_a_judge_that_is_down_is_unavailable_and_never_a_score(engine: Running) -> None:
    """Under the guardrail policy nothing goes out without a grounding score."""
    engine.sandbox.add_rule("judge", "500")
    user_id = engine.account(documents=HOURS, assessment_policy=GUARDRAIL)
    row = engine.decide(user_id, QUESTION)
    judged = [a for a in row["snapshot_json"]["attempts"] if a["stage"] == "judge"]

    assert row["decision"] == "escalate"
    assert {"server_error"} == {attempt["outcome"] for attempt in judged}
    assert row["snapshot_json"]["assessment"]["diagnostics"]["confidenceBreakdown"]["grounding"] is None


def test_a_partial_answer_says_what_is_missing_and_how_sure_it_is(engine: Running) -> None:
    """The supported sentence, the account's own text, the text of the tier; the rest is in the audit."""
    jet = "Every order travels by private jet and carries a lifetime guarantee since 1987."
    engine.sandbox.add_rule("chat", "keyword", value=jet)
    policy = {
        "fallback_levels": ["partial", "text", "handoff", "silence"],
        "missing_texts": {"en": "Please call us about the rest.", "vi": "Vui lòng gọi cho chúng tôi."},
        "tell_confidence": True,
        "confidence_texts": {"en": {"high": "Sure.", "medium": "Please check this."}},
    }
    user_id = engine.account(documents=HOURS, assessment_policy=policy)
    row = engine.decide(user_id, QUESTION)
    reply = eventually(lambda: engine.reply(user_id, row["event_id"]), "a reply")
    sentence, *texts = reply["text"].split("\n\n")

    assert row["reason_code"] == Reason.PARTIAL_REPLY
    assert "nine to six" in sentence
    assert jet not in sentence
    assert texts == ["Please call us about the rest.", "Please check this."]
    found = row["snapshot_json"]["assessment"]
    places = [(each["start"], each["end"]) for each in found["sentences"]]

    assert found["diagnostics"]["removed_sentences"] == [jet]
    assert [reply["text"][slice(*place)].strip() for place in places] == [sentence, ""]
    assert [each["text"] for each in reply["sentences"]] == [sentence]


def test_a_condition_has_thresholds_of_its_own(engine: Running) -> None:
    """The judge's confidence is enough without the condition, and too low with it."""
    plain = engine.decide(engine.account(documents=HOURS), ASKED)
    policy = {"thresholds": {"label:subject=tax": {"send_at": 1.0}, "label:subject=law": {"send_at": 0.1}}}
    user_id = engine.account(documents=HOURS, assessment_policy=policy)
    engine.database.execute(LABELLED, {"user_id": user_id, "labels": '{"subject": "tax"}'})
    stricter = engine.decide(user_id, ASKED)
    found = stricter["snapshot_json"]["assessment"]

    assert plain["reason_code"] == Reason.REPLIED
    assert stricter["decision"] == "escalate"
    assert stricter["confidence"] == plain["confidence"]
    assert found["diagnostics"]["thresholds"] == {"send_at": 1.0}


def test_a_trusted_reply_says_how_sure_it_is(engine: Running) -> None:
    """The shipped text in the author's language."""
    user_id = engine.account(documents=HOURS, assessment_policy={"tell_confidence": True})
    row = engine.decide(user_id, QUESTION)
    reply = eventually(lambda: engine.reply(user_id, row["event_id"]), "a reply")

    assert row["reason_code"] == Reason.REPLIED
    assert reply["text"].endswith("\n\nThis answer is based on our documents.")


def asked_models(sandbox: SandboxHandle, last: int) -> set[str]:
    """The models of the newest requests for a completion."""
    bodies = [request["body"] for request in sandbox.requests(last=last, route="chat")]
    return {str(body["model"]) for body in bodies if isinstance(body, dict)}


def test_further_models_are_asked_and_what_each_cost_is_audited(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """A second draft by another model, then three models at once (policy ``consensus``)."""
    models = {"HUSHGATE_MODELS": '{"strong": "vendor/strong", "small": "vendor/small"}'}
    sandbox.add_rule("chat", "ungrounded", times=1)
    with running(database_url, redis_url, sandbox, **models) as engine:
        retry = {"retry_with": {"below": 0.6, "model": "strong"}}
        again = engine.decide(engine.account(documents=HOURS, assessment_policy=retry), QUESTION)
        asked = asked_models(sandbox, 2)
        policy = {"name": "consensus", "models": ["default", "strong", "small"]}
        agreed = engine.decide(engine.account(documents=HOURS, assessment_policy=policy), QUESTION)
        three = asked_models(sandbox, 3)
    record = again["snapshot_json"]["assessment"]["diagnostics"]["retried_with"]
    entries = agreed["snapshot_json"]["assessment"]["diagnostics"]["models"]

    assert (again["reason_code"], record["used"]) == (Reason.REPLIED, True)
    assert asked == {"openai/gpt-4.1-mini", "vendor/strong"}
    assert three == {"openai/gpt-4.1-mini", "vendor/strong", "vendor/small"}
    assert (agreed["reason_code"], len(entries)) == (Reason.REPLIED, 3)
    costs = agreed["snapshot_json"]["costs"]
    drafts = sum(each["prompt"] for each in costs if each["purpose"] == "completion")
    assert drafts == sum(each["prompt_tokens"] for each in entries) > 0
    assert agreed["snapshot_json"]["tokens"]["prompt"] == drafts + sum(
        each["prompt"] for each in costs if each["purpose"] == "judge"
    )


def test_a_refusal_suggests_questions_the_documents_answer(engine: Running) -> None:
    """Headings of the account's own documents, in the reply as it is delivered (Safety Mechanism)."""
    policy = {"name": "safety", "suggest_questions": True}
    user_id = engine.account(documents=HOURS, assessment_policy=policy)
    row = engine.decide(user_id, "Is the shop decorated on weekdays?")
    reply = eventually(lambda: engine.reply(user_id, row["event_id"]), "a reply")

    assert row["reason_code"] == Reason.FALLBACK_SENT
    assert reply["text"] == ("I don't know based on our documents.\n\nYou could ask about:\n- Opening hours")


@pytest.mark.parametrize("name", ["calibrated", "failsafe", "guardrail", "validators", "safety", "consensus"])
def test_every_policy_can_be_chosen_and_names_itself_in_the_audit(engine: Running, name: str) -> None:
    """An account's choice judges its replies."""
    user_id = engine.account(documents=HOURS, assessment_policy={"name": name})
    row = engine.decide(user_id, QUESTION)

    assert row["snapshot_json"]["assessment"]["policy"].startswith(f"{name}@")


def test_labels_of_an_event_restrict_which_documents_answer(engine: Running) -> None:
    """No document carries the label, so there is nothing to answer from."""
    user_id = engine.account(documents=HOURS)
    row = engine.decide(user_id, QUESTION, metadata={"labels": {"shop": "north"}})

    assert row["snapshot_json"]["passages"] == []
    assert row["decision"] == "escalate"


def test_vectors_find_passages_in_the_pipeline(embedding_engine: Running) -> None:
    """Each carries who found it; the reply rests on them, whole."""
    user_id = embedding_engine.account(documents=HOURS)
    asyncio.run(embed_all(embedding_engine.url, embedding_engine.sandbox))
    row = embedding_engine.decide(user_id, QUESTION)
    passages = row["snapshot_json"]["passages"]

    assert (row["reason_code"], row["degraded"]) == (Reason.REPLIED, False)
    assert passages[0]["found_by"] == "both"
    assert {"vector", "both"} >= {passage["found_by"] for passage in passages}
    assert embedding_engine.sandbox.calls("embeddings") > 1


@pytest.mark.parametrize("fault", ["500", "429", "400", "malformed"])
def test_an_embedder_that_fails_leaves_words_and_is_marked(embedding_engine: Running, fault: str) -> None:
    """The reply goes out on what words alone found, and the audit row is degraded and says why."""
    user_id = embedding_engine.account(documents=HOURS)
    asyncio.run(embed_all(embedding_engine.url, embedding_engine.sandbox))
    embedding_engine.sandbox.add_rule("embeddings", fault)
    row = embedding_engine.decide(user_id, QUESTION)
    kept = row["snapshot_json"]
    searched = [stage["detail"] for stage in kept["stages"] if stage["stage"] == "retrieval"]

    assert (row["reason_code"], row["degraded"]) == (Reason.REPLIED, True)
    assert searched[0]["degraded"]
    assert {"words"} == {passage["found_by"] for passage in kept["passages"]}


def test_a_recheck_searches_ten_documents_down_to_a_lower_similarity(engine: Running) -> None:
    """Confidence Guardrail: 5 to 10 documents; the draft that stands rests on the wider search."""
    shops = {f"Shop {n}": [f"Shop number {n} is open from nine to six on weekdays."] for n in range(12)}
    judge_says(engine, 0.6, 1.0)
    user_id = engine.account(documents=shops, assessment_policy=GUARDRAIL)
    row = engine.decide(user_id, QUESTION)
    kept = row["snapshot_json"]
    searched = [s["detail"]["passages"] for s in kept["stages"] if s["stage"] == "retrieval"]
    log = kept["confidenceLog"]

    assert [len(found) for found in searched] == [5, 10]
    assert set(searched[0]) < set(searched[1]) == {passage["id"] for passage in kept["passages"]}
    assert [len(entry["documentsUsed"]) for entry in log] == [5, 10]
    assert [entry["score"] for entry in log] == kept["rechecked"]
    assert log[0]["timestamp"] < log[1]["timestamp"] <= row["created_at"].isoformat()


LIBRARY = {
    "About us": [
        "We are open from nine to six on weekdays. Maria Lopez founded the shop in the year 1998 in Leeds."
    ]
}


def test_an_injected_instruction_is_not_sent(engine: Running) -> None:
    """The judge is a model too: what it says about an unsupported draft is not asked."""
    engine.sandbox.add_rule("chat", "injected")
    engine.sandbox.add_rule("judge", "score", value="1.0")
    user_id = engine.account(documents=LIBRARY)
    row = engine.decide(user_id, QUESTION)

    assert (row["decision"], engine.reply(user_id, row["event_id"])) == ("escalate", None)


def test_a_supported_answer_to_another_question_is_not_sent(engine: Running) -> None:
    """Every fact is in the documents, and the question is not answered: the record names relevance."""
    engine.sandbox.add_rule("chat", "irrelevant")
    user_id = engine.account(documents=LIBRARY)
    row = engine.decide(user_id, "When are you open on weekdays in winter?")
    found = row["snapshot_json"]["assessment"]

    assert (row["decision"], engine.reply(user_id, row["event_id"])) == ("escalate", None)
    assert "irrelevant" in found["failed_checks"]
    assert found["relevance"] < found["support"]
    assert row["confidence"] == pytest.approx(found["support"] * found["relevance"])
