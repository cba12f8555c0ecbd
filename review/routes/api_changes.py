"""Routes of the JSON API that change something, and the reads that these changes need."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.accounts import documents_page, rule_files_page
from review.api import change_shapes, conversations, decisions, documents, shapes
from review.http.page_routes import ACCOUNT, api_delete, api_get, api_post

CONVERSATION: Final = ACCOUNT + "/conversations/{conversation:path}"
FILE: Final = {
    "multipart/form-data": {
        "type": "object",
        "properties": {
            "file": {"type": "string", "minLength": 1, "contentMediaType": "application/octet-stream"},
            "title": {"type": "string"},
        },
        "required": ["file"],
    }
}

API_CHANGES: Final = (
    api_post(
        "/decisions/{decision_id}/reviews", "api_review", decisions.submit_review, Right.REVIEW,
        change_shapes.ReviewAnswer, "Review a decision", body=change_shapes.NewReview, status=201,
    ),
    api_post(
        "/reviews/{review_id}/undo", "api_review_undo", decisions.undo_review, Right.REVIEW,
        change_shapes.UndoAnswer, "Withdraw your review within a minute",
    ),
    api_post(
        CONVERSATION + "/take", "api_conversation_take", conversations.take, Right.REVIEW,
        shapes.ConversationOwner, "Give a conversation to people",
    ),
    api_post(
        CONVERSATION + "/release", "api_conversation_release", conversations.release, Right.REVIEW,
        shapes.ConversationOwner, "Give a conversation back to the AI",
    ),
    api_get(
        ACCOUNT + "/rules", "api_rules", documents.show_rules, Right.VIEW, change_shapes.RulesInForce,
        "The rules of an account",
    ),
    api_post(
        ACCOUNT + "/rules", "api_rules_store", documents.store_rules, Right.EDIT_RULES,
        change_shapes.RulesAnswer, "Store a new version of the rules", body=change_shapes.NewRules,
        body_bytes=rule_files_page.MOST_BYTES,
    ),
    api_get(
        ACCOUNT + "/documents", "api_documents", documents.list_documents, Right.VIEW,
        change_shapes.Documents, "The documents of an account",
    ),
    api_post(
        ACCOUNT + "/documents", "api_document_add", documents.add_document, Right.EDIT_RULES,
        change_shapes.DocumentAnswer, "Add a document", body=change_shapes.NewDocument, accepts=FILE,
        status=201, body_bytes=documents_page.MOST_BYTES,
    ),
    api_delete(
        ACCOUNT + "/documents/{document:int}", "api_document_remove", documents.remove_document,
        Right.EDIT_RULES, change_shapes.RemovedDocument, "Remove a document with all its passages",
    ),
)  # fmt: skip
