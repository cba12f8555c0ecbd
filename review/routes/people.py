"""Routes of people, their roles and the access log."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.access_log import page
from review.http.page_routes import get, post
from review.people import invitation_links, people_page, person_page

PEOPLE: Final = (
    get("/people", "people", people_page.list_people, Right.ADMIN),
    post("/people", "people_post", people_page.add_person, Right.ADMIN),
    post(
        "/people/invitations/{invitation_id}/withdraw",
        "invitation_withdraw",
        invitation_links.withdraw,
        Right.ADMIN,
    ),
    get("/people/{person_id}", "person", person_page.show_person, Right.ADMIN),
    post("/people/{person_id}/grant", "person_grant", person_page.grant_role, Right.ADMIN),
    post("/people/{person_id}/revoke", "person_revoke", person_page.revoke_role, Right.ADMIN),
    post("/people/{person_id}/manage", "person_manage", person_page.manage_person, Right.ADMIN),
    get("/access-log", "access_log", page.list_lines, Right.AUDIT),
)
