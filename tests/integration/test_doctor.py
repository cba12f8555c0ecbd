"""``hushgate doctor`` and the model endpoints: what it finds without paying, and what real calls prove."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from cli.demo.receiver import serving
from cli.doctor import live_models
from sandbox.server import SandboxHandle
from tests.support.http_server import Answer, Asked, http_server, json_answer
from tests.support.terminal import Ended, Shell, shell_at

KEY = "sk-hunter2-of-this-test"
MODEL = "openai/gpt-4.1-mini"
MODERATION = "omni-moderation-latest"
READING = (
    '{"sentences": [{"number": 1, "verdict": "supported", "quotes": ["nine to six"]}], "relevance": 0.9}'
)
CHAT_ANSWER = {
    "model": f"{MODEL}-2025",
    "choices": [{"message": {"content": READING}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 8, "completion_tokens": 1},
}
SCORES = {"model": MODERATION, "results": [{"categories": {"hate": False}, "category_scores": {"hate": 0.1}}]}
Answers = Mapping[str, tuple[int, Any]]


class Files(SimpleHTTPRequestHandler):
    """A plain static file server."""

    def log_message(self, *_arguments: object) -> None:
        """Nothing."""


@contextmanager
def api(answers: Answers) -> Iterator[tuple[str, list[Asked]]]:
    """An API with these answers by path, and 404 elsewhere: its address, and what it was asked."""

    def answer(asked: Asked) -> Answer:
        status, document = answers.get(asked.path, (404, {"error": {"message": "unknown path"}}))
        return json_answer(document, status)

    with http_server(answer) as running:
        yield running


def listing(*names: str) -> tuple[int, Any]:
    """A list of models."""
    return 200, {"object": "list", "data": [{"id": name} for name in names]}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell whose Postgres and Redis are away; this file looks at endpoints only."""
    return shell_at(
        tmp_path,
        DATABASE_URL="postgresql://u@127.0.0.1:1/x",
        REDIS_URL="redis://127.0.0.1:1/0",
        OPENAI_API_KEY=KEY,
        OPENROUTER_API_KEY=KEY,
    )


def doctor(shell: Shell, url: str, *words: str, **env: str) -> tuple[dict[str, dict[str, str]], Ended]:
    """Check -> its line, with both endpoints at this URL."""
    ended = shell.run("doctor", *words, env={"OPENAI_BASE_URL": url, "OPENROUTER_BASE_URL": url, **env})
    return {row["check"]: row for row in ended.rows}, ended


def test_a_base_url_without_its_path_is_corrected(shell: Shell, sandbox: SandboxHandle) -> None:
    """The API lies below /v1: doctor fails and names the URL to set."""
    found, ended = doctor(shell, sandbox.base_url.removesuffix("/v1"))

    assert ended.code == 1
    assert found["model endpoint"]["state"] == found["moderation endpoint"]["state"] == "fail"
    assert found["model endpoint"]["fix"] == f"set HUSHGATE_MODEL_URL={sandbox.base_url}"
    assert found["moderation endpoint"]["fix"] == f"set HUSHGATE_MODERATION_URL={sandbox.base_url}"


def test_a_base_url_with_the_path_of_a_call_is_corrected(shell: Shell, sandbox: SandboxHandle) -> None:
    """Vendors' pages print the address of the call; the base URL is what stands before it."""
    found, _ = doctor(shell, f"{sandbox.base_url}/chat/completions")

    assert found["model endpoint"]["fix"] == f"set HUSHGATE_MODEL_URL={sandbox.base_url}"


@pytest.mark.parametrize("path", ["", "/v1", "/docs"])
def test_a_static_file_server_is_no_endpoint(shell: Shell, tmp_path: Path, path: str) -> None:
    """It answers with HTML, whether the file exists or not: doctor fails."""
    for folder in (tmp_path, tmp_path / "docs"):
        folder.mkdir(exist_ok=True)
        (folder / "models").mkdir()
        (folder / "models" / "index.html").write_text("<!doctype html><title>models</title>")
    with serving(partial(Files, directory=str(tmp_path))) as url:
        found, ended = doctor(shell, f"{url}{path}")

    assert ended.code == 1
    for check in ("model endpoint", "moderation endpoint"):
        assert found[check]["state"] == "fail"
        assert "expected a list of models, got an HTML page" in found[check]["found"]
        assert "/v1" in found[check]["fix"]


