"""The benchmark of the review pages opens every page of the route table."""

from __future__ import annotations

from bench.audit_pages import NOT_MEASURED, QUERIES, SAMPLES, measured_pages, parameters
from review.routes import PAGES


def test_every_page_has_an_address_in_the_benchmark() -> None:
    """A path with a new combination of parameters needs a sample."""
    missing = {page.path for page in measured_pages() if parameters(page) not in SAMPLES}

    assert missing == set()


def test_the_benchmark_names_only_pages_that_exist() -> None:
    """A page that was renamed keeps no line behind."""
    names = {page.name for page in PAGES}

    assert (NOT_MEASURED.keys() | QUERIES.keys()) - names == set()
