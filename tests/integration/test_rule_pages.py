"""The rules of an account as people edit them: checked, tried, stored, compared, taken back."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from dataclasses import replace
from itertools import count

import psycopg
import pytest
from httpx2 import Response
from typer.testing import CliRunner

from cli.accounts.settings import app as accounts_command
from db.account_settings import accounts
from db.people.records import Role
from tests.support.pools import in_pool
from tests.support.reviewing import ADDRESS, Visitor, Visitors, add_person, signed_in
from worker.model import Account, ReplyMode
from worker.presets import new_account

NUMBERS = count(1)
HOSTILE = "</textarea><script>alert(1)</script>"


@pytest.fixture
def account() -> str:
    """An account without settings."""
    return f"shop-{next(NUMBERS)}"


@pytest.fixture
def editor(database_url: str, visitors: Visitors) -> Visitor:
    """An administrator of every account."""
    return signed_in(visitors, add_person(database_url, Role.RULE_EDITOR, Role.ACCOUNT_ADMIN))


@pytest.fixture
def plain_editor(database_url: str, visitors: Visitors) -> Visitor:
    """A rule editor of every account."""
    return signed_in(visitors, add_person(database_url, Role.RULE_EDITOR))


def store(url: str, user_id: str, **settings: object) -> int:
    value = Account(user_id=user_id, version=0, **settings)  # type: ignore[arg-type]
    return in_pool(url, lambda source: accounts.store_account(source, value, changed_by="before"), role=None)


def in_force(url: str, user_id: str) -> Account:
    return in_pool(url, lambda source: accounts.current_account(source, user_id), role=None)


def rules(user_id: str, page: str = "") -> str:
    return f"/accounts/{user_id}/rules{page}"


def save(visitor: Visitor, user_id: str, version: int, **texts: str) -> Response:
    return visitor.post(rules(user_id), version=str(version), **texts)


def upload(visitor: Visitor, path: str, file: tuple[str, bytes], **fields: str) -> Response:
    headers = {"Sec-Fetch-Site": "same-origin", "Origin": ADDRESS}
    body = {"csrf": visitor.csrf} | fields
    return visitor.client.post(path, data=body, files={"file": file}, headers=headers, follow_redirects=False)


def logged(url: str, user_id: str, action: str) -> list[dict[str, object]]:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT detail FROM access_log WHERE user_id = %s AND action = %s ORDER BY id", (user_id, action)
        ).fetchall()
    return [detail for (detail,) in found]


def test_saved_rules_are_a_version_with_the_login_of_the_person(
    database_url: str, editor: Visitor, account: str
) -> None:
    """Each line is a rule, empty lines are skipped, and the access log has counts without texts."""
    page = editor.get(rules(account))
    done = save(editor, account, 0, flagged_keywords="spam\r\n\r\n  casino ", flagged_phrases="buy now")
    after = editor.get(done.headers["location"])
    stored = in_force(database_url, account)

    assert (page.status_code, done.status_code, after.status_code) == (200, 303, 200)
    assert (stored.version, stored.flagged_keywords, stored.flagged_phrases) == (
        1,
        ("spam", "casino"),
        ("buy now",),
    )
    assert "Saved as version 1" in after.text
    assert "within about a second" in after.text
    assert logged(database_url, account, "rules") == [
        {"from": 0, "version": 1, "added": 3, "removed": 0, "settings": []}
    ]


def test_an_error_blocks_saving_and_is_shown_with_its_line(
    database_url: str, editor: Visitor, account: str
) -> None:
    """The typed text stays; warnings of other lines are shown too."""
    editor.get(rules(account))
    refused = save(editor, account, 0, flagged_keywords="spam\n\n/[/\nspam", flagged_phrases="x" * 300)

    assert refused.status_code == 422
    assert "Keywords, line 3</a>:" in refused.text
    assert "Phrases, line 1</a>:" in refused.text
    assert "Keywords, line 4</a>:" in refused.text
    assert "the same as &#39;spam&#39; without case, accents and look-alike letters" in refused.text
    assert "Not saved" in refused.text
    assert "/[/" in refused.text
    assert in_force(database_url, account).version == 0


def test_a_rule_too_long_for_the_settings_is_refused_at_its_line(editor: Visitor, account: str) -> None:
    """The limit of the setting is checked before the rules are compiled."""
    editor.get(rules(account))
    refused = save(editor, account, 0, flagged_keywords="spam", flagged_phrases="fine words\n" + "y" * 1001)

    assert refused.status_code == 422
    assert "Phrases, line 2</a>:" in refused.text


def test_warnings_are_shown_and_do_not_block_saving(database_url: str, editor: Visitor, account: str) -> None:
    """A rule of one letter has a warning and is stored."""
    editor.get(rules(account))
    done = save(editor, account, 0, flagged_keywords="x")
    after = editor.get(done.headers["location"])

    assert in_force(database_url, account).flagged_keywords == ("x",)
    assert "one letter: it matches wherever that letter is a word" in after.text


def test_checking_while_typing_stores_nothing_and_returns_a_fragment(
    database_url: str, editor: Visitor, account: str
) -> None:
    """A script gets only the remarks; without JavaScript the button returns the page with the typed text."""
    editor.get(rules(account))
    fields = {"csrf": editor.csrf, "version": "0", "flagged_keywords": "a*"}
    headers = {"Sec-Fetch-Site": "same-origin", "Origin": ADDRESS}
    piece = editor.client.post(
        rules(account, "/check"), data=fields, headers=headers | {"HX-Request": "true"}
    )
    whole = editor.post(rules(account, "/check"), version="0", flagged_keywords="a*")

    assert "<html" not in piece.text
    assert "one letter with * matches nearly every message" in piece.text
    assert "<html" in whole.text
    assert "one letter with * matches nearly every message" in whole.text
    assert in_force(database_url, account).version == 0


def test_the_test_box_shows_rule_place_and_kind_of_each_match(editor: Visitor, account: str) -> None:
    """Highlights have the numbers of the rows; typed rules are tested unstored; strict finds more."""
    editor.get(rules(account))
    typed = {
        "version": "0",
        "of": "typed",
        "flagged_keywords": "viagra\nfucker",
        "text": "buy v1@gr4, f*cker",
    }
    found = editor.post(rules(account, "/test"), **typed)
    strict = editor.post(rules(account, "/test"), **typed, level="strict")
    stored = editor.post(rules(account, "/test"), **typed | {"of": "stored"})

    assert "<mark><sup>1</sup>v1@gr4</mark>" in found.text
    assert "characters 5 to 10" in found.text
    assert "digits or signs for letters (leet)" in found.text
    assert "<sup>2</sup>" not in found.text
    assert "masked letters (masked)" in strict.text
    assert "No rule matches" in stored.text


def test_the_test_box_begins_with_the_level_of_the_account(
    database_url: str, editor: Visitor, account: str
) -> None:
    """Also where the form names no level."""
    store(database_url, account, flagged_keywords=("fucker",), rule_level="strict")
    page = editor.get(rules(account))
    found = editor.post(rules(account, "/test"), version="1", of="stored", text="you f*cker")

    assert re.search(r'value="strict"[^>]* checked', page.text)
    assert not re.search(r'value="default"[^>]* checked', page.text)
    assert "masked letters (masked)" in found.text


def test_a_stale_save_shows_both_changes_and_can_be_repeated(
    database_url: str, editor: Visitor, account: str
) -> None:
    """Nothing is stored, the typed text stays, and the next save stores it as a new version."""
    store(database_url, account, flagged_keywords=("spam",))
    editor.get(rules(account))
    store(database_url, account, flagged_keywords=("spam", "theirs"))
    stale = save(editor, account, 1, flagged_keywords="spam\nmine")
    both = editor.post(rules(account, "/check"), version="2", merge="1", flagged_keywords="spam\nmine")
    on_top = save(editor, account, 2, flagged_keywords="spam\nmine")

    assert stale.status_code == 409
    assert "Another person saved meanwhile" in stale.text
    assert "theirs" in stale.text
    assert "spam\nmine</textarea>" in stale.text
    assert 'name="version" value="2"' in stale.text
    assert "spam\ntheirs\nmine</textarea>" in both.text
    assert on_top.status_code == 303
    assert in_force(database_url, account).flagged_keywords == ("spam", "mine")


def test_of_two_simultaneous_saves_one_is_stored(database_url: str, visitors: Visitors, account: str) -> None:
    """The other person gets the page with both changes."""
    people = [signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN)) for _ in range(4)]
    for each in people:
        each.get(rules(account))
    answers: list[int] = []

    def run(each: Visitor, word: str) -> None:
        answers.append(save(each, account, 0, flagged_keywords=word).status_code)

    threads = [threading.Thread(target=run, args=(each, f"word{at}")) for at, each in enumerate(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers) == [303, 409, 409, 409]
    assert in_force(database_url, account).version == 1


def test_concurrent_changes_by_command_line_are_all_kept(
    database_url: str, account: str, monkeypatch: pytest.MonkeyPatch, redis_url: str
) -> None:
    """Each changes another setting: the last version has all of them, in any order."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", redis_url)
    names = ["ai_control_enabled", "ai_enabled_for_chats", "ai_enabled_for_comments"]

    async def race() -> None:
        from cli.accounts import store_account

        await asyncio.gather(*(store_account.save(account, {name: True}) for name in names))

    asyncio.run(race())
    stored = in_force(database_url, account)
    shown = CliRunner().invoke(accounts_command, ["show", account])

    assert stored.version == 3
    assert all(getattr(stored, name) for name in names)
    assert json.loads(shown.stdout)["version"] == 3


