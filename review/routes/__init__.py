"""The route table: every address, what it needs, who answers. Tests walk it with every role."""

from __future__ import annotations

from typing import Final

from review.routes.accounts import ACCOUNTS
from review.routes.api import API
from review.routes.decisions import DECISIONS
from review.routes.figures import FIGURES
from review.routes.own import OWN
from review.routes.people import PEOPLE
from review.routes.reviewing import REVIEWING
from review.routes.signing_in import SIGNING_IN

PAGES: Final = (*SIGNING_IN, *OWN, *DECISIONS, *REVIEWING, *FIGURES, *ACCOUNTS, *PEOPLE, *API)
