"""The route table: every path, its right and its handler. Tests request every path with every role."""

from __future__ import annotations

from typing import Final

from features.feature import hook_items
from review.http.page_routes import PageRoute
from review.routes.accounts import ACCOUNTS
from review.routes.answers import ANSWERS_API
from review.routes.api import API
from review.routes.api_changes import API_CHANGES
from review.routes.auth import SIGNING_IN
from review.routes.collaboration import COLLABORATION
from review.routes.conversations import CONVERSATIONS
from review.routes.dashboard import FIGURES
from review.routes.decisions import DECISIONS
from review.routes.first_run import FIRST_RUN
from review.routes.owner import OWNER
from review.routes.people import PEOPLE
from review.routes.profile import OWN
from review.routes.queues import REVIEWING
from review.routes.shell import SHELL
from review.routes.subjects import SUBJECTS
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
