"""The dashboard in a real browser: what a reader sees, clicks, types, prints, and carries on a phone."""

import pytest

from support.browser_tab import DESK, NEEDS_BROWSER, PHONE, TABLET, Tab, eventually
from support.dashboard_grid import page

pytestmark = NEEDS_BROWSER
VISIBLE = "[...document.querySelectorAll('{}')].filter((one) => one.checkVisibility()).length"
UNFILLED = """[...document.querySelectorAll('figure .main-svg:first-child')].filter((svg) =>
  Math.abs(svg.getBoundingClientRect().width - svg.closest('.plot').clientWidth) > 1).length"""


@pytest.fixture(scope="module")
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


def column(table, number):
    return table.locator(f"tbody tr > :nth-child({number})").all_inner_texts()


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
    first = tab.locator("#table-first")
    first.get_by_role("button", name="Filter by Metric").click()
    tab.locator(".dtcc-list").get_by_role("button", name="Accuracy").click()
    assert eventually(lambda: set(column(first.locator("table"), 2)) == {"Accuracy"})
    tab.locator(".dtcc-list").get_by_role("button", name="Accuracy").click()
    tab.keyboard.press("Escape")
    assert eventually(lambda: len(column(first.locator("table"), 2)) == 10)


def test_published_numbers_stand_below_ours_with_their_verdict(opened):
    tab = opened("tables")
    cell = tab.locator("#table-first tbody tr", has_text="Cost").first.locator("td").nth(1)
    assert cell.locator(".paper").inner_text().strip() == "-1311\u00b126"
    # Three folds are not the ten of the paper.
    assert cell.get_by_role("img").get_attribute("aria-label") == "not comparable"


def test_a_panel_that_is_drawn_after_a_click_on_the_legend_obeys_it(opened):
    tab = opened("tables")
    button = tab.locator("#figure-sizes .legend button", has_text="c")
    button.evaluate("(one) => one.click()")
    tab = opened("figure-sizes")
    last = tab.locator("#figure-sizes .plot").last
    last.scroll_into_view_if_needed()
    last.locator(".main-svg").first.wait_for()
    assert visible_keys(last) == ["d"]
    button.click()
    assert visible_keys(last) == ["c", "d"]


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


def test_figures_zoom_and_speak_under_the_pointer_and_by_keys(opened):
    tab = opened("figure-first_cost_against_time")
    plot = tab.locator("#figure-first_cost_against_time .plot").first
    plot.locator(".main-svg").first.wait_for()
    whole = plot.evaluate("(one) => one.layout.xaxis.range")
    box = plot.locator(".nsewdrag").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 80, y + 60, steps=4)
    tab.mouse.up()
    zoomed = plot.evaluate("(one) => one.layout.xaxis.range")
    assert zoomed[1] - zoomed[0] < (whole[1] - whole[0]) / 2
    plot.focus()
    tab.keyboard.press("0")
    assert plot.evaluate("(one) => one.layout.xaxis.range") == pytest.approx(whole)
    tab.keyboard.press("+")
    tab.keyboard.press("ArrowRight")
    low, high = plot.evaluate("(one) => one.layout.xaxis.range")
    width = whole[1] - whole[0]
    assert (high - low, (high + low) / 2) == pytest.approx((0.8 * width, sum(whole) / 2 + 0.08 * width))
    plot.evaluate("(one) => Plotly.Fx.hover(one, [{ curveNumber: 0, pointNumber: 3 }])")
    assert eventually(lambda: "run 0" in plot.locator(".hoverlayer").text_content())


def test_a_run_opens_by_click_and_by_key(opened):
    tab = opened("runs")
    dialog = tab.locator("dialog#run")
    tab.locator("#table-runs tbody tr", has_text="failed").first.locator("td").nth(2).click()
    assert dialog.is_visible()
    assert dialog.locator("h2").inner_text() == "SM on Wine, Gaussian kernel, run 1"
    said = dialog.inner_text()
    # What the record says is shown as it is, not as markup.
    assert "<b>division</b> by zero" in said
    assert {"Provenance", "git commit", "c" * 40} <= set(map(str.strip, said.splitlines()))
    assert dialog.locator(".plot .main-svg").count() >= 2
    tab.keyboard.press("Escape")
    assert not dialog.is_visible()
    button = tab.get_by_role("button", name="Details of ISM on Wine, Gaussian kernel, run 2")
    button.focus()
    tab.keyboard.press("Enter")
    assert dialog.locator("h2").inner_text() == "ISM on Wine, Gaussian kernel, run 2"
    dialog.get_by_role("button", name="Close").press("Enter")
    assert not dialog.is_visible()
    assert button.evaluate("(one) => one === document.activeElement")


