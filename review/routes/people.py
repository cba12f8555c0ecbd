"""Routes of people, their roles and the access log."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.access_log import page
from review.http.visit import PageRoute
from review.people import invitation_links, people_page

PEOPLE: Final = (
    PageRoute(path="/people", name="people", handler=people_page.list_people, right=Right.ADMIN),
    PageRoute(
        path="/people",
        name="people_post",
        handler=people_page.add_person,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    PageRoute(
        path="/people/invitations/{invitation_id}/withdraw",
        name="invitation_withdraw",
        handler=invitation_links.withdraw,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    PageRoute(path="/people/{person_id}", name="person", handler=people_page.show_person, right=Right.ADMIN),
    PageRoute(
        path="/people/{person_id}/grant",
        name="person_grant",
        handler=people_page.grant_role,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    PageRoute(
        path="/people/{person_id}/revoke",
        name="person_revoke",
        handler=people_page.revoke_role,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    PageRoute(
        path="/people/{person_id}/manage",
        name="person_manage",
        handler=people_page.manage_person,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    PageRoute(path="/access-log", name="access_log", handler=page.list_lines, right=Right.AUDIT),
)
