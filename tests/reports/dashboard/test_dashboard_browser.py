"""The dashboard and a table's page in a real browser: what a reader sees, clicks, types, prints, carries on a phone."""

import shutil
from time import monotonic, sleep

import pytest

from kdrbench.suite.reports.tables.table import render_html
from kdrbench.suite.systems.ikdr.paired_tests import paired_table, paired_tests
from support.claim_rows import cells, records
from support.dashboard_grid import page

pytestmark = pytest.mark.needs("browser")
DESK, PHONE = {"width": 1300, "height": 700}, {"width": 375, "height": 740}
TABLET = {"width": 820, "height": 1180}
LOCAL = ("file://", "blob:", "data:")

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
        self.tab.on("request", lambda asked: asked.url.startswith(LOCAL) or self.faults.append(asked.url))
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


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # A root user in a container has no sandbox to offer.
        started = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dashboard")
    (folder / "dashboard.html").write_text(page(folder), encoding="utf-8")
    return f"file://{folder}/dashboard.html"


@pytest.fixture(scope="module")
def desk_tab(browser, address):
    return Tab(browser, address, DESK)


@pytest.fixture
def opened(desk_tab):
    """Return a function that shows a chapter at a desk; whatever the page asks or complains of fails the test."""
    yield desk_tab.show
    assert not desk_tab.faults


def test_each_chapter_shows_itself_alone_and_is_named(opened):
    tab = opened("quality")
    assert tab.title() == "kdrbench dashboard"
    links = tab.locator("header nav a")
    assert links.all_inner_texts() == ["Overview", "Tables", "Figures", "Published", "Claims", "Runs", "Quality"]
    for link in links.all():
        link.click()
        # Who cannot see the page hears where he is.
        assert eventually(lambda link=link: tab.evaluate("document.activeElement.textContent") == link.inner_text())
        assert tab.locator("main h1:visible").all_inner_texts() == [link.inner_text()]
        assert tab.locator("[aria-current=page]").all_inner_texts() == [link.inner_text()]


def test_everything_has_a_name_for_those_who_cannot_see_it(opened):
    tab = opened("overview")
    nameless = tab.evaluate("""() => [...document.querySelectorAll("table, input, button, figure .plot, [role=region]")]
        .filter((one) => !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") ||
            (one.labels && one.labels.length) || (one.caption && one.caption.textContent.trim()) ||
            (one.tagName === "BUTTON" && one.textContent.trim()))).map((one) => one.outerHTML.slice(0, 200))""")
    assert nameless == []
    assert tab.locator("html[lang=en]").count() == 1
    ids = tab.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))


def test_tables_are_sorted_by_numbers_and_filtered(opened):
    tab = opened("tables")
    table = tab.locator("#table-extra table")
    table.get_by_role("button", name="Time").first.click()
    assert eventually(lambda: column(table, 1) == ["gamma", "alpha", "beta"])
    tab.locator("#table-extra").get_by_label("Filter:").fill("bet")
    assert eventually(lambda: column(table, 1) == ["beta"])
    assert "of 3" in tab.locator("#table-extra .dt-info").inner_text()
    # By the list of a column's words.
    first = tab.locator("#table-first .dt-container").first
    first.get_by_role("button", name="Filter by Metric").click()
    tab.locator(".dtcc-list").get_by_role("button", name="Accuracy").click()
    assert eventually(lambda: set(column(first.locator("table"), 2)) == {"Accuracy"})
    tab.locator(".dtcc-list").get_by_role("button", name="Accuracy").click()
    tab.keyboard.press("Escape")
    assert eventually(lambda: len(column(first.locator("table"), 2)) == 10)


def visible_keys(plot):
    return plot.evaluate("(one) => [...new Set(one.data.filter((t) => t.visible !== false).map((t) => t.legendgroup))]")


def test_a_click_on_the_legend_hides_a_solver_in_all_panels(opened):
    tab = opened("figure-first_cost_against_time")
    figure = tab.locator("#figure-first_cost_against_time")
    plots = figure.locator(".plot")
    for plot in plots.all():
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for()
    assert plots.count() == 4
    button = figure.get_by_role("button", name="DG", exact=True)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    for plot in plots.all():
        assert "DG" not in visible_keys(plot)
        assert {"ISM", "DG, converged"} <= set(visible_keys(plot))
    button.press("Space")
    assert all("DG" in visible_keys(plot) for plot in plots.all())
    figure.get_by_role("button", name="None").click()
    assert all(visible_keys(plot) == [] for plot in plots.all())
    figure.get_by_role("button", name="All").click()
    assert all("ISM" in visible_keys(plot) for plot in plots.all())


