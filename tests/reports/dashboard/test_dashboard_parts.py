"""Parts of the dashboard's page: shares in words, the list of figures, panels without runs."""

import pytest

from kdrbench.suite.reports.dashboard.overview import percent_label
from kdrbench.suite.reports.figures.chart import NOTHING, Axis, Chart, Panel, Scale, Series
from kdrbench.suite.reports.figures.draw_matplotlib import draw
from kdrbench.suite.reports.figures.draw_plotly import plotly_panels


@pytest.mark.parametrize(
    ("percent", "words"),
    [(0, "0 %"), (0.157, "< 1 %"), (1, "1 %"), (33.3, "33 %"), (99.0, "99 %"), (99.8, "> 99 %"), (100, "100 %")],
)
def test_a_share_of_something_is_never_nothing(percent, words):
    assert percent_label(percent) == words


def test_a_panel_without_points_says_so():
    axes = Axis("time", Scale.LOG, "s"), Axis("cost", Scale.LOG)
    full, empty = Panel("full", *axes, [Series("a", [1.0], [1.0])]), Panel("empty", *axes, [Series("a", [], [])])
    chart = Chart("c", "C", "C.", [full, empty], 2)
    assert [[text.get_text() for text in axes.texts] for axes in draw(chart).axes] == [[], [NOTHING]]
    shown, said = plotly_panels(chart)
    assert "annotations" not in shown["layout"]
    assert [one["text"] for one in said["layout"]["annotations"]] == [NOTHING]
    assert said["layout"]["xaxis"] == {"visible": False}