def test_the_quality_page_leads_to_its_runs(opened):
    tab = opened("quality")
    found = dict(zip(column(tab.locator("#quality .bars"), 1), column(tab.locator("#quality .bars"), 2), strict=True))
    assert (found["Failed"], found["Missing"], found["Drifted timing"]) == ("4", "none", "none")
    assert found["Worse than random"] == "not recorded"
    tab.locator("#table-quality tr", has_text="Stopped at a limit").first.get_by_role("button").click()
    assert "stopped at the time limit of 2 s" in tab.locator("dialog#run").inner_text()
    tab.keyboard.press("Escape")


def test_the_keyboard_reaches_and_shows_all_controls(opened):
    tab = opened("runs")
    tab.locator("header nav a").last.focus()
    reached = []
    for _ in range(12):
        tab.keyboard.press("Tab")
        reached.append(
            tab.evaluate("""() => {
            const one = document.activeElement, style = getComputedStyle(one);
            return [one.tagName + " " + (one.getAttribute("role") || ""), style.outlineStyle, one.textContent];
        }""")
        )
    assert all(outline != "none" for _, outline, _ in reached)
    assert [reached[0][2], reached[1][0]] == ["Colours: system", "INPUT "]
    sorting = tab.locator("#table-runs th", has_text="Iterations").get_by_role("button").first
    for key, order in (("Enter", "ascending"), ("Space", "descending")):
        sorting.focus()
        tab.keyboard.press(key)
        heading = tab.locator("#table-runs th", has_text="Iterations")
        assert eventually(lambda heading=heading, order=order: heading.get_attribute("aria-sort") == order)


@pytest.mark.parametrize("chapter", ["overview", "tables", "figures", "published", "claims", "runs", "quality"])
def test_a_phone_scrolls_down_only(phone_tab, chapter):
    tab = phone_tab.show(chapter)
    assert eventually(lambda: tab.locator("main h1:visible").all_inner_texts() == [chapter.capitalize()])
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    if chapter == "figures":
        # Panels stand below each other.
        assert (
            len(
                set(
                    tab.locator(".panels:not(.pictures) .panel").evaluate_all(
                        "(all) => all.map((one) => one.offsetLeft)"
                    )
                )
            )
            == 1
        )
    if chapter == "runs":
        tab.get_by_role("button", name="Details of").first.click()
        box = tab.locator("dialog#run").bounding_box()
        tab.keyboard.press("Escape")
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
    assert not phone_tab.faults


def test_at_no_size_a_chapter_is_wider_than_its_window_or_moves_its_first_column(browser, address):
    tab = Tab(browser, address, DESK)
    tab.tab.emulate_media(color_scheme="dark")
    for size in (DESK, TABLET, PHONE):
        tab.tab.set_viewport_size(size)
        for chapter in ("overview", "tables", "figures", "published", "claims", "runs", "quality"):
            shown = tab.show(chapter)
            assert eventually(
                lambda shown=shown, chapter=chapter: (
                    shown.locator("main h1:visible").all_inner_texts() == [chapter.capitalize()]
                )
            )
            # Plots take their new width a moment after the window does.
            narrow = eventually(lambda shown=shown: shown.evaluate("document.body.scrollWidth <= innerWidth"))
            assert narrow, (chapter, size)
    frame = tab.show("runs").locator(".scrolled:has(#table-runs)")
    left = "(one) => one.querySelector('tbody td').getBoundingClientRect().left"
    before = frame.evaluate(left)
    frame.evaluate("(one) => (one.scrollLeft = 200)")
    assert frame.evaluate("(one) => one.scrollLeft") == 200
    assert frame.evaluate(left) == before
    assert not tab.faults
    tab.tab.close()


