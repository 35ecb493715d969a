"""A browser for each file of tests, a fresh profile and a running site for each test."""

from __future__ import annotations

import pytest
from js.chromium import browser, driver, site


@pytest.fixture(scope="module")
def playwright():
    with driver() as running:
        yield running


@pytest.fixture(scope="module")
def chromium(playwright):
    with browser(playwright) as running:
        yield running


@pytest.fixture
def context(chromium):
    fresh = chromium.new_context()
    yield fresh
    fresh.close()


@pytest.fixture
def server():
    with site() as running:
        yield running
