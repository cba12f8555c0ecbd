"""Routes of who may do what, and of who did."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.pages import access_log, people
from review.web import Page

PEOPLE: Final = (
    Page(path="/people", name="people", handler=people.listed, right=Right.ADMIN),
    Page(path="/people", name="people_post", handler=people.add, right=Right.ADMIN, methods=("POST",)),
    Page(path="/people/{person_id}", name="person", handler=people.show, right=Right.ADMIN),
    Page(
        path="/people/{person_id}/grant",
        name="person_grant",
        handler=people.grant,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    Page(
        path="/people/{person_id}/revoke",
        name="person_revoke",
        handler=people.revoke,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    Page(
        path="/people/{person_id}/manage",
        name="person_manage",
        handler=people.manage,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    Page(path="/access-log", name="access_log", handler=access_log.listed, right=Right.AUDIT),
)