def test_what_is_wider_than_the_page_says_so_once(phone_tab):
    tab = phone_tab.show("overview")
    assert eventually(lambda: tab.locator("#overview .leading .hint:visible").count() == 1)


def test_paper_shows_answers_tables_and_figures_and_no_lists_or_controls(opened):
    tab = opened("overview")
    shown = tab.locator("#overview .bars, #overview .leading .matrix, #tables table, #claims table").count()
    tab.emulate_media(media="print")
    plots = tab.locator("figure .plot")
    assert eventually(lambda: all(plot.locator(".main-svg").count() for plot in plots.all()))
    assert tab.evaluate(VISIBLE.format("main table")) == shown > 5
    assert tab.evaluate(VISIBLE.format("#runs, #published, #quality, .take, .choices")) == 0
    assert tab.evaluate(VISIBLE.format("header, input, button.details, .dtcc, .modebar-container, .all, .none")) == 0
    tab.emulate_media(media="screen")
    assert eventually(lambda: tab.locator("#tables").is_hidden())
    assert tab.locator("main h1:visible").all_inner_texts() == ["Overview"]
    # What was drawn for paper fills its place again.
    figures = opened("figures")
    assert figures.locator("figure .plot").count() > 3
    assert eventually(lambda: figures.evaluate(UNFILLED) == 0)


def test_the_toggles_change_figures_and_stay_in_the_address(opened):
    tab = opened("figure-first_cost_against_time")
    plot = tab.locator("#figure-first_cost_against_time .plot").first
    plot.locator(".main-svg").first.wait_for()
    lines = plot.evaluate("(one) => one.data.length")
    relative = plot.evaluate("(one) => Math.max(...one.data[0].y)")
    for choice, value in (("cost", "absolute"), ("scale", "linear"), ("runs", "median")):
        tab.locator(f"[data-choice={choice}] button[value={value}]").click()
        assert f"{choice}={value}" in tab.url
    assert plot.evaluate("(one) => one.layout.yaxis.type") == "linear"
    assert "absolute" in plot.evaluate("(one) => one.layout.yaxis.title.text")
    assert plot.evaluate("(one) => Math.max(...one.data[0].y)") > 100 * relative
    assert 0 < plot.evaluate("(one) => one.data.length") < lines
    # A link elsewhere keeps them, and the page opens with them.
    tab.locator("header nav a", has_text="Runs").click()
    assert eventually(lambda: "cost=absolute" in tab.url)
    for choice, value in (("cost", "relative"), ("scale", "log"), ("runs", "all")):
        tab.evaluate(
            "([c, v]) => document.querySelector(`[data-choice=${c}] button[value=${v}]`).click()", [choice, value]
        )
    assert "absolute" not in tab.url
    assert plot.evaluate("(one) => one.data.length") == lines


def test_colours_are_those_of_the_system_or_as_chosen(browser, address):
    tab = browser.new_page(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]")
    assert tab.evaluate(ground) == "rgb(19, 20, 22)"
    button = tab.locator("#theme")
    button.click()
    button.click()
    assert button.inner_text() == "Colours: light"
    assert "theme=light" in tab.url
    assert tab.evaluate(ground) == "rgb(255, 255, 255)"
    tab.goto(f"{address}#overview?theme=dark")
    tab.reload()
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


def test_a_number_says_what_it_is_to_pointer_and_keyboard_and_leads_to_its_runs(opened):
    tab = opened("tables")
    cell = tab.locator("#table-first tbody tr", has_text="Accuracy").first.locator("td.number").first
    cell.hover()
    tip = tab.locator("#tip")
    assert eventually(tip.is_visible)
    assert tip.inner_text().startswith("Accuracy: share of the test samples that an SVM labels rightly; over 3 of 3")
    cell.focus()
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.dataset.method") == "DG"
    assert (
        tab.evaluate("[...document.querySelectorAll('#table-first td')].filter((td) => td.tabIndex === 0).length") == 1
    )
    tab.keyboard.press("Enter")
    dialog = tab.locator("dialog#cell")
    assert dialog.locator("h2").inner_text() == "DG, Wine, Gaussian"
    assert "snakemake --cores all first" in dialog.inner_text()
    dialog.locator("#cell-runs").click()
    assert eventually(lambda: tab.locator("#table-runs").is_visible())
    lines = tab.locator("#table-runs tbody tr")
    assert eventually(lambda: lines.count() == 3)
    assert {row.split("\t")[4].strip() for row in lines.all_inner_texts()} == {"DG"}
    tab.evaluate("location.hash = 'runs?q=failed&sort=5-desc'")
    assert eventually(lambda: lines.count() == 4)
    tab.evaluate("location.hash = 'runs'")


