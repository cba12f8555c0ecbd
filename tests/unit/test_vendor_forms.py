"""Finish reasons, protocol, waits and long texts: the tables of docs/vendors.md, one case a form."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from worker.adapters.api_errors import ApiStatusError
from worker.adapters.finish_reasons import FinishKind, finish_kind, is_cut_short
from worker.adapters.model_protocol import protocol_in, spoken
from worker.adapters.moderation_texts import MOST_TOKENS, OVERLAP_CHARS, pieces
from worker.adapters.openai_client import Watch
from worker.adapters.server_waits import asked_wait_s
from worker.adapters.vendor_failures import VendorFailure, failure
from worker.generation import estimated_tokens_of
from worker.model import AttemptOutcome


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("stop", FinishKind.WHOLE),
        ("STOP", FinishKind.WHOLE),
        ("FinishReason.STOP", FinishKind.WHOLE),
        ("tool-calls", FinishKind.WHOLE),
        ("eos_token", FinishKind.WHOLE),
        (None, FinishKind.UNSAID),
        ("", FinishKind.UNSAID),
        ("FINISH_REASON_UNSPECIFIED", FinishKind.UNSAID),
        ("length", FinishKind.CUT),
        ("FINISH_REASON_MAX_TOKENS", FinishKind.CUT),
        ("normal", FinishKind.WHOLE),
        ("eosFound", FinishKind.WHOLE),
        ("REASON_STOP", FinishKind.WHOLE),
        ("maxPredictedTokensReached", FinishKind.CUT),
        ("REASON_MAX_LEN", FinishKind.CUT),
        ("content_blocked", FinishKind.FILTERED),
        ("blacklist", FinishKind.FILTERED),
        ("STOP_REASON_END_TURN", FinishKind.WHOLE),
        ("EndTurn", FinishKind.WHOLE),
        ({"type": "stop", "matched": 7}, FinishKind.WHOLE),
        ("model_length", FinishKind.CUT),
        ("content_filter: PROHIBITED_CONTENT", FinishKind.FILTERED),
        ("error", FinishKind.FAILED),
        ("a word of next year", FinishKind.FAILED),
        (7, FinishKind.FAILED),
    ],
)
def test_a_finish_reason_has_a_kind_in_every_vendor_s_words(reason: object, kind: FinishKind) -> None:
    """A word that nobody knows is no whole answer."""
    assert finish_kind(reason) is kind


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        ("Lamps have a warranty of two years that covers the electrics", True),
        ("Unused goods may be returned within thirty days; return shipping [2]", True),
        ("We take cards, bank transfer", True),
        ("Our delivery to Norway takes four", True),
        ("当店の営業時間は平日の九時から", True),
        ("We are open from nine to six. [1]", False),
        ("**Open from nine to six.**", False),
        ("See our page at https://shop.example/hours", False),
        ("Thank you for your order 😀", False),
        ("ร้านเปิดทุกวัน ตั้งแต่เก้าโมง ถึง หกโมง เย็น", False),
        ("Yes", False),
        ('{"relevance": 0.9}', False),
        ("0.97", False),
    ],
)
def test_without_a_reason_the_last_sentence_decides(text: str, is_cut: bool) -> None:
    """It needs an end mark, where its script has one."""
    assert is_cut_short(text, is_suspected=True) is is_cut


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        ("The colours are:", True),
        ("We take cards, bank transfer,", True),
        ("We are open (on weekdays -", True),
        ("Sorry about that :-(", False),
        ("Open from nine to six", False),
    ],
)
def test_an_open_end_is_cut_whatever_the_server_says(text: str, is_cut: bool) -> None:
    """A missing full stop is not."""
    assert is_cut_short(text, is_suspected=False) is is_cut


@pytest.mark.parametrize(
    "text",
    [
        "We sell <b>lamps</b> & more [1].",
        "Use the code {SAVE10} at the till.",
        "The price is < 5 and > 3 euros.",
        "We can escalate (in writing) your case.",
        "The plan: <plan B>.",
        "My analysis is that it is open. The assistant said so finally.",
        "Please call: 555 1234. Functions of the lamp: three.",
        '{"relevance": 0.9, "sentences": []}',
        "I think, therefore I am.",
        "Write your <order number> and your <reason> on the label.",
        "Close the element with `</item>` in your feed.",
        "Sign in with these:\nUser: guest\nPassword: lamp",
        "Thinking about lamps: they last for years. Our thoughts: two watts.",
        "The lamp ĠĠ and the seal of Ġgantija cost 5.",
        "Colours【warm, cold】 and turn 3 of the screw.",
        '{"response": "two", "relevance": 0.9}',
        "<b>Open</b> until six.<br/>",
        "Go to Settings --> Account and click on Close.",
        "Paste `<!-- the tag -->` before the end of the head.",
        "30 days.\n<details><summary>More</summary>Unused only.</details>\nFree of charge.",
        "The [ThinkPad](https://shop.example/t) costs 900 euros, the [plan](https://shop.example/p) 5.",
        "We sell <ThinkPad> and <Thinkfun> goods.",
        'Paste <iframe src="https://shop.example"></iframe> or <button>Buy</button> into your page.',
        "FinalCut is included.",
        "Error code: E5 means that the door is open.",
        "API Error: 401 means that the key is wrong.",
    ],
)
def test_a_plain_reply_is_left_as_it_is(text: str) -> None:
    """Brackets, braces and words of the trade are no protocol."""
    assert (spoken(text), protocol_in(text)) == (text, "")


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "[object Object]",
        "<!DOCTYPE html><title>502</title>",
        '{"error": {"message": "upstream"}}',
        'functools[{"name": "x", "arguments": {}}]',  # Phi 4
        'multi_tool_use.parallel({"tool_uses": []})',  # OpenAI
        "✿FUNCTION✿: x\n✿ARGS✿: {}",  # Qwen-Agent
        'Let me look.\n{"tool_calls": [{"function": {"name": "x"}}]}',
        '{"action": "x", "action_input": "hours"}',  # LangChain
        "🤔 Thinking...\nThey ask for hours.",
        "We are open <co>from nine</co: 0>.",  # Cohere
        "[Error]: Concurrency limit exceeded for account, please retry later",  # MyAgents#422
        'API Error: 529 {"type": "error", "error": {"type": "overloaded_error"}}',
        "{ }",
        '""',
    ],
)
def test_what_is_not_for_the_reader_makes_a_text_unusable(text: str) -> None:
    """A call, a thought, a mark or an error; another attempt may have an answer."""
    assert protocol_in(spoken(text))


@pytest.mark.parametrize(
    "text",
    [
        "We are open. /no_think",  # Qwen 3
        "/no_think We are open.",
        "We are open.<EOT>",
        "We are open.:contentReference[oaicite:0]{index=0}",
        '{"role": "assistant", "content": "We are open."}',
        '{"action": "Final Answer", "action_input": "We are open."}',  # LangChain
    ],
)
def test_what_stands_around_a_reply_is_removed(text: str) -> None:
    """The reply is as the model wrote it."""
    assert spoken(text) == "We are open."


@pytest.mark.parametrize("name", ["", "markdown", "Markdown ", "md", "text", "plaintext"])
def test_a_fence_around_the_whole_reply_is_removed(name: str) -> None:
    """A channel would show its marks to the customer."""
    assert spoken(f"```{name}\nWe are open **from nine**.\nCome in!\n```\n") == (
        "We are open **from nine**.\nCome in!"
    )


@pytest.mark.parametrize(
    "text", ["```sh\npip install lamp\n```", "```\na\n```\nand\n```\nb\n```", "Run ```\na\n```"]
)
def test_a_fence_around_code_is_left(text: str) -> None:
    """It names a language, or is a part of the reply."""
    assert spoken(text) == text


@pytest.mark.parametrize("comment", ["<!-- refuse -->", "<!-- refuse", "<!-- refuse <!-- politely -->"])
def test_a_comment_of_html_is_not_sent(comment: str) -> None:
    """It may hold a thought; an answer that was cut in a comment has no end mark."""
    assert spoken(f"We are open.\n{comment}") == "We are open."


@pytest.mark.parametrize("unit", [" ", "\n", " \n", "<!--", "<think>", "\nuser:", "\ue200", "```\n", "``"])
def test_the_search_for_protocol_takes_linear_time(unit: str) -> None:
    """A model that repeats a sign until its limit does not stop the worker."""
    text = f"<answer>{unit * 50_000}x"
    started = time.process_time()
    protocol_in(spoken(text))

    assert time.process_time() - started < 5


@pytest.mark.parametrize("unit", [" ", "\n", "[1]", " [1] ", "a.", "a@"])
def test_the_search_for_the_end_takes_linear_time(unit: str) -> None:
    """A model that repeats a space or a citation until its limit does not stop the worker."""
    text = f"We are open today{unit * 50_000}x"
    started = time.process_time()
    is_cut_short(text, is_suspected=True)

    assert time.process_time() - started < 1


@given(st.text(max_size=300))
def test_any_text_can_be_searched_for_protocol(text: str) -> None:
    """What is left has no thought and no end mark."""
    found = spoken(f"<think>{text}")

    assert found in {"", found.strip()}
    assert "<|im_end|>" not in spoken(f"{text}<|im_end|>")


@pytest.mark.parametrize(
    ("headers", "body", "wait_s"),
    [
        ({"retry-after": "7"}, {}, 7.0),
        ({"retry-after-ms": "150", "retry-after": "9"}, {}, 0.15),
        ({"retry-after": "1m30s"}, {}, 90.0),
        ({"retry-after": "Thu, 26 Nov 2026 13:00:09 GMT", "date": "Thu, 26 Nov 2026 13:00:00 GMT"}, {}, 9.0),
        ({}, {"details": [{"@type": "RetryInfo", "retryDelay": "37s"}]}, 37.0),
        ({}, {"details": [{"retryDelay": {"seconds": 12}}]}, 12.0),
        ({}, {"retry_after_ms": 7300}, 7.3),
        ({}, {"parameters": {"retry_after": "12"}}, 12.0),
        ({}, {"message": "Please try again in 7.3s. Visit our page."}, 7.3),
        ({}, {"message": "Please try again in 1m12s."}, 72.0),
        ({}, {"message": "Please retry after 3 seconds."}, 3.0),
        ({}, {"message": "please try again 12 seconds later"}, 12.0),
        ({}, "Wait 30 seconds.", 30.0),
        ({}, "The quota will reset after 2h7m23s", 7643.0),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "0"}, {}, 360.0),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "5"}, {}, None),
        ({"retry-after": "10, 10"}, {}, 10.0),
        ({"x-retry-after": "8"}, {}, 8.0),
        ({"x-ratelimit-reset-after": "3.5"}, {}, 3.5),
        ({"ratelimitbysize-reset": "37", "ratelimitbysize-remaining": "0"}, {}, 37.0),
        ({"x-ratelimit-reset-requests-day": "1200", "x-ratelimit-remaining-requests-day": "4"}, {}, None),
        ({"ratelimit": '"default";r=0;t=30'}, {}, 30.0),
        ({"ratelimit": '"default";r=5;t=30'}, {}, None),
        ({"ratelimit": '"hour";r=0;t=30, "day";r=9;t=4000'}, {}, 30.0),
        ({"ratelimit": "limit=100, remaining=0, reset=30"}, {}, 30.0),  # express-rate-limit, draft 7
        ({"ratelimit": "limit=100, remaining=1, reset=30"}, {}, None),
        ({"x-ms-retry-after-ms": "4000"}, {}, 4.0),  # Azure
        ({}, {"details": [{"retryDelay": {"seconds": "7", "nanos": 300000000}}]}, 7.3),
        ({"retry-after": "Fri, 31 Dec 99999999999999999999 23:59:59 GMT"}, {}, None),
        ({"retry-after": "1e400"}, {}, None),
        ({"retry-after": "-5"}, {}, None),
        ({"retry-after": "9999999"}, {}, None),
        ({"retry-after": "soon"}, {"message": "We retried in 3 regions."}, None),
        ({"retry-after": "PT1M30.5S"}, {}, 90.5),
        ({"retry-after": '"60";w=60'}, {}, 60.0),
        ({"x-ratelimit-after": "9"}, {}, 9.0),  # tower-governor
        ({}, {"message": '{"error": {"retry_after": 8}}'}, 8.0),
        ({}, "请在 30 秒后重试", 30.0),
        ({}, "請於 2 分鐘後再試", 120.0),
        ({}, "30秒後に再試行してください", 30.0),
        ({}, "1분 후에 다시 시도해 주세요", 60.0),
        ({}, "Versuchen Sie es in 30 Sekunden erneut.", 30.0),
        ({}, "Veuillez réessayer dans 2 minutes", 120.0),
        ({}, "Inténtelo de nuevo en 20 segundos", 20.0),
        ({}, "Повторите попытку через 20 секунд", 20.0),
        ({}, "20 saniye sonra tekrar deneyin", 20.0),
        ({}, "限制为每60秒10次, 1分間に30回, Limite: 30 solicitudes en 60 segundos", None),
    ],
)
def test_a_refusal_says_when_to_ask_again(
    headers: dict[str, str], body: object, wait_s: float | None
) -> None:
    """In headers, fields or words; what no server can mean is no wait."""
    found = asked_wait_s(headers, body, resets=True)

    assert found == (wait_s if wait_s is None else pytest.approx(wait_s))


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "date", "x-ratelimit-reset"]), st.text()
    )
)
def test_no_header_breaks_the_translation_of_an_error(headers: dict[str, str]) -> None:
    """A wait is none, or between 0 and a day."""
    found = asked_wait_s(headers, headers, resets=True)

    assert found is None or 0 <= found <= 86_400


@pytest.mark.parametrize("letter", ["a", "я", "字", "😀", "ạ"])
def test_a_long_text_is_moderated_in_pieces_that_hold_all_of_it(letter: str) -> None:
    """No piece is longer than half of what the endpoint reads, and neighbours overlap."""
    text = "".join(f"{letter * 9}{number} " for number in range(2000))
    found = pieces(text)

    assert all(estimated_tokens_of([each]) <= MOST_TOKENS for each in found)
    assert text.startswith(found[0])
    assert text.endswith(found[-1])
    assert all(before[-OVERLAP_CHARS:] == after[:OVERLAP_CHARS] for before, after in pairwise(found))
    assert sum(map(len, found)) - OVERLAP_CHARS * (len(found) - 1) == len(text)


def test_a_short_text_is_moderated_whole() -> None:
    """So is an empty one."""
    assert (pieces("Hello"), pieces("")) == (["Hello"], [""])


FORBIDDEN = VendorFailure(
    kind=AttemptOutcome.MISCONFIGURED,
    status=403,
    retry_after_s=None,
    message="no",
    cause="key",
    is_doubtful=True,
)


def test_one_forbidden_input_of_a_working_endpoint_calls_nobody() -> None:
    """A second one in a row does, and so does the first of an endpoint that never worked."""
    reports: list[BaseException] = []
    with capture_logs() as logs:
        watch = Watch("model", reports.append)
        watch.worked()
        watch.failed(FORBIDDEN)
        watch.worked()
        watch.failed(FORBIDDEN)
        quiet = len(reports)
        watch.failed(FORBIDDEN)
        Watch("judge", reports.append).failed(FORBIDDEN)

    assert (quiet, len(reports)) == (0, 2)
    assert [each["event"] for each in logs] == ["endpoint_misconfigured"] * 2


@pytest.mark.parametrize(
    ("status", "body", "kind", "cause"),
    [
        (
            400,
            {"message": "Project does not have access to model omni", "code": "model_not_found"},
            "misconfigured",
            "model",
        ),
        (
            403,
            {"message": "Your account was flagged for violating our usage policies"},
            "misconfigured",
            "key",
        ),
        (400, {"message": "The model `omni-moderation-latest` does not exist"}, "misconfigured", "model"),
        (
            400,
            {"message": "400: {'error': 'Invalid model name passed in model=text-moderation-latest'}"},
            "misconfigured",
            "model",
        ),
        (500, {"message": "Output guardrail 'shop' failed to evaluate"}, "server_error", ""),
        (403, {"message": "Rate Limit Exceeded"}, "rate_limited", ""),
        (403, {"message": "Input blocked", "metadata": {"reasons": ["hate"]}}, "rejected", ""),
        (451, {"message": "Unavailable for legal reasons"}, "rejected", ""),
        (400, {"message": "the text 'model x not found' is not a valid date" + "." * 300}, "rejected", ""),
        (400, {"message": "'this model is not available in your region' is no text"}, "rejected", ""),
        (400, {"message": "'key budget limit exceeded, 额度已用完, 内容超过' is no text"}, "rejected", ""),
        (418, {}, "misconfigured", "address"),
        (403, {"message": "Concurrent calls are not supported for this key"}, "misconfigured", "key"),
        (502, {"message": "insufficient balance (1008)"}, "server_error", ""),
    ],
)
def test_a_status_is_read_with_the_words_of_its_body(
    status: int, body: dict[str, object], kind: str, cause: str
) -> None:
    """Who must act differs although the status is the same."""
    known = failure(ApiStatusError(f"Error code: {status}", status=status, headers={}, body=body))

    assert known is not None
    assert (known.kind, known.cause) == (kind, cause)


def test_an_answer_that_does_not_come_in_time_is_called_so() -> None:
    """The error of a time limit has no text of its own."""
    known = failure(TimeoutError())

    assert known is not None
    assert (known.kind, known.message) == (AttemptOutcome.TIMEOUT, "TimeoutError: no answer in time")
