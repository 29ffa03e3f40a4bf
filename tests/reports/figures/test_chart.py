"""Charts: the same numbers on paper, on the screen and in the file beside them."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex

from kdrbench.errors import InputError
from kdrbench.suite.commands.reports import write_page
from kdrbench.suite.reports.figures.chart import (
    COLOURS,
    Axis,
    Chart,
    Mark,
    Panel,
    Scale,
    Series,
    Symbol,
    from_png,
    to_png,
)
from kdrbench.suite.reports.figures.draw_matplotlib import draw, render, write_chart
from kdrbench.suite.reports.tables.table import Table


def chart():
    time = Axis("time", Scale.LOG, "s")
    folds = Series("ISM", [1e-3, 1e-2], [2.0, 1.0], Mark.STEPS, Symbol.CROSS, faint=True)
    median = Series("ISM", [1e-3, 1e-2], [2.0, math.nan], Mark.STEPS, lower=[1.0, 1.0], upper=[3.0, 3.0])
    rival = Series("DG", [1e-3, 1e-1], [4.0, 5.0], Mark.POINTS, colour=1, words=["first", "second"])
    bars = [Series(name, ["wine", "face"], [1.0, 2.0], Mark.BARS, colour=place) for place, name in enumerate("ab")]
    panels = [
        Panel("Wine", time, Axis("cost", Scale.LOG), [folds, median, rival]),
        Panel("Bars", Axis("set", Scale.NAMES), Axis("size", unit="MiB"), bars),
        Panel("Sizes", Axis("n", Scale.LOG2), Axis("time", Scale.LOG2, "s"), [rival]),
    ]
    return Chart("cost", "Cost against time", "Median over folds.", panels, columns=2)


def of_one(series, x, y):
    return Chart("n", "T", "C", [Panel("P", x, y, [series])])


def test_a_chart_survives_its_file_with_what_is_not_a_number(tmp_path):
    text = chart().to_json()
    again = Chart.from_json(text)
    assert "NaN" not in text
    assert json.loads(text)["panels"][0]["series"][1]["y"] == [2.0, None]
    assert math.isnan(again.panels[0].series[1].y[1])
    assert again.to_json() == text
    assert again.panels[1].series == chart().panels[1].series
    write_chart(replace(chart(), panels=chart().panels[1:2]), tmp_path / "cost")
    assert (tmp_path / "cost.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow("a second process that draws")
def test_pictures_have_the_same_bytes_on_every_run():
    shown = replace(chart(), panels=chart().panels[:1])
    for kind in ("pdf", "png"):
        first, second = (render(draw(shown), kind) for _ in range(2))
        assert first == second
        assert b"CreationDate" not in first


def test_the_drawing_shows_points_scales_and_each_name_once(tmp_path):
    figure = draw(chart())
    first, second, third, empty = figure.axes
    assert [line.get_color() for line in first.lines] == [COLOURS[0], COLOURS[0], COLOURS[1]]
    assert list(first.lines[2].get_ydata()) == [4.0, 5.0]
    assert (first.get_xscale(), first.get_yscale()) == ("log", "log")
    assert len(first.collections) == 1  # the band
    assert [bar.get_height() for bar in second.patches] == [1.0, 2.0, 1.0, 2.0]
    assert to_hex(second.patches[2].get_facecolor()).upper() == COLOURS[1]
    assert second.get_ylabel() == "size [MiB]"
    assert third.get_xaxis().get_transform().base == 2
    assert not empty.axison
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ISM", "DG", "a", "b"]
    # A chart without panels says why, and is on no page.
    nothing = Chart("n", "T", "No run has left what this figure shows.", [])
    assert draw(nothing).axes[0].get_title() == nothing.caption
    write_chart(nothing, tmp_path / "figures" / "n")
    write_page((Table("t", "T", ["A"], []), []), tmp_path, "t", ("n",))
    assert nothing.caption not in (tmp_path / "t.html").read_text()


def test_series_of_unequal_parts_are_refused():
    with pytest.raises(InputError, match=r"series 'ISM' has parts of \[1, 2\] points; they must be equally long"):
        Series("ISM", [1.0, 2.0], [1.0])


def test_named_rows_are_labelled_where_they_are_and_have_room():
    rows = {f"method {number}": -float(number) for number in range(25)}
    figure = draw(of_one(Series("a", [1.0], [0.0]), Axis("rank"), Axis("size", unit="MiB", ticks=rows)))
    (axes,), (legend,) = figure.axes, figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a"]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(rows)
    assert list(axes.get_yticks()) == list(rows.values())


@pytest.mark.parametrize(
    ("shape", "n_colours"), [((9, 7), 1), ((9, 7, 3), 2), ((40, 30, 3), 256), ((40, 30, 3), 1200), ((9, 7), 256)]
)
def test_pictures_are_kept_exactly_and_small_with_few_colours(shape, n_colours):
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, size=(n_colours, *shape[2:]), dtype=np.uint8)
    pixels = colours[rng.integers(n_colours, size=shape[:2])]
    text = to_png(pixels)
    np.testing.assert_array_equal(from_png(text), pixels)
    if shape == (40, 30, 3) and n_colours == 256:
        assert len(text) < 0.8 * 4 / 3 * pixels.size
    assert to_png(np.asfortranarray(pixels)) == text


def test_labels_of_an_axis_of_time_do_not_run_into_each_other():
    for span in ((0.0217, 0.041), (0.0065, 0.0085), (0.005, 0.04), (0.001, 9.0)):
        figure = draw(of_one(Series("a", list(span), [1.0, 2.0]), Axis("time", Scale.LOG, "s"), Axis("y")))
        figure.draw_without_rendering()
        (axes,) = figure.axes
        low, high = axes.get_xlim()
        labels = [label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
        boxes = [label.get_window_extent() for label in labels if label.get_text()]
        assert len(boxes) >= 2
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
