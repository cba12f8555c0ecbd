"""The route table: every path, its right and its handler. Tests request every path with every role."""

from __future__ import annotations

from typing import Final

from features.feature import hook_items
from review.http.page_routes import PageRoute
from review.routes.accounts import ACCOUNTS, FIRST_RUN, OWNER
from review.routes.api import ANSWERS_API, API
from review.routes.api_changes import API_CHANGES
from review.routes.decisions import COLLABORATION, CONVERSATIONS, DECISIONS, FIGURES, REVIEWING, SUBJECTS
from review.routes.people import OWN, PEOPLE, SHELL, SIGNING_IN
from review.routes.webhooks import WEBHOOKS, WEBHOOKS_API

PAGES: Final[tuple[PageRoute, ...]] = (
    *SIGNING_IN,
    *OWN,
    *SHELL,
    *DECISIONS,
    *COLLABORATION,
    *CONVERSATIONS,
    *REVIEWING,
    *SUBJECTS,
    *FIGURES,
    *WEBHOOKS,
    *OWNER,
    *FIRST_RUN,
    *hook_items("pages"),
    *ACCOUNTS,
    *PEOPLE,
    *WEBHOOKS_API,
    *API,
    *ANSWERS_API,
    *API_CHANGES,
)
