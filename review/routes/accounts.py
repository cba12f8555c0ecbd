"""Routes of accounts: rules, documents, settings and their history."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.accounts import (
    accounts_page,
    documents_page,
    rule_files_page,
    rules_page,
    settings_page,
    versions_page,
)
from review.http.visit import PageRoute

ACCOUNTS: Final = (
    PageRoute(path="/accounts", name="accounts", handler=accounts_page.list_accounts, right=Right.VIEW),
    PageRoute(
        path="/accounts",
        name="accounts_post",
        handler=accounts_page.add_account,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    PageRoute(
        path="/accounts/{account:path}/rules/history",
        name="history",
        handler=versions_page.show_history,
        right=Right.VIEW,
    ),
    PageRoute(
        path="/accounts/{account:path}/rules/diff",
        name="compare",
        handler=versions_page.compare_versions,
        right=Right.VIEW,
    ),
    PageRoute(
        path="/accounts/{account:path}/rules/restore/{version:int}",
        name="restore",
        handler=versions_page.confirm_restore,
        right=Right.EDIT_RULES,
    ),
    PageRoute(
        path="/accounts/{account:path}/rules/restore/{version:int}",
        name="restore_post",
        handler=versions_page.restore_version,
        right=Right.EDIT_RULES,
        methods=("POST",),
    ),
    PageRoute(
        path="/accounts/{account:path}/rules/check",
        name="rules_check",
        handler=rules_page.check_rules,
        right=Right.EDIT_RULES,
        methods=("POST",),
    ),
    PageRoute(
        path="/accounts/{account:path}/rules/test",
        name="rules_test",
        handler=rules_page.test_text,
        right=Right.VIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/accounts/{account:path}/rules/download",
        name="rules_download",
        handler=rule_files_page.download_rules,
        right=Right.VIEW,
    ),
    PageRoute(
        path="/accounts/{account:path}/rules/file",
        name="rules_file",
        handler=rule_files_page.show_upload_form,
        right=Right.EDIT_RULES,
    ),
    PageRoute(
        path="/accounts/{account:path}/rules/file",
        name="rules_file_post",
        handler=rule_files_page.upload_rules,
        right=Right.EDIT_RULES,
        methods=("POST",),
        body_bytes=rule_files_page.MOST_BYTES,
    ),
    PageRoute(
        path="/accounts/{account:path}/rules", name="rules", handler=rules_page.show_rules, right=Right.VIEW
    ),
    PageRoute(
        path="/accounts/{account:path}/rules",
        name="rules_post",
        handler=rules_page.save_rules,
        right=Right.EDIT_RULES,
        methods=("POST",),
    ),
    PageRoute(
        path="/accounts/{account:path}/documents/{document:int}/remove",
        name="document_remove",
        handler=documents_page.confirm_removal,
        right=Right.EDIT_RULES,
    ),
    PageRoute(
        path="/accounts/{account:path}/documents/{document:int}/remove",
        name="document_remove_post",
        handler=documents_page.remove_document,
        right=Right.EDIT_RULES,
        methods=("POST",),
    ),
    PageRoute(
        path="/accounts/{account:path}/documents",
        name="documents",
        handler=documents_page.show_documents,
        right=Right.VIEW,
    ),
    PageRoute(
        path="/accounts/{account:path}/documents",
        name="documents_post",
        handler=documents_page.add_document,
        right=Right.EDIT_RULES,
        methods=("POST",),
        body_bytes=documents_page.MOST_BYTES,
    ),
    PageRoute(
        path="/accounts/{account:path}/settings",
        name="settings",
        handler=settings_page.show_settings,
        right=Right.VIEW,
    ),
    PageRoute(
        path="/accounts/{account:path}/settings",
        name="settings_post",
        handler=settings_page.save_settings,
        right=Right.ADMIN,
        methods=("POST",),
    ),
)