def test_a_model_that_the_endpoint_does_not_list_is_found(shell: Shell) -> None:
    """A warning with near names, as some endpoints answer to names they do not list."""
    with api({"/v1/models": listing("openai/gpt-4.1", "openai/gpt-4.1-nano", MODERATION)}) as (url, asked):
        found, _ = doctor(shell, f"{url}/v1")

    assert (found["model endpoint"]["state"], found["moderation endpoint"]["state"]) == ("warn", "ok")
    assert f"lists 3 models, without HUSHGATE_MODEL '{MODEL}'" in found["model endpoint"]["found"]
    assert "openai/gpt-4.1-nano" in found["model endpoint"]["fix"]
    assert MODERATION not in found["model endpoint"]["fix"]
    assert "hushgate doctor --live" in found["model endpoint"]["fix"]
    assert {each.path for each in asked} == {"/v1/models"}


@pytest.mark.parametrize("listed", [MODEL, "openai/*", "*"])
def test_a_model_that_the_endpoint_lists_is_fit(shell: Shell, listed: str) -> None:
    """By its name or by a pattern, as gateways list them; a variant after a colon is of the same model."""
    with api({"/v1/models": listing(listed)}) as (url, _):
        found, _ = doctor(shell, f"{url}/v1", HUSHGATE_MODEL=f"{MODEL}:floor")

    assert (found["model endpoint"]["state"], found["model endpoint"]["fix"]) == ("ok", "")


def test_a_judge_that_the_endpoint_does_not_list_is_found(shell: Shell) -> None:
    """HUSHGATE_JUDGE is checked where it names another model."""
    with api({"/v1/models": listing(MODEL)}) as (url, _):
        found, _ = doctor(shell, f"{url}/v1", HUSHGATE_JUDGE="judge-9")

    assert "HUSHGATE_JUDGE 'judge-9'" in found["model endpoint"]["found"]


def test_an_endpoint_without_a_list_is_a_warning(shell: Shell) -> None:
    """Nothing was checked, so doctor does not say ok; it names the way to find out."""
    with api({}) as (url, _):
        found, _ = doctor(shell, f"{url}/v1")

    assert found["model endpoint"]["state"] == "warn"
    assert "hushgate doctor --live" in found["model endpoint"]["fix"]


def test_a_deployment_that_moderates_nothing_is_warned(shell: Shell) -> None:
    """Accounts with a classifier can moderate; without any the line says that texts are not moderated."""
    off = {"HUSHGATE_MODERATION": "off"}
    with api({"/v1/models": listing(MODEL)}) as (url, _):
        without, _ = doctor(shell, f"{url}/v1", **off)
        beside, _ = doctor(shell, f"{url}/v1", HUSHGATE_CLASSIFIERS=declared(f"{url}/v1"), **off)

    assert (without["moderation"]["state"], beside["moderation"]["state"]) == ("warn", "ok")
    assert "house" in beside["moderation"]["found"]


def test_without_live_nothing_is_paid(shell: Shell, sandbox: SandboxHandle) -> None:
    """Not one call of the sandbox is counted."""
    doctor(shell, sandbox.base_url, HUSHGATE_EMBEDDINGS="hash")

    assert [sandbox.calls(route) for route in ("chat", "moderations", "embeddings")] == [0, 0, 0]


def test_live_makes_the_calls_of_a_worker(shell: Shell) -> None:
    """Passages with history, a round of tools, a reading by schema, a moderation; each says what it cost."""
    answers = {
        "/v1/models": listing(MODEL, MODERATION),
        "/v1/chat/completions": (200, CHAT_ANSWER),
        "/v1/moderations": (200, SCORES),
    }
    with api(answers) as (url, asked):
        found, _ = doctor(shell, f"{url}/v1", "--live")
    calls = [(each.path, each.json) for each in asked if each.body and each.path != "/v1/embeddings"]

    assert [path for path, _ in calls] == [*["/v1/chat/completions"] * 3, "/v1/moderations"]
    assert [body["model"] for _, body in calls] == [*[MODEL] * 3, MODERATION]
    first, after_tools, reading = (body for _, body in calls[:3])
    assert [each["role"] for each in first["messages"]] == ["system", "user", "assistant", "user"]
    assert (after_tools["messages"][-1]["role"], after_tools["tool_choice"]) == ("tool", "none")
    assert reading["response_format"]["json_schema"]["name"] == "reading"
    assert found["live model call"]["state"] == found["live moderation call"]["state"] == "ok"
    assert found["live model call"]["found"].endswith("16 + 2 tokens")
    assert found["live judge call"]["found"].endswith("8 + 1 tokens")


