"""The routes of trials."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.http.page_routes import ACCOUNT, get, post
from review.languages import mark
from review.shell.menu import MenuEntry, MenuPlace
from trials.pages import (
    calibration_page,
    errors_page,
    golden_page,
    golden_sets,
    learn_page,
    replay_page,
    rollout_page,
    rollout_start_page,
    shadows,
    suggestions_page,
    trial_page,
)

LEARN: Final = ACCOUNT + "/learn"
START: Final = LEARN + "/candidates/{candidate_id}/rollout"
TRIAL: Final = LEARN + "/trials/{trial_id}"
GOLDEN: Final = LEARN + "/golden"
GOLDEN_SET: Final = GOLDEN + "/{set_id}"

PAGES: Final = (
    get(LEARN, "learn", learn_page.show_learn, Right.VIEW),
    post(LEARN + "/withdraw", "learn_withdraw", learn_page.withdraw, Right.LEAD),
    get("/decisions/{decision_id}/replay", "decision_replay", replay_page.show_replay, Right.LEAD),
    post(LEARN + "/shadows", "shadow_start", shadows.start, Right.LEAD),
    get(TRIAL, "trial", trial_page.show_trial, Right.VIEW),
    post(TRIAL + "/examples/{decision_id}", "trial_reveal", trial_page.reveal_example, Right.REVIEW),
    post(TRIAL + "/stop", "trial_stop", shadows.stop, Right.LEAD),
    post(TRIAL + "/queue", "trial_queue", shadows.open_queue, Right.LEAD),
    post(TRIAL + "/share", "trial_share", rollout_page.step, Right.LEAD),
    post(TRIAL + "/return", "trial_return", rollout_page.return_to_settings, Right.LEAD),
    post(TRIAL + "/finish", "trial_finish", rollout_page.finish, Right.LEAD),
    get("/learn/errors.csv", "errors_csv", errors_page.download_errors, Right.LEAD),
    get("/learn/errors", "errors", errors_page.show_errors, Right.LEAD),
    get(LEARN + "/errors.csv", "learn_errors_csv", errors_page.download_errors, Right.LEAD),
    get(LEARN + "/errors", "learn_errors", errors_page.show_errors, Right.LEAD),
    get(LEARN + "/calibration", "learn_calibration", calibration_page.show_calibration, Right.LEAD),
    post(LEARN + "/calibration", "calibration_candidate", calibration_page.make_candidate, Right.LEAD),
    get(LEARN + "/suggestions", "learn_suggestions", suggestions_page.show_suggested, Right.VIEW),
    post(LEARN + "/suggestions", "suggestion_candidate", suggestions_page.make_suggested, Right.LEAD),
    # items of golden sets show known answers, so that only leads see them
    post(GOLDEN, "golden_create", golden_sets.create, Right.LEAD),
    post(GOLDEN_SET + "/add", "golden_add", golden_page.add, Right.LEAD),
    post(GOLDEN_SET + "/remove", "golden_remove", golden_page.remove, Right.LEAD),
    get(GOLDEN_SET, "golden_set", golden_page.show_set, Right.LEAD),
    post("/decisions/{decision_id}/golden", "golden_decision", golden_sets.add_decision, Right.LEAD),
    get(START, "rollout_start", rollout_start_page.show_start, Right.LEAD),
    post(START, "rollout_start_post", rollout_start_page.start, Right.LEAD),
)


MENU: Final = (
    MenuEntry(place=MenuPlace.ACCOUNT, route="learn", title=mark("Learn"), right=Right.VIEW),
    MenuEntry(place=MenuPlace.AGREEMENT, route="errors", title=mark("Error rates"), right=Right.LEAD),
    MenuEntry(place=MenuPlace.DECISION_CANDIDATE, route="learn", title=mark("Learn"), right=Right.VIEW),
    MenuEntry(place=MenuPlace.DECISION, route="decision_replay", title=mark("Replay"), right=Right.LEAD),
)
