"""Charts: the same numbers on paper, on the screen and in the file beside them."""

import itertools
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex

from kdrbench.errors import InputError
from kdrbench.reports.figures.chart import COLOURS, Axis, Chart, Mark, Panel, Scale, Series, Symbol, from_png, to_png
from kdrbench.reports.figures.draw_matplotlib import draw, laid_out, render, write_chart


def chart():
    time = Axis("time", Scale.LOG, "s")
    folds = Series("ISM", [1e-3, 1e-2], [2.0, 1.0], Mark.STEPS, Symbol.CROSS, faint=True)
    median = Series("ISM", [1e-3, 1e-2], [2.0, math.nan], Mark.STEPS, lower=[1.0, 1.0], upper=[3.0, 3.0])
    rival = Series("DG", [1e-3, 1e-1], [4.0, 5.0], Mark.POINTS, colour=1, words=["first", "second"])
    bars = [Series(name, ["wine", "face"], [1.0, 2.0], Mark.BARS, colour=place) for place, name in enumerate("ab")]
    return Chart(
        "cost",
        "Cost against time",
        "Median over folds.",
        [
            Panel("Wine", time, Axis("cost", Scale.LOG), [folds, median, rival]),
            Panel("Bars", Axis("set", Scale.NAMES), Axis("size", unit="MiB"), bars),
            Panel("Sizes", Axis("n", Scale.LOG2), Axis("time", Scale.LOG2, "s"), [rival]),
        ],
        columns=2,
    )


def test_a_chart_survives_its_file_with_what_is_not_a_number(tmp_path):
    write_chart(chart(), tmp_path / "cost")
    text = (tmp_path / "cost.json").read_text()
    again = Chart.from_json(text)
    assert "NaN" not in text
    assert json.loads(text)["panels"][0]["series"][1]["y"] == [2.0, None]
    assert math.isnan(again.panels[0].series[1].y[1])
    assert again.to_json() == chart().to_json()
    assert again.panels[1].series == chart().panels[1].series


