"""Routes of the pages about how good decisions are."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.http.page_routes import get, post
from review.learn import calibration_page, errors_page, shadows, suggestions_page
from review.routes.accounts import ACCOUNT

LEARN_FIGURES: Final = (
    post(ACCOUNT + "/learn/shadows", "shadow_start", shadows.start, Right.LEAD),
    post(ACCOUNT + "/learn/shadows/stop", "shadow_stop", shadows.stop, Right.LEAD),
    post(ACCOUNT + "/learn/shadows/queue", "shadow_queue", shadows.open_queue, Right.LEAD),
    get("/learn/errors.csv", "errors_csv", errors_page.download_errors, Right.LEAD),
    get("/learn/errors", "errors", errors_page.show_errors, Right.LEAD),
    get(
        ACCOUNT + "/learn/errors.csv",
        "learn_errors_csv",
        errors_page.download_account_errors,
        Right.LEAD,
    ),
    get(ACCOUNT + "/learn/errors", "learn_errors", errors_page.show_account_errors, Right.LEAD),
    get(
        ACCOUNT + "/learn/calibration",
        "learn_calibration",
        calibration_page.show_calibration,
        Right.LEAD,
    ),
    post(
        ACCOUNT + "/learn/calibration",
        "calibration_candidate",
        calibration_page.make_candidate,
        Right.LEAD,
    ),
    get(
        ACCOUNT + "/learn/suggestions",
        "learn_suggestions",
        suggestions_page.show_suggested,
        Right.VIEW,
    ),
    post(
        ACCOUNT + "/learn/suggestions",
        "suggestion_candidate",
        suggestions_page.make_suggested,
        Right.LEAD,
    ),
)