def test_live_passes_with_the_sandbox(shell: Shell, sandbox: SandboxHandle) -> None:
    """Chat, moderation and embedding."""
    found, _ = doctor(shell, sandbox.base_url, "--live", HUSHGATE_EMBEDDINGS="hash")

    assert {name: row["state"] for name, row in found.items() if name.startswith("live")} == {
        "live model call": "ok",
        "live judge call": "ok",
        "live moderation call": "ok",
        "live embedding call": "ok",
    }


def test_live_fails_a_judge_whose_answer_is_no_reading(shell: Shell) -> None:
    """It would hold back each draft that is not verbatim."""
    prose = {**CHAT_ANSWER, "choices": [{"message": {"content": "Looks fine."}, "finish_reason": "stop"}]}
    with api({"/v1/models": listing(MODEL, MODERATION), "/v1/chat/completions": (200, prose)}) as (url, _):
        found, _ = doctor(shell, f"{url}/v1", "--live")

    assert (found["live model call"]["state"], found["live judge call"]["state"]) == ("ok", "fail")
    assert found["live judge call"]["fix"].startswith("set HUSHGATE_JUDGE")


@pytest.mark.parametrize(
    ("vendor", "state", "lacks"),
    [
        ("mistral", "ok", ""),
        ("anthropic-gateway", "ok", "the server does not take tool_choice"),
        ("azure", "ok", "the server does not take max_tokens"),
        ("vllm-gemma", "warn", "the server does not take system messages, tools"),
        ("ollama", "warn", "the server does not take tools"),
    ],
)
def test_live_names_what_a_server_does_not_take(
    shell: Shell, sandbox: SandboxHandle, vendor: str, state: str, lacks: str
) -> None:
    """And warns where the answers are the worse for it."""
    sandbox.speak_as(vendor)
    found, _ = doctor(shell, sandbox.base_url, "--live")

    assert found["live model call"]["state"] == state
    assert found["live model call"]["found"].endswith(lacks or " tokens")


