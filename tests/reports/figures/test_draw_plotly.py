"""Charts for the screen: the same numbers, colours and scales as on paper; colours for all readers."""

import math

from kdrbench.suite.reports.figures.chart import COLOURS, Axis, Chart, Line, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.figures.draw_plotly import legend_of, plotly_panels
from support.dashboard_grid import bar_chart


def chart(*series, x=None, y=None):
    panel = Panel("P", x or Axis("time", Scale.LOG, "s"), y or Axis("cost", Scale.LOG), list(series))
    return Chart("c", "C", "A caption.", [panel])


def test_many_points_of_a_run_are_thinned_and_keep_both_ends():
    rising = [float(place) for place in range(1, 501)]
    run = Series("run 0", rising, rising[::-1], Mark.STEPS, faint=True, words=["w"] * 500)
    (panel,) = plotly_panels(chart(run))
    (trace,) = panel["data"]
    assert 10 < len(trace["x"]) == len(trace["y"]) == len(trace["text"]) < 60
    assert ([trace["x"][0], trace["x"][-1]], [trace["y"][0], trace["y"][-1]]) == ([1, 500], [500, 1])
    assert run.thinned(500) is run


def test_lines_steps_points_and_what_is_not_a_number():
    line = Series("a", [1.0, 2.0], [3.0, math.nan], line=Line.DASHED)
    steps = Series("b", [1.0, 2.0], [1.0, 1.23456789], Mark.STEPS, faint=True, colour=1, group="g")
    points = Series("d", [1.0], [1.0], Mark.POINTS, Symbol.CROSS, colour=2, words=["a < %{b}"])
    (panel,) = plotly_panels(chart(line, steps, points))
    first, second, third = panel["data"]
    assert (first["y"], first["mode"], first["line"]["dash"]) == ([3.0, None], "lines", "dash")
    assert (second["line"]["shape"], second["legendgroup"], second["y"]) == ("hv", "g", [1, 1.23])
    assert second["line"]["width"] < first["line"]["width"]
    assert (third["mode"], third["marker"]["symbol"], third["text"]) == ("markers", "x-thin", ["a &lt; % {b}"])
    assert [trace["line"]["color"] for trace in panel["data"]] == list(COLOURS[:3])


def test_named_rows_are_labelled_and_not_read_as_numbers():
    rows = Axis("", ticks={"a < b": 0.0, "c": -1.0})
    (panel,) = plotly_panels(chart(Series("a", [1.0], [0.0], Mark.POINTS, words=["rank 1"]), x=Axis("rank"), y=rows))
    axis = panel["layout"]["yaxis"]
    assert (axis["tickvals"], axis["ticktext"]) == ([0.0, -1.0], ["a &lt; b", "c"])
    assert "%{y" not in panel["data"][0]["hovertemplate"]
    assert "%{x" in panel["data"][0]["hovertemplate"]


def test_bands_are_filled_and_switched_with_their_line():
    (panel,) = plotly_panels(chart(Series("a", [1.0, 2.0], [2.0, 2.0], lower=[1.0, 1.0], upper=[3.0, 4.0])))
    lower, upper, line = panel["data"]
    assert (lower["y"], upper["y"], line["y"]) == ([1.0, 1.0], [3.0, 4.0], [2.0, 2.0])
    assert (upper["fill"], upper["fillcolor"]) == ("tonexty", "rgba(0,114,178,0.18)")
    assert {trace["legendgroup"] for trace in panel["data"]} == {"a"}


def test_bars_have_their_spread_as_distances():
    bars = Series("a", ["x", "y"], [1.0, 2.0], Mark.BARS, lower=[0.5, 1.0], upper=[1.25, 4.0])
    (panel,) = plotly_panels(chart(bars, x=Axis("data", Scale.NAMES), y=Axis("size", unit="MiB")))
    (trace,) = panel["data"]
    assert (trace["error_y"]["array"], trace["error_y"]["arrayminus"]) == ([0.25, 2.0], [0.5, 1.0])
    assert panel["layout"]["xaxis"]["type"] == "category"
    assert panel["layout"]["yaxis"]["title"]["text"] == "size [MiB]"


def test_axes_have_the_charts_scales():
    (panel,) = plotly_panels(chart(Series("a", [2.0, 64.0], [0.5, 1.0]), x=Axis("n", Scale.LOG2)))
    assert panel["layout"]["xaxis"]["type"] == panel["layout"]["yaxis"]["type"] == "log"
    assert panel["layout"]["xaxis"]["tickvals"] == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    (wide,) = plotly_panels(chart(Series("a", [1.0, 2.0**40], [1.0, 1.0]), x=Axis("n", Scale.LOG2)))
    assert len(wide["layout"]["xaxis"]["tickvals"]) <= 9
    (none,) = plotly_panels(chart(Series("a", [], []), x=Axis("n", Scale.LOG2)))
    assert "tickvals" not in none["layout"]["xaxis"]
    # Times over few decades are labelled with their unit: ten milliseconds, not 0.01s.
    for last, ticks in ((0.005, None), (0.05, "D2"), (0.9, "D2"), (90.0, None)):
        (panel,) = plotly_panels(chart(Series("a", [0.001, last], [1.0, 1.0])))
        axis = panel["layout"]["xaxis"]
        assert (axis.get("dtick"), axis["exponentformat"], axis["minexponent"]) == (ticks, "SI", 1)
        assert axis["ticksuffix"] == "s"


def test_the_legend_shows_each_key_as_its_first_clear_series():
    faint = Series("fold 0", [1.0], [1.0], faint=True, group="a")
    clear = Series("median", [1.0], [1.0], line=Line.DASHED, group="a")
    entries = legend_of(chart(faint, clear, Series("b", [1.0], [1.0], colour=1)))
    assert [(entry.key, entry.line) for entry in entries] == [("a", Line.DASHED), ("b", Line.SOLID)]
    assert [entry.mark for entry in legend_of(bar_chart())] == [Mark.BARS, Mark.BARS, Mark.LINE, Mark.POINTS]
