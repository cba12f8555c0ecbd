"""Routes of the JSON API that change something, and the reads that these changes need."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.accounts import documents_page, rule_files_page
from review.api import change_shapes, conversations, decisions, documents, shapes
from review.http.page_routes import PageRoute

ACCOUNT: Final = "/api/v1/accounts/{account:path}"
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
    PageRoute(
        path="/api/v1/decisions/{decision_id}/reviews",
        name="api_review",
        handler=decisions.submit_review,
        right=Right.REVIEW,
        methods=("POST",),
        api=True,
        summary="Review a decision",
        body=change_shapes.NewReview,
        response=change_shapes.ReviewAnswer,
        status=201,
    ),
    PageRoute(
        path="/api/v1/reviews/{review_id}/undo",
        name="api_review_undo",
        handler=decisions.undo_review,
        right=Right.REVIEW,
        methods=("POST",),
        api=True,
        summary="Withdraw your review within a minute",
        response=change_shapes.UndoAnswer,
    ),
    PageRoute(
        path=CONVERSATION + "/take",
        name="api_conversation_take",
        handler=conversations.take,
        right=Right.REVIEW,
        methods=("POST",),
        api=True,
        summary="Give a conversation to people",
        response=shapes.ConversationOwner,
    ),
    PageRoute(
        path=CONVERSATION + "/release",
        name="api_conversation_release",
        handler=conversations.release,
        right=Right.REVIEW,
        methods=("POST",),
        api=True,
        summary="Give a conversation back to the AI",
        response=shapes.ConversationOwner,
    ),
    PageRoute(
        path=ACCOUNT + "/rules",
        name="api_rules",
        handler=documents.show_rules,
        right=Right.VIEW,
        api=True,
        summary="The rules of an account",
        response=change_shapes.RulesInForce,
    ),
    PageRoute(
        path=ACCOUNT + "/rules",
        name="api_rules_store",
        handler=documents.store_rules,
        right=Right.EDIT_RULES,
        methods=("POST",),
        api=True,
        summary="Store a new version of the rules",
        body=change_shapes.NewRules,
        response=change_shapes.RulesAnswer,
        body_bytes=rule_files_page.MOST_BYTES,
    ),
    PageRoute(
        path=ACCOUNT + "/documents",
        name="api_documents",
        handler=documents.list_documents,
        right=Right.VIEW,
        api=True,
        summary="The documents of an account",
        response=change_shapes.Documents,
    ),
    PageRoute(
        path=ACCOUNT + "/documents",
        name="api_document_add",
        handler=documents.add_document,
        right=Right.EDIT_RULES,
        methods=("POST",),
        api=True,
        summary="Add a document",
        body=change_shapes.NewDocument,
        accepts=FILE,
        response=change_shapes.DocumentAnswer,
        status=201,
        body_bytes=documents_page.MOST_BYTES,
    ),
    PageRoute(
        path=ACCOUNT + "/documents/{document:int}",
        name="api_document_remove",
        handler=documents.remove_document,
        right=Right.EDIT_RULES,
        methods=("DELETE",),
        api=True,
        summary="Remove a document with all its passages",
        response=change_shapes.RemovedDocument,
    ),
)