def test_a_slow_model_is_a_warning(
    shell: Shell, sandbox: SandboxHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every customer waits for it, and nothing else names it."""
    monkeypatch.setattr(live_models, "SLOW_S", 0.05)
    sandbox.set_latency(chat=0.1)
    found, _ = doctor(shell, sandbox.base_url, "--live")

    assert found["live model call"]["state"] == "warn"
    assert found["live model call"]["fix"].startswith("set HUSHGATE_MODEL to a faster model")


@pytest.mark.parametrize(
    ("fault", "fix"),
    [
        ("401", "set HUSHGATE_MODEL_KEY to a key that the endpoint accepts"),
        ("403", "set HUSHGATE_MODEL_KEY to a key that the endpoint accepts"),
        ("404", "check HUSHGATE_MODEL and HUSHGATE_MODEL_URL"),
        ("400", "check HUSHGATE_MODEL and HUSHGATE_MODEL_URL"),
        ("429", "check the quota and the rate limits of HUSHGATE_MODEL_KEY"),
        ("500", "check HUSHGATE_MODEL_URL and the network, or ask the provider"),
        ("reset", "check HUSHGATE_MODEL_URL and the network, or ask the provider"),
        ("malformed", "check HUSHGATE_MODEL and HUSHGATE_MODEL_URL"),
    ],
)
def test_a_live_call_that_fails_says_what_to_correct(
    shell: Shell, sandbox: SandboxHandle, fault: str, fix: str
) -> None:
    """The variable, and what happens to events meanwhile; the key is in no line."""
    sandbox.add_rule("chat", fault)
    found, ended = doctor(shell, sandbox.base_url, "--live")

    assert ended.code == 1
    assert found["live model call"]["state"] == "fail"
    assert found["live model call"]["fix"].startswith(fix)
    assert "LLM_ERROR" in found["live model call"]["fix"]
    assert found["live moderation call"]["state"] == "ok"
    assert KEY not in ended.out + ended.err


def test_a_server_that_redirects_elsewhere_is_no_wrong_model(shell: Shell) -> None:
    """The address is what to change."""
    answers = {"/v1/models": listing(MODEL, MODERATION), "/v1/chat/completions": (307, {})}
    with api(answers) as (url, _):
        found, _ = doctor(shell, f"{url}/v1", "--live")

    assert found["live model call"]["fix"].startswith("set HUSHGATE_MODEL_URL to the address")


@pytest.mark.parametrize(
    ("fault", "fix"),
    [
        ("401", "set HUSHGATE_MODERATION_KEY to a key that the endpoint accepts; "),
        ("404", "check HUSHGATE_MODERATION and HUSHGATE_MODERATION_URL, or set HUSHGATE_MODERATION=off; "),
    ],
)
def test_a_moderation_call_that_fails_says_what_to_correct(
    shell: Shell, sandbox: SandboxHandle, fault: str, fix: str
) -> None:
    """A revoked key, or a server without moderation, is found before events are."""
    sandbox.add_rule("moderations", fault)
    found, _ = doctor(shell, sandbox.base_url, "--live")

    assert found["live moderation call"]["state"] == "fail"
    assert found["live moderation call"]["fix"].startswith(fix)


def declared(url: str, **more: object) -> str:
    """HUSHGATE_CLASSIFIERS with one classifier at this URL."""
    return json.dumps({"house": {"base_url": url, "model": "gpt-oss-safeguard", "format": "policy", **more}})


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (None, "unsafe 0.00;"),
        ("401", "set HUSHGATE_CLASSIFIER_KEYS house to a key that the endpoint accepts"),
        ("404", "check HUSHGATE_CLASSIFIERS house.model and HUSHGATE_CLASSIFIERS house.base_url"),
        ("garbage", "expected an answer in the format policy"),
    ],
)
def test_live_asks_each_classifier_for_an_answer_in_its_format(
    shell: Shell, sandbox: SandboxHandle, fault: str | None, found: str
) -> None:
    """A wrong key, model or format is found before events are; the key is in no line."""
    if fault:
        sandbox.add_rule("classifier", fault)
    keys = json.dumps({"house": KEY})
    env = {"HUSHGATE_CLASSIFIERS": declared(sandbox.base_url), "HUSHGATE_CLASSIFIER_KEYS": keys}
    lines, ended = doctor(shell, sandbox.base_url, "--live", **env)
    live = lines["live classifier house call"]

    assert lines["classifier house"]["state"] == "ok"
    assert live["state"] == ("fail" if fault else "ok")
    assert found in live["found"] + live["fix"]
    assert KEY not in ended.out + ended.err


def test_a_key_that_the_endpoint_repeats_is_masked(shell: Shell) -> None:
    """Vendors quote the key they refuse."""
    refusal = (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})
    with api({"/v1/models": listing("*"), "/v1/chat/completions": refusal}) as (url, _):
        found, ended = doctor(shell, f"{url}/v1", "--live")

    assert "Incorrect API key provided: ********" in found["live model call"]["found"]
    assert KEY not in ended.out + ended.err


def test_a_static_file_server_fails_the_live_call(shell: Shell, tmp_path: Path) -> None:
    """It takes no POST: no answer of a model."""
    with serving(partial(Files, directory=str(tmp_path))) as url:
        found, ended = doctor(shell, f"{url}/v1", "--live")

    assert ended.code == 1
    assert found["live model call"]["state"] == found["live moderation call"]["state"] == "fail"


def test_a_server_that_keeps_silent_is_waited_for_once(shell: Shell) -> None:
    """A firewall that drops packets must not make the doctor wait in each group of checks."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0?socket_timeout=0.5"
        rows = shell.run("doctor", "--offline", env={"REDIS_URL": url}).rows
    found = {row["check"]: row["found"] for row in rows}
    said = "not checked, because redis did not answer in time"

    assert found["redis"].startswith("TimeoutError")
    assert [name for name, text in found.items() if text == said] == [
        "power failure", "redis to postgres clock", "fleet", "redis data", "conservation", "streams",
        "upstreams",
    ]  # fmt: skip
