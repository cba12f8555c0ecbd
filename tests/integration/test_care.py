"""Covers of the organisation on pages."""

from __future__ import annotations

from dataclasses import replace

from db.people.records import Role
from tests.support.audited import blocked, record
from tests.support.reviewing import add_person, signed_in, site
from worker.model import Decision


def flagged(rule: str) -> Decision:
    """A decision that a rule stopped."""
    return replace(blocked(), matched_rule=rule)


SITE = {"HUSHGATE_REVIEW_COVERS": "violence"}


def test_a_page_covers_for_the_organisation(database_url: str) -> None:
    """Until the person chooses something else."""
    decided = flagged("openai_moderation:violence")
    record(database_url, decided)
    path = f"/decisions/{decided.decision_id}"
    with site(database_url, **SITE) as visitors:
        guest = signed_in(visitors, add_person(database_url, Role.REVIEWER))
        covered = guest.get(path).text
        guest.get("/profile")
        saved = guest.post("/profile", name="Ana", covers="own")
        own = guest.get(path).text

    assert "violence" in covered
    assert decided.event.text not in covered
    assert saved.status_code == 303
    assert decided.event.text in own


def test_a_required_cover_stays(database_url: str) -> None:
    """Whatever the person chooses; the profile says so."""
    decided = flagged("flagged_keyword:refund")
    record(database_url, decided)
    needs = {"HUSHGATE_REVIEW_COVERS": "flagged_rule,required"}
    with site(database_url, **needs) as visitors:
        guest = signed_in(visitors, add_person(database_url, Role.REVIEWER))
        guest.get("/profile")
        guest.post("/profile", name="Ana", covered="violence")
        profile = guest.get("/profile").text
        page = guest.get(f"/decisions/{decided.decision_id}").text

    assert "(required by the organisation)" in profile
    assert decided.event.text not in page


def test_a_profile_saved_without_covers_follows_the_organisation_later(database_url: str) -> None:
    """While the organisation covers nothing, an empty form is no choice."""
    decided = flagged("openai_moderation:violence")
    record(database_url, decided)
    person = add_person(database_url, Role.REVIEWER)
    with site(database_url) as visitors:
        guest = signed_in(visitors, person)
        guest.get("/profile")
        saved = guest.post("/profile", name="Ana")
    with site(database_url, **SITE) as visitors:
        guest = signed_in(visitors, person)
        page = guest.get(f"/decisions/{decided.decision_id}").text

    assert saved.status_code == 303
    assert decided.event.text not in page
