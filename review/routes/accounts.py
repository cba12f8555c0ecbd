"""Routes of accounts: documents, rules and settings, the pages of their owners, and the first steps."""

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
from review.connect import channels_page, connect_page
from review.escalations import inbox
from review.first_run import message_page, sample_page
from review.http.page_routes import ACCOUNT, get, post
from review.owner import answered_page, automatic_page, home_page, one_rule_page

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

OWNER: Final = (
    get("/accounts/{account}", "account", home_page.open_account, Right.VIEW),
    get(ACCOUNT + "/home", "owner_home", home_page.show_owner_home, Right.VIEW),
    post(ACCOUNT + "/home/{decision_id}", "owner_home_answer", home_page.answer_from_home, Right.REVIEW),
    get(ACCOUNT + "/waiting", "account_waiting", inbox.list_account_waiting, Right.REVIEW),
    get(ACCOUNT + "/answered", "account_answered", answered_page.show_answered, Right.VIEW),
    get(ACCOUNT + "/automatic", "automatic", automatic_page.show_automatic, Right.ADMIN),
    post(ACCOUNT + "/automatic", "automatic_post", automatic_page.switch_on, Right.ADMIN),
    get(ACCOUNT + "/rules/one", "one_rule", one_rule_page.show_one_rule, Right.EDIT_RULES),
    post(ACCOUNT + "/rules/one", "one_rule_post", one_rule_page.add_one_rule, Right.EDIT_RULES),
)

FIRST_RUN: Final = (
    get("/connect", "connect", connect_page.show_connect, Right.ADMIN),
    post("/connect", "connect_post", connect_page.change_connect, Right.ADMIN),
    get(ACCOUNT + "/channels", "channels", channels_page.show_channels, Right.ADMIN),
    post(ACCOUNT + "/channels", "channels_post", channels_page.make_channel_token, Right.ADMIN),
    get("/first-steps/samples", "sample_data", sample_page.show_samples, Right.ADMIN),
    post("/first-steps/samples", "sample_data_add", sample_page.add_samples, Right.ADMIN),
    post("/first-steps/samples/remove", "sample_data_remove", sample_page.delete_samples, Right.ADMIN),
    get(ACCOUNT + "/test-message", "message_test", message_page.show_message_test, Right.ADMIN),
    post(ACCOUNT + "/test-message", "message_test_post", message_page.send_message_test, Right.ADMIN),
)
