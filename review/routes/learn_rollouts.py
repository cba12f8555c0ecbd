"""Routes of rollouts."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.http.page_routes import get, post
from review.learn import rollout_page, rollout_start_page
from review.routes.accounts import ACCOUNT

START: Final = ACCOUNT + "/learn/candidates/{candidate_id}/rollout"
ROLLOUT: Final = ACCOUNT + "/learn/rollouts/{rollout_id}"
LEARN_ROLLOUTS: Final = (
    get(START, "rollout_start", rollout_start_page.show_start, Right.LEAD),
    post(START, "rollout_start_post", rollout_start_page.start, Right.LEAD),
    get(ROLLOUT, "rollout", rollout_page.show_rollout, Right.VIEW),
    post(ROLLOUT + "/step", "rollout_step", rollout_page.step, Right.LEAD),
    post(ROLLOUT + "/return", "rollout_return", rollout_page.return_to_settings, Right.LEAD),
    post(ROLLOUT + "/finish", "rollout_finish", rollout_page.finish, Right.LEAD),
)
