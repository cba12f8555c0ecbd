"""Routes of the first steps of a new installation."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.connect import channels_page, connect_page
from review.first_run import message_page, sample_page
from review.http.page_routes import ACCOUNT, get, post

FIRST_RUN: Final = (
    get("/connect", "connect", connect_page.show_connect, Right.ADMIN),
    post("/connect", "connect_post", connect_page.change_connect, Right.ADMIN),
    get(ACCOUNT + "/channels", "channels", channels_page.show_channels, Right.ADMIN),
    post(ACCOUNT + "/channels", "channels_post", channels_page.make_channel_token, Right.ADMIN),
    get("/first-steps/samples", "sample_data", sample_page.show_samples, Right.ADMIN),
    post("/first-steps/samples", "sample_data_add", sample_page.add_samples, Right.ADMIN),
    post("/first-steps/samples/remove", "sample_data_remove", sample_page.delete_samples, Right.ADMIN),
    get(ACCOUNT + "/test-message", "message_test", message_page.show_message_test, Right.ADMIN),
    post(ACCOUNT + "/test-message", "message_test_post", message_page.send_message_test, Right.ADMIN),
)
