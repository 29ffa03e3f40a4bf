"""The table and the figure of noise from made-up rows."""

import numpy as np
import pandas as pd
import pytest

from kdrbench.suite.reports.making import Source
from kdrbench.suite.reports.outputs import figures_of
from kdrbench.suite.systems.league.figures import STYLES
from kdrbench.suite.systems.noise import tables as figure
from kdrbench.suite.systems.noise.tables import called_real
from support.configs import whole_config


def source_of(runs):
    config = whole_config() | {"run": ["noise"]}
    (report,) = list(figures_of(config, "noise").values())
    return Source(report, runs, config, None)


def rows(**changed):
    """Twenty draws of LDA, two of which its test calls real, and of a method that is nowhere known."""
    draws = np.arange(20)
    common = {"experiment": "noise", "dataset": "noise", "run": draws, "status": "converged"}
    lda = {"method": "lda", "train_accuracy": 0.9 + 0.02 * (draws % 2), "test_accuracy": 0.5, "cpu_s": 0.25}
    lda |= {"p_value": (draws + 1) / 40, "rejected": (draws < 2).astype(float), "involuntary_switches": 7.0}
    mine = lda | {"method": "mine", "p_value": 1.0, "rejected": 0.0}
    return pd.concat([pd.DataFrame(common | lda | changed), pd.DataFrame(common | mine)], ignore_index=True)


def test_draws_without_a_number_are_not_counted(monkeypatch):
    monkeypatch.setattr(figure, "sections_of_runs", lambda _: [])
    few = rows(rejected=[1.0, *[np.nan] * 19], p_value=[0.05, *[np.nan] * 19])
    assert figure.page(source_of(few))[0].rows[0][6].text == "1 of 1 (2.5 to 100.0 %)"
    failed = rows(**dict.fromkeys(("train_accuracy", "test_accuracy", "p_value", "rejected", "cpu_s"), np.nan))
    assert [entry.text for entry in figure.page(source_of(failed))[0].rows[0][2:]] == ["20", *"-----"]
    assert called_real(failed[:20]) == "-"


def test_the_figure_shows_accuracies_and_p_values_by_method():
    accuracies, p_values = figure.chart_of(source_of(rows())).panels
    lda, mine = accuracies.series
    assert (lda.label, lda.x, lda.y) == ("LDA", [0.9, 0.92] * 10, [0.5] * 20)
    assert (lda.colour, lda.symbol) == STYLES["lda"]
    assert (mine.label, (mine.colour, mine.symbol) in STYLES.values()) == ("mine", False)
    expected, lda, mine = p_values.series
    assert (expected.x, expected.y) == ([0.0, 1.0], [0.0, 1.0])
    assert lda.x == pytest.approx([(number + 1) / 40 for number in range(20)])
    # Half of the draws have a p-value of at most a quarter.
    assert dict(zip(np.round(lda.x, 3), lda.y, strict=True))[0.25] == 0.5
    assert mine.y == [1.0] * 20
    assert lda.words[0] == "called real: 2 of 20 (1.2 to 31.7 %)"
    assert figure.chart_of(source_of(rows().assign(p_value=np.nan))) is None
