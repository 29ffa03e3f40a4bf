import csv
import json

import pandas as pd
import pytest

from kdrbench.suite.reports.records import read_runs
from kdrbench.suite.reports.tables.verdicts import Verdict
from kdrbench.suite.systems.kpca_trick.cells import kpca_cells, kpca_published_wdl, win_draw_lose
from kdrbench.suite.systems.kpca_trick.tables import differences_of, kpca_tables
from support.report_rows import kpca_run, kpca_runs

ACCURACIES = {"plain": [0.90, 0.92], "cross_validated": [0.90, 0.92], "aligned": [0.94, 0.98], "centred": [0.97, 0.97]}


def rows_of(tmp_path, records):
    pd.DataFrame(records).to_csv(tmp_path / "kpca_trick.csv", index=False)
    return read_runs(tmp_path / "kpca_trick.csv")


def records(accuracies=ACCURACIES, learner="nca", dataset="iris"):
    return kpca_runs(accuracies, learner=learner, dataset=dataset)


def lines_of(table):
    return list(csv.DictReader(table.to_csv().splitlines()))


def test_what_is_better_beyond_chance_is_bold_and_counted(tmp_path):
    splits = 12
    accuracies = {"plain": [0.5] * splits, "cross_validated": [0.4] * splits}
    accuracies["aligned"] = [0.6 + 0.001 * split for split in range(splits)]
    rows = rows_of(tmp_path, records(accuracies))
    found = differences_of(rows, "nca")
    # Twelve equal signs: 2 / 2^12; two comparisons.
    assert found["iris", "aligned"].p == pytest.approx(2 / 2**12)
    assert found["iris", "aligned"].p_holm == pytest.approx(2 * 2 / 2**12)
    assert (found["iris", "aligned"].significant, found["iris", "cross_validated"].significant) == (1, -1)
    table, tests, _ = kpca_tables(rows, "kpca_tables")
    line = dict(zip(table.columns, table.rows[0], strict=True))
    assert (line["AKNCA"].bold, line["KNCA"].bold, line["NCA"].bold) == (True, False, False)
    assert "over 12 of 12 splits" in line["AKNCA"].detail
    assert (line["p, AKNCA"].text, line["p, KNCA"].text) == ("< 0.001", "< 0.001")
    assert lines_of(table)[-1]["AKNCA"] == "1/0/0"
    assert lines_of(table)[-1]["KNCA"] == "0/0/1"
    assert table.notes[-1].startswith("Of 3 printed numbers: ")
    assert win_draw_lose([(0.9, 0.8), (0.8, 0.8), (0.7, 0.8), (None, 0.8), (0.7, None)]) == "1/1/1"
    assert [line["Mean difference"] for line in lines_of(tests)] == ["-0.1000", "+0.1055"]
    assert [row[3].axes for row in tests.rows] == [("accuracy", "iris", "", name) for name in ("knca", "aknca")]


def chosen(*tried, **columns):
    """Splits in which kernels have these accuracies on the test samples."""
    return [
        kpca_run(variant="cross_validated", run=split, test_selected=json.dumps(values), **columns)
        for split, values in enumerate(tried)
    ]


def test_choosing_by_the_test_samples_has_a_column(tmp_path):
    made = chosen([0.1, 0.8, 0.3], [0.3, 0.8, 0.1], learner="nca") + records(dataset="glass")
    iris, glass, *_ = lines_of(kpca_tables(rows_of(tmp_path, made), "kpca_tables")[0])
    # Kernel by kernel the mean over splits, then the best: not the mean of each split's best.
    assert (iris["K by test samples"], glass["K by test samples"]) == ("0.80", "-")
    cells = kpca_cells(rows_of(tmp_path, chosen([0.1, 0.8, 0.3], [0.8, 0.3, 0.1])))
    assert cells["iris", "dne", "cross_validated"].test_selected == pytest.approx(0.55)


def test_failed_splits_are_said_and_nothing_of_them_is_compared(tmp_path):
    made = records({"plain": [0.95, 0.97, 0.96], "aligned": [0.95, 0.97]})
    made.append(kpca_run(learner="nca", variant="aligned", run=2, status="failed", accuracy=None, message="no"))
    made += [kpca_run(learner="nca", variant="cross_validated", run=0, status="time_limit", accuracy=None)]
    rows = rows_of(tmp_path, made)
    cells = kpca_cells(rows)
    assert cells["iris", "nca", "aligned"].ours.note == "1 of 3 splits: failed"
    assert cells["iris", "nca", "aligned"].verdict is Verdict.NOT_RUN
    assert cells["iris", "nca", "cross_validated"].ours.text == "time limit"
    assert differences_of(rows, "nca")["iris", "aligned"].splits == 2
    table = kpca_tables(rows, "kpca_tables")[0]
    assert "Iris, AKNCA: 1 of 3 splits: failed." in table.notes
    assert lines_of(table)[0]["KNCA"] == "time limit"
    failed = [row | ({"status": "failed", "accuracy": None} if row["run"] == 1 else {}) for row in records()]
    assert {one.n_cells for one in kpca_published_wdl(kpca_cells(rows_of(tmp_path, failed)))} == {0}


def test_a_learner_of_ones_own_has_no_printed_numbers(tmp_path):
    table = kpca_tables(rows_of(tmp_path, records(learner="own.py:Axes")), "kpca_tables")[0]
    assert table.name == "kpca_own_py_Axes"
    assert lines_of(table)[0]["OWN.PY:AXES, paper"] == "-"
    assert table.notes[-1] == "The paper prints no number of these data sets."
