"""Routes of golden sets. Their items show known answers, so that only leads see them."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.http.page_routes import get, post
from review.learn import golden_page, golden_sets
from review.routes.accounts import ACCOUNT

GOLDEN: Final = ACCOUNT + "/learn/golden"
GOLDEN_SET: Final = GOLDEN + "/{set_id}"
LEARN_GOLDEN: Final = (
    post(GOLDEN, "golden_create", golden_sets.create, Right.LEAD),
    post(GOLDEN_SET + "/add", "golden_add", golden_page.add, Right.LEAD),
    post(GOLDEN_SET + "/remove", "golden_remove", golden_page.remove, Right.LEAD),
    get(GOLDEN_SET, "golden_set", golden_page.show_set, Right.LEAD),
    post("/decisions/{decision_id}/golden", "golden_decision", golden_sets.add_decision, Right.LEAD),
)
