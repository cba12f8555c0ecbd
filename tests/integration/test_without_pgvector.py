"""A Postgres whose pgvector is missing, and arrives later."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from cli.accounts.documents import app
from cli.doctor.servers import postgres_checks
from cli.main import command_line
from cli.stack import Stack
from db.schema import logins, migrate
from db.schema.logins import Service
from sandbox.server import SandboxHandle
from tests.conftest import create_database, database_at
from tests.integration.test_database import differences
from worker.errors import ConfigurationError
from worker.settings import Settings

INSTALL = Path(__file__).parents[2] / "deploy" / "install.md"
EXTENSIONS = ("btree_gin", "pg_trgm")
SERVICE_ROLES = ", ".join(dict.fromkeys(role for roles in logins.ROLES.values() for role in roles))
SHARE = "SELECT setting || '/extension' FROM pg_config WHERE name = 'SHAREDIR'"


@pytest.fixture
def without_pgvector(stack: Stack) -> Iterator[str]:
    """The URL of an empty database that finds only what Debian's package of Postgres has."""
    url = database_at(stack.database_url, "without_pgvector")
    create_database(stack.database_url, "without_pgvector")
    with TemporaryDirectory() as folder, psycopg.connect(url, autocommit=True) as connection:
        Path(folder).chmod(0o755)  # another user may run the server
        (found := Path(folder) / "extension").mkdir()
        (share,) = connection.execute(SHARE).fetchone() or ("",)
        for file in Path(share).iterdir():
            if file.name.startswith(EXTENSIONS):
                (found / file.name).symlink_to(file)
        connection.execute(f"ALTER DATABASE without_pgvector SET extension_control_path = '{folder}'")
        yield url


def documents(url: str, sandbox: SandboxHandle, *arguments: str) -> tuple[list[dict[str, object]], str]:
    """The printed rows and messages of a command that has an embedding model."""
    variables = {
        "DATABASE_URL": url,
        "HUSHGATE_EMBEDDINGS": "hash",
        "HUSHGATE_EMBEDDINGS_URL": sandbox.base_url,
    }
    result = CliRunner().invoke(app, [*arguments], env=variables, input="# Hours\n\nOpen from 9 to 18.")
    return [json.loads(line) for line in result.stdout.splitlines()], f"{result.stderr} {result.exception}"


def test_documents_are_searched_by_words_until_pgvector_arrives(
    without_pgvector: str, sandbox: SandboxHandle
) -> None:
    """The next migration adds the column, and the next reembed the vectors; nothing else differs."""
    migrate.upgrade(without_pgvector)
    (added,), message = documents(without_pgvector, sandbox, "add", "-", "--account", "shop", "--title", "A")
    (worded,), _ = documents(without_pgvector, sandbox, "search", "open from", "--account", "shop")
    _, refusal = documents(without_pgvector, sandbox, "reembed")
    with psycopg.connect(without_pgvector, autocommit=True) as connection:
        version = connection.info.server_version // 10_000
        connection.execute("ALTER DATABASE without_pgvector RESET extension_control_path")
    migrate.upgrade(without_pgvector)
    ((model),), _ = documents(without_pgvector, sandbox, "reembed")
    (embedded,), _ = documents(without_pgvector, sandbox, "search", "open from", "--account", "shop")

    assert added["outcome"] == "added"
    assert f"postgresql-{version}-pgvector for Postgres {version})" in message
    assert "pgvector" in refusal
    assert worded["found_by"] == "words"
    assert model["model"] == "hash"
    assert embedded["found_by"] != "words"
    assert differences(without_pgvector) == []


@pytest.mark.usefixtures("template")  # the roles of the services exist, as beside another database
def test_pgvector_of_an_administrator_is_used_as_it_is(stack: Stack) -> None:
    """The owner of the tables does not own the extension, and cannot update it."""
    url = create_database(stack.database_url, "made_with_pgvector")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE ROLE tables_owner LOGIN CREATEROLE PASSWORD 'ownerpass'")
        connection.execute(f"GRANT {SERVICE_ROLES} TO tables_owner WITH ADMIN OPTION")
        connection.execute("GRANT SET ON PARAMETER hushgate.erasing, hushgate.sweeping TO tables_owner")
        connection.execute("ALTER DATABASE made_with_pgvector OWNER TO tables_owner")

    migrate.upgrade(logins.url_of(url, "tables_owner", "ownerpass"))

    assert differences(url) == []