def test_history_lists_person_and_changes_with_a_link_to_the_difference(
    database_url: str, editor: Visitor, account: str
) -> None:
    """Rules are counted, settings are listed by title, newest first."""
    store(database_url, account, flagged_keywords=("a1", "b2"))
    store(
        database_url, account, flagged_keywords=("b2", "c3", "d4"), prompt="Be kind.", ai_control_enabled=True
    )
    history = editor.get(rules(account, "/history"))
    compared = editor.get(rules(account, "/diff?from=1&to=2"))

    assert "+2" in history.text
    assert "−1" in history.text
    assert "AI replies, Instructions" in " ".join(history.text.split())
    assert "before" in history.text
    assert (
        '<span class="hidden-text">added: </span><span class="mono pre" dir="auto">c3</span>' in compared.text
    )
    assert (
        '<span class="hidden-text">removed: </span><span class="mono pre" dir="auto">a1</span>'
        in compared.text
    )
    assert "Be kind." in compared.text
    assert editor.get(rules(account, "/diff?from=1&to=99")).status_code == 404
    assert editor.get(rules(account, "/diff?from=x&to=1")).status_code == 404


def test_restoring_appends_a_version_and_only_admins_restore_settings(
    database_url: str, visitors: Visitors, plain_editor: Visitor, account: str
) -> None:
    """A rule editor restores rules; everything needs the right admin."""
    store(database_url, account, flagged_keywords=("old",))
    store(database_url, account, flagged_keywords=("new",), prompt="Be kind.")
    asked = plain_editor.get(rules(account, "/restore/1"))
    refused = plain_editor.post(rules(account, "/restore/1"), version="2", what="everything")
    done = plain_editor.post(rules(account, "/restore/1"), version="2", what="rules")
    between = in_force(database_url, account)
    admin = signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN))
    admin.get(rules(account, "/restore/1"))
    stale = admin.post(rules(account, "/restore/1"), version="2", what="everything")
    admin.post(rules(account, "/restore/1"), version="3", what="everything")
    last = in_force(database_url, account)

    assert "old" in asked.text
    assert (refused.status_code, done.status_code, stale.status_code) == (403, 303, 409)
    assert (between.version, between.flagged_keywords, between.prompt) == (3, ("old",), "Be kind.")
    assert (last.version, last.flagged_keywords, last.prompt) == (4, ("old",), "")
    assert logged(database_url, account, "settings")[0]["restored"] == 1