def test_a_run_opens_by_click_and_by_key(opened):
    tab = opened("runs")
    dialog = tab.locator("dialog#run")
    tab.locator("#table-runs tbody tr", has_text="failed").first.locator("td").nth(2).click()
    assert dialog.is_visible()
    assert dialog.locator("h2").inner_text() == "SM on Wine, Gaussian kernel, run 1"
    said = dialog.inner_text()
    # What the record says is shown as it is, not as markup.
    assert "<b>division</b> by zero" in said
    assert {"Time", "Provenance", "git commit", "c" * 40} <= set(map(str.strip, said.splitlines()))
    tab.keyboard.press("Escape")
    assert not dialog.is_visible()
    button = tab.get_by_role("button", name="Details of ISM on Wine, Gaussian kernel, run 2")
    button.focus()
    tab.keyboard.press("Enter")
    assert dialog.locator("h2").inner_text() == "ISM on Wine, Gaussian kernel, run 2"
    dialog.get_by_role("button", name="Close").press("Enter")
    assert not dialog.is_visible()
    assert button.evaluate("(one) => one === document.activeElement")


def test_the_keyboard_reaches_and_shows_all_controls(opened):
    tab = opened("runs")
    tab.locator("header nav a").last.focus()
    reached = []
    for _ in range(12):
        tab.keyboard.press("Tab")
        one = "document.activeElement"
        reached.append(tab.evaluate(f"[{one}.tagName, getComputedStyle({one}).outlineStyle]"))
    assert all(outline != "none" for _, outline in reached)
    assert reached[0][0] == "INPUT"
    sorting = tab.locator("#table-runs th", has_text="Iterations").get_by_role("button").first
    for key, order in (("Enter", "ascending"), ("Space", "descending")):
        sorting.focus()
        tab.keyboard.press(key)
        heading = tab.locator("#table-runs th", has_text="Iterations")
        assert eventually(lambda heading=heading, order=order: heading.get_attribute("aria-sort") == order)


def test_colours_are_those_of_the_system(browser, address):
    tab = browser.new_page(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]")
    assert tab.evaluate(ground) == "rgb(19, 20, 22)"
    plot = tab.locator("#figure-first_cost_against_time .plot").first
    tab.evaluate("location.hash = 'figure-first_cost_against_time'")
    plot.locator(".main-svg").first.wait_for()
    assert plot.evaluate("(one) => one.layout.plot_bgcolor") == "#131416"
    # Paper is light.
    tab.emulate_media(media="print")
    assert eventually(lambda: tab.evaluate(ground) == "rgb(255, 255, 255)")
    tab.close()


def test_a_number_says_what_it_is_and_leads_to_its_runs(opened):
    tab = opened("tables")
    cell = tab.locator("#table-first tbody tr", has_text="First solve").first.locator("td.number").first
    cell.hover()
    tip = tab.locator("#tip")
    assert eventually(tip.is_visible)
    assert tip.inner_text().startswith("First solve: wall-clock time of a run's first solve, without data")
    cell.focus()
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.dataset.method") == "DG"
    assert tab.locator("#table-first td[tabindex='0']").count() == 2, "one in each part"
    tab.keyboard.press("Enter")
    assert eventually(lambda: tab.locator("#table-runs").is_visible())
    lines = tab.locator("#table-runs tbody tr")
    assert eventually(lambda: lines.count() == 3)
    assert {row.split("\t")[4].strip() for row in lines.all_inner_texts()} == {"DG"}
    shown = tab.locator("#shown")
    assert "A table of made-up runs; Wine; Gaussian; DG" in shown.inner_text()
    shown.get_by_role("link", name="Show all runs").click()
    assert eventually(lambda: shown.is_hidden() and lines.count() > 3)


def test_without_scripts_the_tables_are_there(browser, address):
    tab = browser.new_page(java_script_enabled=False)
    tab.goto(address)
    assert tab.locator("#table-extra td", has_text="10ms").is_visible()
    assert "Without JavaScript" in tab.locator("noscript").inner_text()
    tab.close()


