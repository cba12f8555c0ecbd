"""Routes of the first steps of a new installation."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.first_run import message_page, models_page, sample_page
from review.http.page_routes import ACCOUNT, get, post

FIRST_RUN: Final = (
    get("/first-steps/models", "model_test", models_page.show_model_test, Right.ADMIN),
    post("/first-steps/models", "model_test_post", models_page.run_model_test, Right.ADMIN),
    get("/first-steps/samples", "sample_data", sample_page.show_samples, Right.ADMIN),
    post("/first-steps/samples", "sample_data_add", sample_page.add_samples, Right.ADMIN),
    post("/first-steps/samples/remove", "sample_data_remove", sample_page.delete_samples, Right.ADMIN),
    get(ACCOUNT + "/test-message", "message_test", message_page.show_message_test, Right.ADMIN),
    post(ACCOUNT + "/test-message", "message_test_post", message_page.send_message_test, Right.ADMIN),
)
