"""How methods style: one way each, in every figure, whatever else is drawn there."""

import pytest

from kdrbench.suite.reports.figures.chart import COLOURS, Line, Mark, Series, Symbol
from kdrbench.suite.reports.figures.styles import Style, kernel_colours, styles_of
from kdrbench.suite.systems.ikdr.cost_against_time import chart_of, profile_chart
from kdrbench.suite.systems.ikdr.size_series import SizeSeries, scaling_chart
from support.report_rows import experiment_of, figure_source, traced_runs

PUBLISHED = [
    *("ism", "dg", "sm", "gm", "cg", "ism_2018", "ism_10", "lbfgs", "scipy"),
    *("ism_published", "ism_published_1_d", "ism_random", "dg_greedy", "dg_10", "sm_10", "gm_10"),
    *("random", "first_axes", "principal_axes", "discriminant_axes", "shuffled_labels"),
    *("ism_authors", "ism_authors_1", "dg_authors", "sm_authors", "sm_authors_1"),
    *(f"gm_authors_{steps}" for steps in (1, 4, 20, 50)),
]
LOW_RANK = [
    *("burg", "von_neumann", "von_neumann_trace"),
    *("definite_boost", "definite_boost_exact", "definite_boost_own_range"),
]


def both(names):
    return [variant for name in names for variant in (name, f"{name}_converged")]


@pytest.mark.parametrize("names", [PUBLISHED, LOW_RANK], ids=["solvers", "low_rank"])
def test_no_two_methods_look_alike_with_or_without_marks(names):
    styles = styles_of(both(names))
    lines = {(style.colour, style.line) for style in styles.values()}
    marks = {(style.colour, style.symbol) for style in styles.values()}
    assert len(lines) == len(marks) == len(styles) == 2 * len(names)
    assert all(style.symbol not in {Symbol.NONE, Symbol.CROSS} for style in styles.values())


def test_methods_of_a_reference_have_colour_and_symbol_of_their_method_and_thin_lines():
    names = both(PUBLISHED)
    styles = styles_of([*names, *(f"{name}_reference" for name in names)])
    for name in names:
        own, reference = styles[name], styles[f"{name}_reference"]
        assert (reference.colour, reference.symbol) == (own.colour, own.symbol)
        assert [Series("a", [1.0], [1.0], line=one.line).is_thin for one in (own, reference)] == [False, True]
    assert styles["ism_reference"].line != styles["ism_converged_reference"].line


def test_a_method_looks_the_same_whatever_stands_beside_it():
    alone = {name: styles_of([name])[name] for name in both(PUBLISHED)}
    assert styles_of(reversed(both(PUBLISHED))) == alone
    assert alone["ism"] == Style(0, Line.SOLID, Symbol.DOT)
    assert alone["ism_converged"] == Style(0, Line.DASHED, Symbol.SQUARE)


def test_own_solvers_take_what_is_left_and_change_no_other():
    own = [f"mine_{number}" for number in range(12)]
    styles = styles_of([*PUBLISHED, *own])
    assert len({(style.colour, style.line) for style in styles.values()}) == len(PUBLISHED) + 12 == 6 * len(COLOURS)
    for count in range(13):
        assert styles_of([*own[:count], *PUBLISHED]).items() <= styles.items()
    # A converged variant has its method's colour, even where the method itself is not defined.
    assert styles_of(["mine_0_converged"])["mine_0_converged"].colour == styles["mine_0"].colour
    assert styles_of([*own, "mine_12"])["mine_12"] == styles["mine_0"]
    assert kernel_colours(["gaussian", "mine"])["mine"] not in kernel_colours(["gaussian"]).values()


def test_all_figures_draw_a_solver_alike(tmp_path):
    titles = {"mine": "mine", "GM": "gm", "ISM, converged": "ism_converged", "ISM": "ism"}
    solvers, defined = list(titles.values()), {name: {} for name in ("ism", "gm", "other", "mine")}
    styles = styles_of([*defined, *solvers])
    runs = traced_runs(tmp_path, {name: [[(0.5, -1.0)]] for name in solvers}, point={"calls": 2, "stationarity": 0.1})
    points = ((1.0, 1.0), (2.0, 2.0), (4.0, 4.0))
    sizes = [SizeSeries("n_train", "linear", "pairs", (), name, points, (), points, 0) for name in solvers]
    charts = [
        chart_of(figure_source(runs, tmp_path, "e", experiment_of(*solvers), defined=defined)),
        profile_chart(figure_source(runs, tmp_path, defined=defined)),
        scaling_chart(sizes, defined),
    ]
    for where, panel in [(chart.name, panel) for chart in charts for panel in chart.panels]:
        found = {}
        for series in panel.series:
            name = titles[series.key.split(" (")[0]]
            assert series.colour == styles[name].colour, (where, series.key)
            if series.mark is not Mark.POINTS and not series.faint:
                found[name] = series.line
            elif series.mark is Mark.POINTS:
                assert series.symbol is styles[name].symbol
        assert found == {name: styles[name].line for name in solvers}, where
