"""Routes of a shop owner: home, conversations and single rules of one account."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.escalations import inbox
from review.http.page_routes import ACCOUNT, get, post
from review.owner import answered_page, automatic_page, home_page, one_rule_page

OWNER: Final = (
    get(ACCOUNT + "/home", "owner_home", home_page.show_owner_home, Right.VIEW),
    post(ACCOUNT + "/home/{decision_id}", "owner_home_answer", home_page.answer_from_home, Right.REVIEW),
    get(ACCOUNT + "/waiting", "account_waiting", inbox.list_account_waiting, Right.REVIEW),
    get(ACCOUNT + "/answered", "account_answered", answered_page.show_answered, Right.VIEW),
    get(ACCOUNT + "/automatic", "automatic", automatic_page.show_automatic, Right.ADMIN),
    post(ACCOUNT + "/automatic", "automatic_post", automatic_page.switch_on, Right.ADMIN),
    get(ACCOUNT + "/rules/one", "one_rule", one_rule_page.show_one_rule, Right.EDIT_RULES),
    post(ACCOUNT + "/rules/one", "one_rule_post", one_rule_page.add_one_rule, Right.EDIT_RULES),
)