def test_hostile_rules_are_escaped_on_every_page(database_url: str, editor: Visitor) -> None:
    """Names of accounts, which publishers choose, are escaped too."""
    name = "a/b?c#d<b>é"
    store(database_url, name, flagged_keywords=(HOSTILE,), prompt=HOSTILE, fallback_texts={"en": HOSTILE})
    listed = editor.get("/accounts?q=%3Cb%3E")
    home = listed.text.partition('<td><a href="')[2].partition('"')[0]
    path = home.removesuffix("home") + "rules"
    pages = [editor.get(home), editor.get(path), editor.get(f"{path}/history")]
    pages += [editor.get(f"{path}/diff?from=0&to=1")]
    pages += [editor.get(path.removesuffix("rules") + page) for page in ("documents", "settings")]
    pages.append(editor.post(f"{path}/test", version="1", of="stored", text=HOSTILE))

    assert [page.status_code for page in pages] == [200] * 7
    assert not any("<script>alert" in page.text or "<b>é" in page.text for page in pages)


def test_a_hundred_thousand_rules_are_uploaded_searched_and_changed(
    database_url: str, editor: Visitor, account: str
) -> None:
    """Too many for a text area: they come from a file; search, ticks and added lines change them."""
    words = [f"word{number:06d}q" for number in range(100_000)]
    form = editor.get(rules(account, "/file"))
    path = rules(account, "/file")
    done = upload(
        editor, path, ("rules.txt", "\n".join(words).encode()), version="0", format="list", mode="replace"
    )
    page = editor.get(rules(account, "?find=word099999"))
    changed = editor.post(
        rules(account), version="1", whole="no", flagged_keywords="oneMore", remove_flagged_keywords=words[7]
    )
    refused = editor.post(rules(account), version="2", whole="no", flagged_keywords="again")
    tried = editor.post(rules(account, "/test"), version="2", of="stored", text="a word000008q and oneMore")
    stored = in_force(database_url, account)

    assert form.status_code == 200
    assert done.status_code == 303, done.text[:2000]
    assert "1 found" in page.text
    assert len(page.content) < 100_000
    assert changed.status_code == 303
    assert (len(stored.flagged_keywords), stored.flagged_keywords[-1]) == (100_000, "oneMore")
    assert words[7] not in stored.flagged_keywords
    assert (refused.status_code, "at most 100000" in refused.text) == (422, True)
    assert "<sup>2</sup>oneMore" in tried.text