def saved(tab, act):
    with tab.expect_download() as found:
        act()
    return found.value.suggested_filename, found.value.path().read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"),
        ("=1+1", "'=1+1"),
        ("@sum", "'@sum"),
        ("'quoted", "''quoted"),
        ("-1.5e-3", "-1.5e-3"),
        ("-1.5 \u00b1 0.2 %", "-1.5 \u00b1 0.2 %"),
        ("+", "+"),
        ('a "word", and more', '"a ""word"", and more"'),
    ],
)
def test_cells_that_are_taken_away_are_no_formulas(opened, text, cell):
    assert opened("tables").evaluate("text => csvCell(text)", text) == cell


def test_tables_figures_and_records_can_be_taken_away(opened):
    tab = opened("tables")
    extra = tab.locator("#table-extra")
    extra.get_by_label("Filter:").fill("")
    extra.get_by_role("button", name="Name").first.click()
    assert eventually(lambda: column(extra.locator("table"), 1) == ["alpha", "beta", "gamma"])
    forms = {
        form: saved(tab, extra.get_by_role("button", name=f"An extra table as {form}").click)
        for form in ("CSV", "LaTeX", "Markdown")
    }
    assert {form: name for form, (name, _) in forms.items()} == {
        "CSV": "an-extra-table.csv",
        "LaTeX": "an-extra-table.tex",
        "Markdown": "an-extra-table.md",
    }
    assert "Name,Time\nalpha,10ms\n" in forms["CSV"][1]
    assert "alpha & 10ms \\\\" in forms["LaTeX"][1]
    assert "| alpha | 10ms |" in forms["Markdown"][1]
    tab = opened("figure-sizes")
    sizes = tab.locator("#figure-sizes")
    name, picture = saved(tab, sizes.get_by_role("button", name="Sizes as Data").click)
    assert (name, picture.splitlines()[0]) == ("sizes.csv", "panel,series,x,y,absolute")
    tab = opened("overview")
    name, records = saved(tab, tab.locator("[data-file=records]").click)
    assert name == "records.csv"
    assert "<b>division</b> by zero" in records
    assert '"solvers"' in saved(tab, tab.locator("[data-file=config]").click)[1]
    assert '"git_commit"' in saved(tab, tab.locator("[data-file=environment]").click)[1]


def test_a_figure_is_saved_as_svg(opened):
    tab = opened("figure-first_cost_against_time")
    figure = tab.locator("#figure-first_cost_against_time")
    name, picture = saved(tab, figure.get_by_role("button", name="as SVG").click)
    assert name.startswith("first_cost_against_time-")
    assert picture.startswith("<svg")


def test_the_profile_and_the_matrix_are_on_the_first_screen(opened):
    tab = opened("overview")
    matrix = tab.locator(".leading .matrix")
    assert matrix.bounding_box()["y"] < DESK["height"]
    assert tab.locator(".leading h3").first.bounding_box()["y"] < DESK["height"] / 3
    matrix.locator("td").nth(1).focus()
    assert "of the best known cost in" in tab.locator("#tip").inner_text()


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, PHONE])
def test_why_a_number_differs_can_be_read_at_any_width(browser, address, size):
    tab = Tab(browser, address, size)
    shown = tab.show("published")
    why = shown.locator("table.published td[data-label=Why]:not(:empty)").first
    box = why.bounding_box()
    assert box["width"] > 200
    assert box["x"] + box["width"] <= size["width"]
    shown.close()


def test_without_scripts_the_tables_are_there(browser, address):
    tab = browser.new_page(java_script_enabled=False)
    tab.goto(address)
    assert tab.locator("#table-extra td", has_text="10ms").is_visible()
    assert "Without JavaScript" in tab.locator("noscript").inner_text()
    tab.close()
