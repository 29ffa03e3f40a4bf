"""The page on experiments: printed numbers beside ours, and what moves them, of records that were made up."""

from dataclasses import replace

import pandas as pd
import pytest

from kdrbench.suite.experiments.results import read_frozen
from kdrbench.suite.findings.source import Source
from kdrbench.suite.findings.summary import Summary, summary
from kdrbench.suite.reports.tables.verdicts import Verdict
from support.record_folders import folder_of

PAPER = {"published": {"paper": "neurips2019", "table": "4", "setting": "supervised"}}


def source_of(place, **changed):
    folder = folder_of(place / "results", folds=10, changed=PAPER | {"components": {"wine": 4}} | changed)
    return Source(read_frozen(folder / "config.json"), folder, folder)


@pytest.fixture
def source(tmp_path):
    return source_of(tmp_path)


def texts(table):
    return [[entry.text for entry in row] for row in table.rows]


def test_rows_are_counted_by_ending_and_seconds_once_a_process(source):
    runs = source.runs("first").assign(status="converged", wall_s=60.0, trace_file="one", run=0)
    runs.loc[runs.index[:3], "status"] = ["time_limit", "memory_limit", "failed"]
    source._runs["first"] = runs
    assert texts(Summary(source).runs_by_ending()) == [
        ["first", str(len(runs)), str(len(runs) - 3), "2", "1", "1.0"],
    ]


def line_of(source, metric, **changed):
    """Return the line of a number of ISM on Wine, as if our runs followed the paper's protocol."""
    wanted = ("ism", metric, "gaussian")
    one = next(one for one in source.comparisons if (one.method, one.metric, one.kernel) == wanted)
    return replace(one, **{"verdict": Verdict.DIFFERS, "experiment": "first", **changed})


def test_cost_and_quality_of_a_printed_cell_are_one_row(source):
    cost, accuracy = line_of(source, "cost", ours="-7"), line_of(source, "accuracy", ours="90%")
    source.__dict__["comparisons"] = [
        cost,
        accuracy,
        line_of(source, "time_s"),
        replace(cost, method="dg"),
        replace(cost, first=False, kernel="polynomial"),
        replace(cost, verdict=Verdict.NOT_COMPARABLE, kernel="linear"),
        replace(accuracy, kernel="", method="lda"),
    ]
    assert texts(Summary(source).printed()) == [
        ["NeurIPS 2019, Table 4, supervised", "Wine", "Gaussian", "ISM", "-7", "-1311±26", "90%", "95.0%±5%"],
        ["NeurIPS 2019, Table 4, supervised", "Wine", "-", "LDA", "-", "-", "90%", "95.0%±5%"],
    ]


def test_runs_by_the_published_protocol_that_fit_are_shown(source):
    one = line_of(source, "cost")
    protocol = {"protocol": "1 (a); 2 (b); 3 (c)", "protocol_verdict": "differs; reproduced; reproduced"}
    source.__dict__["comparisons"] = [
        replace(one, verdict=Verdict.DIFFERS, published="7", **protocol),
        replace(one, verdict=Verdict.REPRODUCED, **protocol),
        replace(one, verdict=Verdict.DIFFERS, protocol="1 (a)", protocol_verdict="close"),
    ]
    ((*_, printed, ours, by_protocol),) = texts(Summary(source).protocols())
    assert (printed, ours, by_protocol) == ("7", one.ours, "2 (b); 3 (c)")


def test_the_spread_of_means_is_that_over_redrawn_partitions(tmp_path):
    source = source_of(tmp_path, partitions=5)
    runs = source.runs("first")
    ism = runs[(runs["method"] == "ism") & (runs["kernel"] == "gaussian")]
    drawn = [ism.assign(partition=number, cost=float(number)) for number in range(5)]
    source._runs["first"] = pd.concat(drawn, ignore_index=True)
    (row,) = [row for row in texts(Summary(source).spreads()) if row[3] == "cost"]
    # The standard deviation of 0, 1, 2, 3, 4.
    assert row == ["Wine", "Gaussian", "ISM", "cost", "5", "1.58"]


def test_clusterings_are_beside_the_given_and_the_sought_ones(tmp_path):
    source = source_of(tmp_path, paradigm="alternative")
    runs = source.runs("first")
    runs = runs[(runs["method"] == "ism") & (runs["kernel"] == "gaussian")]
    source._runs["first"] = runs.assign(nmi_given=0.25, quality=None)
    assert texts(Summary(source).alternatives()) == [["first", "Wine", "Gaussian", "ISM", "0.250", "-"]]


def test_sections_without_rows_are_left_out(source):
    titles = [line for line in summary("experiments", source).splitlines() if line.startswith("## ")]
    assert titles == ["## Runs"]
