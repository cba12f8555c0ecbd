"""The dashboard in a browser: values by key, PNG files, and a refresh that keeps what is open."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.browser.desk import Desk

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_plot_is_read_by_key_saved_as_png_and_kept_by_a_refresh(desk: Desk) -> None:
    """The arrow keys read the steps; an open table and the focus survive new figures."""
    page = desk.resident("everything")
    page.goto("/dashboard")
    figure = page.locator("figure.plot").filter(has=page.locator(".frame")).first
    figure.locator("summary").click()
    with page.expect_download() as saved:
        figure.get_by_role("link", name="PNG").click()
    frame, readout = figure.locator(".frame"), figure.locator(".readout")
    frame.focus()
    page.keyboard.press("Home")
    first = readout.inner_text()
    page.keyboard.press("ArrowRight")

    assert saved.value.path().read_bytes().startswith(PNG)
    assert first.startswith(figure.locator("tbody th").first.inner_text())
    assert readout.inner_text() != first
    with page.expect_response(lambda answer: "/dashboard?" in answer.url):
        page.evaluate("document.dispatchEvent(new Event('figures:now'))")
    expect(figure.locator("table")).to_be_visible()
    expect(frame).to_be_focused()
    expect(readout).to_be_visible()
    assert figure.get_by_role("link", name="PNG").count() == 1
    page.keyboard.press("Escape")
    expect(readout).to_be_hidden()


def test_figures_need_no_script(desk: Desk) -> None:
    """Tables, titles and files are links and text."""
    page = desk.resident("everything", java_script_enabled=False)
    page.goto("/dashboard")
    figure = page.locator("figure.plot").filter(has=page.locator(".frame")).first
    figure.locator("summary").click()
    with page.expect_download() as saved:
        figure.get_by_role("link", name="SVG").click()

    assert b"<svg" in saved.value.path().read_bytes()
    assert figure.locator("title").count() > 1
    expect(page.locator("[data-refresh]")).to_be_hidden()