def test_a_file_is_checked_before_it_is_stored(database_url: str, editor: Visitor, account: str) -> None:
    """Checking stores nothing; a file of another format is refused with the reason."""
    editor.get(rules(account, "/file"))
    path = rules(account, "/file")
    csv = b"kind,rule\nkeyword,spam\nphrase,buy now\nother,thing\n"
    checked = upload(editor, path, ("r.csv", csv), version="0", format="csv", mode="add", action="check")
    broken = upload(editor, path, ("r.json", b"{"), version="0", format="json", mode="replace")
    latin = upload(editor, path, ("r.txt", b"caf\xe9"), version="0", format="list", mode="replace")
    odd = upload(editor, path, ("r.csv", csv), version="0", format="csv", mode="add", action="store")
    sure = {"mode": "add", "action": "store", "sure": "yes"}
    done = upload(editor, path, ("r.csv", csv), version="0", format="csv", **sure)
    stale = upload(editor, path, ("r.csv", csv), version="0", format="csv", mode="add", action="store")
    down = editor.get(rules(account, "/download?format=csv"))

    assert "1 keyword, 1 phrase" in checked.text
    assert "row 3: expected keyword, phrase or allow" in checked.text
    assert (broken.status_code, latin.status_code, stale.status_code) == (422, 422, 409)
    assert "expected UTF-8" in latin.text
    assert "1 lines are left out" in odd.text
    assert done.status_code == 303
    assert down.text == "kind,rule\nkeyword,spam\nphrase,buy now\n"
    assert "attachment" in down.headers["content-disposition"]
    assert logged(database_url, account, "download")[0]["version"] == 1


