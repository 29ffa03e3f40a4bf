"""A made-up dashboard in a browser, for all modules that look at it."""

import pytest

from support.browser_tab import DESK, PHONE, Tab
from support.dashboard_grid import page


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dashboard")
    (folder / "dashboard.html").write_text(page(folder), encoding="utf-8")
    return f"file://{folder}/dashboard.html"


@pytest.fixture(scope="module")
def desk_tab(browser, address):
    return Tab(browser, address, DESK)


@pytest.fixture(scope="module")
def phone_tab(browser, address):
    return Tab(browser, address, PHONE)


@pytest.fixture
def opened(desk_tab):
    """Return a function that shows a chapter at a desk; whatever the page asks or complains of fails the test."""
    yield desk_tab.show
    assert not desk_tab.faults
