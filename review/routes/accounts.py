"""Routes of accounts: rules, documents, settings and their history."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.accounts import (
    accounts_page,
    document_page,
    documents_page,
    limits_page,
    rule_files_page,
    rules_page,
    settings_page,
    suggestions_page,
    versions_page,
)
from review.http.page_routes import ACCOUNT, get, post

ACCOUNTS: Final = (
    get("/accounts", "accounts", accounts_page.list_accounts, Right.VIEW),
    post("/accounts", "accounts_post", accounts_page.add_account, Right.ADMIN),
    get(ACCOUNT + "/rules/history", "history", versions_page.show_history, Right.VIEW),
    get(ACCOUNT + "/rules/diff", "compare", versions_page.compare_versions, Right.VIEW),
    get(ACCOUNT + "/rules/restore/{version:int}", "restore", versions_page.confirm_restore, Right.EDIT_RULES),
    post(
        ACCOUNT + "/rules/restore/{version:int}",
        "restore_post",
        versions_page.restore_version,
        Right.EDIT_RULES,
    ),
    post(ACCOUNT + "/rules/check", "rules_check", rules_page.check_rules, Right.EDIT_RULES),
    post(ACCOUNT + "/rules/test", "rules_test", rules_page.show_text_matches, Right.VIEW),
    get(ACCOUNT + "/rules/download", "rules_download", rule_files_page.download_rules, Right.VIEW),
    get(ACCOUNT + "/rules/file", "rules_file", rule_files_page.show_upload_form, Right.EDIT_RULES),
    post(
        ACCOUNT + "/rules/file",
        "rules_file_post",
        rule_files_page.upload_rules,
        Right.EDIT_RULES,
        body_bytes=rule_files_page.MOST_BYTES,
    ),
    get(ACCOUNT + "/rules", "rules", rules_page.show_rules, Right.VIEW),
    post(ACCOUNT + "/rules", "rules_post", rules_page.save_rules, Right.EDIT_RULES),
    get(
        ACCOUNT + "/documents/{document:int}/remove",
        "document_remove",
        document_page.confirm_removal,
        Right.EDIT_RULES,
    ),
    post(
        ACCOUNT + "/documents/{document:int}/remove",
        "document_remove_post",
        document_page.remove_document,
        Right.EDIT_RULES,
    ),
    post(
        ACCOUNT + "/documents/{document:int}/release",
        "document_release",
        document_page.release_parts,
        Right.EDIT_RULES,
    ),
    get(
        ACCOUNT + "/documents/{document:int}/pages/{page:int}",
        "document_picture",
        document_page.show_picture,
        Right.VIEW,
    ),
    get(ACCOUNT + "/documents/{document:int}", "document", document_page.show_document, Right.VIEW),
    get(ACCOUNT + "/documents", "documents", documents_page.show_documents, Right.VIEW),
    post(
        ACCOUNT + "/documents",
        "documents_post",
        documents_page.add_document,
        Right.EDIT_RULES,
        body_bytes=documents_page.MOST_BYTES,
    ),
    get(ACCOUNT + "/suggestions", "suggestions", suggestions_page.show_suggestions, Right.VIEW),
    get(ACCOUNT + "/limits", "limits", limits_page.show_limits, Right.VIEW),
    get(ACCOUNT + "/settings", "settings", settings_page.show_settings, Right.VIEW),
    post(ACCOUNT + "/settings", "settings_post", settings_page.save_settings, Right.ADMIN),
)
