"""The instruments of these tests notice what they are there to notice."""

from __future__ import annotations

from tests.support.browser.axe import faults
from tests.support.browser.desk import Desk


def test_axe_sees_a_fault_and_leaves_the_page_alone(desk: Desk) -> None:
    """A picture without words is found; the page's own scripts see no axe."""
    page = desk.stranger()
    page.goto("/sign-in")
    page.evaluate("document.querySelector('main').append(new Image())")

    assert [line.split(":")[0] for line in faults(page)] == ["critical image-alt"]
    assert page.evaluate("typeof window.axe") == "undefined"


def test_what_breaks_the_policy_is_noticed(desk: Desk) -> None:
    """An inline script does not run, and its report is a fault of the test."""
    page = desk.stranger()
    page.goto("/sign-in")
    with page.expect_request("**/csp-report"):
        page.evaluate(
            "() => { const one = document.createElement('script'); one.textContent = 'document.title = 1';"
            " document.body.append(one) }"
        )
    title, found = page.title(), desk.faults()

    assert title == "Sign in · Hushgate"
    assert any("content security policy broken" in line for line in found)


def test_a_request_to_elsewhere_is_noticed(desk: Desk) -> None:
    """Even one that the policy would let through."""
    page = desk.stranger()
    page.goto("/sign-in")
    with page.expect_event("requestfailed"):
        page.evaluate("() => { location = 'http://elsewhere.example/' }")

    assert any("elsewhere.example" in line for line in desk.faults())
