"""A real browser, headless, for tests of what a reader sees."""

from time import monotonic, sleep

import pytest

NEEDS_BROWSER = pytest.mark.needs("browser")
DESK, PHONE = {"width": 1300, "height": 700}, {"width": 375, "height": 740}
TABLET = {"width": 820, "height": 1180}

# The words of cells that are seen and reach over their right edge; those for screen readers alone have no width.
OVERFLOWING = """[...document.querySelectorAll("td, th")].filter((cell) => {
    if (!cell.checkVisibility() || cell.querySelector(".hidden")) return false;
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect().right > cell.getBoundingClientRect().right + 1;
}).map((cell) => cell.innerText)"""


class Tab:
    """A tab with a page, and what it asked of the network or complained of."""

    def __init__(self, browser, address, size, *, ready="html[data-ready]"):
        self.tab, self.address, self.faults = browser.new_page(viewport=size), address, []
        # Several browsers may share a core: a page that is ready in three seconds then takes twenty.
        self.tab.set_default_timeout(90_000)
        self.tab.on(
            "console", lambda said: self.faults.append(said.text) if said.type in {"error", "warning"} else None
        )
        self.tab.on("pageerror", lambda error: self.faults.append(str(error)))
        self.tab.on("request", lambda asked: None if _is_local(asked.url) else self.faults.append(asked.url))
        self.tab.goto(address)
        self.tab.wait_for_selector(ready)

    def show(self, chapter):
        self.tab.evaluate("(name) => { location.hash = name; }", chapter)
        return self.tab


def eventually(condition):
    """Return whether the condition comes true within some seconds: the page forbids to wait inside it."""
    deadline = monotonic() + 15
    while not (met := condition()) and monotonic() < deadline:
        sleep(0.05)
    return met


def column(table, number):
    """Return the words of a column of a table, counted from 1."""
    return table.locator(f"tbody tr > :nth-child({number})").all_inner_texts()


def _is_local(url):
    return url.startswith(("file://", "blob:", "data:"))