def test_accounts_are_listed_by_name_in_pages(database_url: str, visitors: Visitors, editor: Visitor) -> None:
    """Each account once, with any number of versions; people see only their own accounts."""
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "INSERT INTO ai_rules (user_id, version) SELECT 'many-' || to_char(n, 'FM000'), v"
            " FROM generate_series(1, 120) n, generate_series(1, 3) v"
        )
    seen: list[str] = []
    path = "/accounts?q=many-"
    while path:
        text = editor.get(path).text
        seen += [part.partition("<")[0] for part in text.split("<bdi>many-")[1:]]
        path = (
            text.partition('<p class="pager"><a class="button" href="')[2]
            .partition('"')[0]
            .replace("&amp;", "&")
        )
    own = signed_in(visitors, add_person(database_url, Role.VIEWER, account="many-007"))
    text = own.get("/accounts").text

    assert [each for each in dict.fromkeys(seen) if each.isdigit()] == [f"{n:03d}" for n in range(1, 121)]
    assert "many-007" in text
    assert "many-008" not in text


def test_an_admin_sets_up_an_account_whose_drafts_wait_for_approval(
    database_url: str, visitors: Visitors, plain_editor: Visitor, account: str
) -> None:
    """Other people are refused; an existing account stays unchanged."""
    admin = signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN, account=account))
    admin.get("/accounts")
    done = admin.post("/accounts", user_id=account)
    again = admin.post("/accounts", user_id=account)
    elsewhere = admin.post("/accounts", user_id="not-mine")

    assert (done.status_code, again.status_code, elsewhere.status_code) == (303, 303, 403)
    assert in_force(database_url, account) == replace(new_account(account), version=1)
    assert in_force(database_url, account).reply_mode is ReplyMode.SUGGEST
    assert plain_editor.post("/accounts", user_id="other").status_code == 403
    assert admin.post("/accounts", user_id="*").status_code == 400


def test_a_viewer_reads_rules_and_tests_those_in_force(
    database_url: str, visitors: Visitors, account: str
) -> None:
    """The page has no fields of rules, and rules that a viewer sends are not tried."""
    store(database_url, account, flagged_keywords=("spam",))
    viewer = signed_in(visitors, add_person(database_url, Role.VIEWER, account=account))
    page = viewer.get(rules(account))
    tried = viewer.post(rules(account, "/test"), version="1", of="typed", flagged_keywords="x", text="spam")

    assert (page.status_code, '<textarea name="flagged_keywords"' in page.text) == (200, False)
    assert "stored version 1" in tried.text
    assert save(viewer, account, 1, flagged_keywords="").status_code == 403


def test_a_rule_editor_cannot_set_up_an_account(
    database_url: str, visitors: Visitors, plain_editor: Visitor, account: str
) -> None:
    """After an administrator has set up the account, the editor can edit its rules."""
    editor = plain_editor
    admin = signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN, account=account))
    page = editor.get(rules(account))
    tried = [
        editor.post(rules(account), version="0", flagged_keywords="free money"),
        editor.get(rules(account, "/file")),
        editor.post(rules(account, "/file"), version="0", format="list"),
        editor.post(f"/accounts/{account}/documents", pasted="Open from nine to five."),
    ]

    assert "<textarea" not in page.text.split("<h2")[0]
    assert [each.status_code for each in tried] == [404] * 4
    assert in_force(database_url, account).version == 0
    assert admin.get(rules(account)).status_code == 200
    assert admin.post(rules(account), version="0", flagged_keywords="free money").status_code == 303
    assert editor.post(rules(account), version="1", flagged_keywords="cheap money").status_code == 303