def test_pictures_are_in_rows_below_their_headings(opened):
    tab = opened("figure-pictures")
    plots = tab.locator("#figure-pictures .plot")
    for plot in plots.all():
        plot.scroll_into_view_if_needed()
        plot.locator(".imagelayer image").wait_for(state="attached")
    wide, one, other = (plot.bounding_box() for plot in plots.all())
    headings = [place.bounding_box() for place in tab.locator("#figure-pictures .heading").all()]
    assert headings[0]["y"] < wide["y"] < headings[1]["y"] < one["y"] == other["y"]
    assert one["x"] < other["x"]
    # Square pixels, the first row at the top.
    low, high = plots.first.evaluate("(one) => one._fullLayout.yaxis.range")
    assert low > 19 > 0 > high
    plots.first.evaluate("(one) => Plotly.Fx.hover(one, { xval: 3, yval: 2 })")
    assert eventually(lambda: "column 3, row 2" in plots.first.locator(".hoverlayer").text_content())


def test_folded_answers_are_opened(browser, tmp_path):
    asked = {f"table{place}": "supervised" for place in range(9)} | {"given": "alternative"}
    html = page(tmp_path, asked, points=2, folds=2, datasets=["wine"], solvers=["ism", "dg"])
    (tmp_path / "dashboard.html").write_text(html, encoding="utf-8")
    tab = Tab(browser, f"file://{tmp_path}/dashboard.html", DESK)
    answer = tab.tab.locator("#answer-table3")
    assert answer.locator(".prose").is_hidden()
    answer.locator("summary").first.click()
    assert "reaches the best known cost" in answer.locator(".prose").inner_text()
    assert eventually(tab.show("answer-table6").locator("#answer-table6 .prose").is_visible)
    folded = tab.tab.locator("details.answer:not([open])")
    assert folded.count() > 3
    assert not tab.faults
    tab.tab.close()


# Where each row's first cell is, headings too, and the third one of the first row.
FIRST = """(frame) => [...frame.querySelectorAll("tr")].filter((row) => row.checkVisibility())
    .map((row) => row.cells[0].getBoundingClientRect().left)"""
THIRD = "(frame) => frame.querySelector('tbody tr').cells[2].getBoundingClientRect().left"


@pytest.mark.parametrize("size", [DESK, TABLET, PHONE], ids=["desk", "tablet", "phone"])
def test_wide_tables_keep_their_first_column_and_say_so_once(browser, address, size):
    tab, wide = Tab(browser, address, size), 0
    for chapter in ("overview", "tables", "figures", "published", "claims", "runs", "quality"):
        shown = tab.show(chapter)
        assert eventually(lambda shown=shown, chapter=chapter: shown.locator(f"#{chapter} h1").first.is_visible())
        # Plots take their width a moment after the window does.
        assert eventually(lambda shown=shown: shown.evaluate("document.body.scrollWidth <= innerWidth")), chapter
        assert shown.evaluate(OVERFLOWING) == [], chapter
        frames = shown.locator(f"#{chapter} .scrolled.wider:visible")
        hints = shown.locator(f"#{chapter} .hint:visible")
        assert eventually(lambda hints=hints, frames=frames: hints.count() == frames.count()), chapter
        for frame in frames.all():
            wide += 1
            before, third = frame.evaluate(FIRST), frame.evaluate(THIRD)
            frame.evaluate("(one) => (one.scrollLeft = 60)")
            moved = frame.evaluate("(one) => one.scrollLeft")
            assert moved > 0
            assert frame.evaluate(FIRST) == pytest.approx(before, abs=0.5), (chapter, frame.inner_text()[:80])
            assert frame.evaluate(THIRD) == pytest.approx(third - moved, abs=0.5)
            frame.evaluate("(one) => (one.scrollLeft = 0)")
    assert bool(wide) == (size != DESK), "on a desk every table fits"
    assert not tab.faults
    tab.tab.close()


def test_a_narrow_window_scrolls_tables_and_not_their_page(browser, tmp_path):
    rows = [
        row | {"experiment": "table4_supervised_with_a_long_name"}
        for method in ("ism", "ism_converged", "stiefel_cayley", "grassmann_trust_region")
        for row in cells("four", method, cost=lambda data, kernel, fold, m=method: -123456.78 * (len(m) + fold))
    ]
    html = render_html(paired_table(paired_tests(records(*rows).runs)))
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    shown = Tab(browser, f"file://{tmp_path}/page.html", {"width": 800, "height": 700}, ready="table")
    assert shown.tab.evaluate("document.documentElement.scrollWidth") <= 800
    # The last column can be reached by the keyboard.
    assert shown.tab.locator(".wide[tabindex='0']").count() == shown.tab.locator(".wide").count() > 0
    assert not shown.faults
    shown.tab.close()
