"""Routes of backtests."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.http.page_routes import get, post
from review.learn import backtest_page
from review.routes.accounts import ACCOUNT

BACKTEST: Final = ACCOUNT + "/learn/backtests/{backtest_id}"
LEARN_BACKTESTS: Final = (
    post(
        BACKTEST + "/examples/{decision_id}",
        "backtest_reveal",
        backtest_page.reveal_example,
        Right.REVIEW,
    ),
    get(BACKTEST, "backtest", backtest_page.show_backtest, Right.VIEW),
)