def test_pictures_have_the_same_bytes_on_every_run(tmp_path):
    for name in ("one", "two"):
        write_chart(chart(), tmp_path / name)
    for kind in ("pdf", "png"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()
    drawings = [render(laid_out(draw(chart())), "svg") for _ in range(2)]
    assert drawings[0] == drawings[1]
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(("columns", "inches"), [(1, 3.5), (2, 7.0), (3, 7.0)])
def test_a_figure_is_as_wide_as_a_column_or_as_the_page(columns, inches):
    shown = replace(chart(), columns=columns)
    assert draw(shown).get_figwidth() == inches
    # Panels keep their shape, and what is above them adds to the height.
    rows = len(shown.rows)
    assert rows * 0.8 * inches / columns < draw(shown).get_figheight() < rows * 0.8 * inches / columns + 0.5


def test_titles_of_axes_and_panels_do_not_leave_the_figure():
    axes = Axis("leading coordinate, linear"), Axis("leading coordinate, degree 2")
    panels = [Panel("LMNN 80%, KLMNN 100%", *axes, [Series("one", [0.0, 1.0], [-2.5, 2.5])]) for _ in range(8)]
    figure = laid_out(draw(Chart("a", "A", "B", panels, columns=4)))
    figure.canvas.draw()
    width, height = figure.get_size_inches() * figure.dpi
    boxes = [text.get_window_extent() for one in figure.axes for text in (one.xaxis.label, one.yaxis.label, one.title)]
    assert len(boxes) == 24
    assert all(box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height for box in boxes)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_the_caption_is_beside_the_picture(tmp_path):
    write_chart(chart(), tmp_path / "cost")
    assert (tmp_path / "cost.txt").read_text() == "Cost against time. Median over folds.\n"


def test_the_drawing_shows_the_points_the_scales_and_each_name_once():
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


def test_a_pdf_has_one_font_whatever_its_words_and_numbers():
    pairs = Series("first effort", [-2.0, 1.0], [-1.0, 1e-3])
    shown = Chart("fit", "Difficult fits", "", [Panel("Fig", Axis("offset"), Axis("gain"), [pairs])])
    content = render(laid_out(draw(shown)), "pdf")
    assert len(set(re.findall(rb"/FontName /([\w+]+)", content))) == 1


def test_series_of_unequal_parts_are_refused():
    with pytest.raises(InputError, match=r"series 'ISM' has parts of \[1, 2\] points; they must be equally long"):
        Series("ISM", [1.0, 2.0], [1.0])


def test_a_chart_without_panels_says_why():
    (axes,) = draw(Chart("n", "T", "No run has left what this figure shows.", [])).axes
    assert axes.get_title() == "No run has left what this figure shows."


def test_named_rows_are_labelled_where_they_are_and_have_room():
    rows = {f"method {number}": -float(number) for number in range(25)}
    figure = draw(Chart("n", "T", "C", [Panel("P", Axis("rank"), Axis("", ticks=rows), [Series("a", [1.0], [0.0])])]))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(rows)
    assert list(axes.get_yticks()) == list(rows.values())
    laid_out(figure)
    boxes = sorted(label.get_window_extent().bounds[1::2] for label in axes.get_yticklabels())
    assert all(low + height < above for (low, height), (above, _) in itertools.pairwise(boxes))


def test_long_names_of_bars_are_slanted_and_short_ones_are_not():
    for names, rotation in ((["a", "b"], 0), (["alcohol", "malic acid", "alcalinity of ash", "magnesium"], 55)):
        bars = Series("one", names, [1.0] * len(names), Mark.BARS)
        (axes,) = draw(Chart("n", "T", "C", [Panel("P", Axis("", Scale.NAMES), Axis("y"), [bars])])).axes
        assert {label.get_rotation() for label in axes.get_xticklabels()} == {rotation}


@pytest.mark.parametrize("span", [(0.0217, 0.041), (0.0065, 0.0085), (0.005, 0.04), (0.001, 9.0)])
def test_labels_of_an_axis_of_time_do_not_run_into_each_other(span):
    line = Series("a", list(span), [1.0, 2.0])
    figure = draw(Chart("n", "T", "C", [Panel("P", Axis("time", Scale.LOG, "s"), Axis("y"), [line])]))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    shown = [label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high and label.get_text()]
    boxes = [label.get_window_extent() for label in shown]
    assert len(boxes) >= 2
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


@pytest.mark.parametrize(("highest", "marked"), [(1e3, True), (1e8, False)])
def test_marks_within_decades_are_drawn_where_there_is_room(highest, marked):
    series = Series("a", [1.0, 2.0], [1.0, highest])
    (axes,) = draw(Chart("n", "T", "C", [Panel("P", Axis("x"), Axis("y", Scale.LOG), [series])])).axes
    assert bool(len(axes.yaxis.get_minorticklocs())) is marked
    assert len(axes.yaxis.get_majorticklocs()) > 2


def test_the_legend_shows_a_line_where_a_later_panel_has_but_the_mark_of_a_stopped_run():
    size, time = Axis("n", Scale.LOG2), Axis("time", Scale.LOG2, "s")
    line = Series("GM", [1.0, 2.0], [1.0, 4.0])
    stopped = Series("GM", [4.0], [60.0], Mark.POINTS, Symbol.CROSS)
    rival = Series("ISM", [1.0, 2.0], [0.1, 0.2], colour=1)
    panels = [Panel("all", size, time, [line, stopped, rival]), Panel("large", size, time, [stopped, rival])]
    (legend,) = draw(Chart("scaling", "T.", "C.", panels)).legends
    shown = {text.get_text(): handle for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)}
    assert shown["GM"].get_linestyle() == "-"


@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3), (40, 30, 3)])
@pytest.mark.parametrize("n_colours", [1, 2, 256, 1200])
def test_pictures_are_kept_as_they_are_and_small_where_colours_are_few(shape, n_colours):
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, size=(n_colours, *shape[2:]), dtype=np.uint8)
    pixels = colours[rng.integers(n_colours, size=shape[:2])]
    text = to_png(pixels)
    assert (from_png(text) == pixels).all()
    assert from_png(text).shape == shape
    if shape == (40, 30, 3) and n_colours == 256:
        assert len(text) < 0.8 * 4 / 3 * pixels.size


def test_the_same_picture_gives_the_same_text_whatever_the_order_of_its_bytes():
    pixels = np.random.default_rng(0).integers(0, 4, size=(8, 6, 3), dtype=np.uint8)
    assert to_png(pixels) == to_png(np.asfortranarray(pixels))
