"""The addresses of accounts: rules, documents, settings and their history."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.pages import account_settings, accounts, documents, rule_files, rules, versions
from review.web import Page

ACCOUNTS: Final = (
    Page(path="/accounts", name="accounts", handler=accounts.listed, right=Right.VIEW),
    Page(path="/accounts", name="accounts_post", handler=accounts.add, right=Right.ADMIN, methods=("POST",)),
    Page(
        path="/accounts/{account:path}/rules/history",
        name="history",
        handler=versions.history,
        right=Right.VIEW,
    ),
    Page(
        path="/accounts/{account:path}/rules/diff", name="compare", handler=versions.compare, right=Right.VIEW
    ),
    Page(
        path="/accounts/{account:path}/rules/restore/{version:int}",
        name="restore",
        handler=versions.restore_form,
        right=Right.EDIT_RULES,
    ),
    Page(
        path="/accounts/{account:path}/rules/restore/{version:int}",
        name="restore_post",
        handler=versions.restore,
        right=Right.EDIT_RULES,
        methods=("POST",),
    ),
    Page(
        path="/accounts/{account:path}/rules/check",
        name="rules_check",
        handler=rules.check,
        right=Right.EDIT_RULES,
        methods=("POST",),
    ),
    Page(
        path="/accounts/{account:path}/rules/test",
        name="rules_test",
        handler=rules.test,
        right=Right.VIEW,
        methods=("POST",),
    ),
    Page(
        path="/accounts/{account:path}/rules/download",
        name="rules_download",
        handler=rule_files.download,
        right=Right.VIEW,
    ),
    Page(
        path="/accounts/{account:path}/rules/file",
        name="rules_file",
        handler=rule_files.form,
        right=Right.EDIT_RULES,
    ),
    Page(
        path="/accounts/{account:path}/rules/file",
        name="rules_file_post",
        handler=rule_files.upload,
        right=Right.EDIT_RULES,
        methods=("POST",),
        body_bytes=rule_files.MOST_BYTES,
    ),
    Page(path="/accounts/{account:path}/rules", name="rules", handler=rules.show, right=Right.VIEW),
    Page(
        path="/accounts/{account:path}/rules",
        name="rules_post",
        handler=rules.save,
        right=Right.EDIT_RULES,
        methods=("POST",),
    ),
    Page(
        path="/accounts/{account:path}/documents/{document:int}/remove",
        name="document_remove",
        handler=documents.remove_form,
        right=Right.EDIT_RULES,
    ),
    Page(
        path="/accounts/{account:path}/documents/{document:int}/remove",
        name="document_remove_post",
        handler=documents.remove,
        right=Right.EDIT_RULES,
        methods=("POST",),
    ),
    Page(
        path="/accounts/{account:path}/documents", name="documents", handler=documents.show, right=Right.VIEW
    ),
    Page(
        path="/accounts/{account:path}/documents",
        name="documents_post",
        handler=documents.add,
        right=Right.EDIT_RULES,
        methods=("POST",),
        body_bytes=documents.MOST_BYTES,
    ),
    Page(
        path="/accounts/{account:path}/settings",
        name="settings",
        handler=account_settings.show,
        right=Right.VIEW,
    ),
    Page(
        path="/accounts/{account:path}/settings",
        name="settings_post",
        handler=account_settings.save,
        right=Right.ADMIN,
        methods=("POST",),
    ),
)