@pytest.mark.usefixtures("template")  # the roles of the services exist
def test_an_owner_without_superuser_gets_the_statements_that_are_missing(stack: Stack) -> None:
    """The statements of the messages are all that is missing; doctor has the grant too."""
    url = create_database(stack.database_url, "without_grant")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain_owner LOGIN CREATEROLE PASSWORD 'ownerpass'")
        connection.execute(f"GRANT {SERVICE_ROLES} TO plain_owner WITH ADMIN OPTION")
        connection.execute("ALTER DATABASE without_grant OWNER TO plain_owner")
        owner = logins.url_of(url, "plain_owner", "ownerpass")
        with pytest.raises(
            ConfigurationError, match="as a superuser in this database: CREATE EXTENSION vector"
        ):
            migrate.upgrade(owner)
        connection.execute("CREATE EXTENSION vector")
        with pytest.raises(ConfigurationError) as refused:
            migrate.upgrade(owner)
        (grant,) = re.findall(r"GRANT SET ON PARAMETER [\w., ]+ TO", str(refused.value))
        connection.execute(f"{grant} plain_owner")
    (checked,) = [
        each
        for each in postgres_checks(Settings.model_construct(database_url=SecretStr(owner)))
        if each.check == "migrations"
    ]
    migrate.upgrade(owner)

    assert grant in checked.fix
    assert differences(url) == []


def test_a_database_in_another_encoding_is_refused_before_a_table_is_made(stack: Stack) -> None:
    """The message names the encoding and the statement that makes a database in UTF-8."""
    with psycopg.connect(stack.database_url, autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE latin1 ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
            " LOCALE_PROVIDER libc"
        )
    url = database_at(stack.database_url, "latin1")

    with pytest.raises(ConfigurationError, match=r"expected a database in UTF-8, got LATIN1"):
        migrate.upgrade(url)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,)


@pytest.mark.usefixtures("template")  # the roles of the services exist
def test_the_statements_of_the_installation_make_an_owner_who_can_migrate(stack: Stack) -> None:
    """And who can create the logins; ADMIN on roles of another Hushgate database is added here."""
    (block,) = re.findall(r"```psql\n(.*?)```", INSTALL.read_text(), re.DOTALL)
    server, inside = re.sub(r"\bhushgate\b(?!\.)", "own_hushgate", block).split("\\c own_hushgate\n")
    with psycopg.connect(stack.database_url, autocommit=True) as connection:
        for statement in server.strip().splitlines():
            connection.execute(statement)
        connection.execute(f"GRANT {SERVICE_ROLES} TO own_hushgate WITH ADMIN OPTION")
        names = ", ".join(
            name
            for (name,) in connection.execute(
                "SELECT rolname FROM pg_roles WHERE rolname = ANY(%s)", (list(logins.LOGINS.values()),)
            )
        )
        if names:
            connection.execute(f"GRANT {names} TO own_hushgate WITH ADMIN OPTION")
    url = database_at(stack.database_url, "own_hushgate")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(inside)
    owner = logins.url_of(url, "own_hushgate", "secret")
    migrate.upgrade(owner)
    made = logins.ensure(owner, {})

    assert [each.service for each in made] == list(Service)
    assert differences(url) == []


def test_the_commands_of_the_installation_exist() -> None:
    """With their options."""
    (block,) = re.findall(r"```sh\n(export REDIS_URL.*?)```", INSTALL.read_text(), re.DOTALL)
    lines = [re.sub(r"^.*?hushgate ", "", line) for line in block.splitlines() if " hushgate " in f" {line}"]
    shown = {
        line: CliRunner().invoke(command_line(), [*shlex.split(line, comments=True), "--help"])
        for line in lines
        if not line.startswith(("worker", "beat"))  # whose options Celery reads
    }

    assert len(shown) == 7
    assert {line: each.output for line, each in shown.items() if each.exit_code != 0} == {}
