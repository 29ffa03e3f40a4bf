import json
from functools import cache

import kpca_trick
import numpy as np
import pytest
from kpca_trick_protocol import draw_split, grid_of, run_split

from kdrbench.bench.seeds import rng_of
from kdrbench.datasets import load_dataset
from kdrbench.metric_learning import (
    DNE,
    KPCATrick,
    SamplePairs,
    aligned_kernel,
    cross_validated_kernel,
    learn_map,
    polynomial_grid,
)

IRIS = load_dataset("iris")


@cache
def rows(split=0, test_selected=False):
    return {row.variant: row for row in run_split(IRIS, split, learners=("dne",), test_selected=test_selected)}


def accuracy(train, test, split):
    nearest = [np.argmin(np.round(((train - row) ** 2).sum(axis=1), 11)) for row in test]
    return np.mean(split.train_codes[nearest] == split.test_codes)


def test_a_split_depends_on_its_number_alone_and_covers_the_data():
    first, again, other = draw_split(IRIS, 0), draw_split(IRIS, 0), draw_split(IRIS, 1)
    np.testing.assert_array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)
    assert (len(first.train), len(first.test)) == (100, 50)
    together = np.vstack([first.train, first.test])
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(IRIS.features, axis=0))


def test_results_with_sharing_are_those_without():
    split, grid = draw_split(IRIS, 0), grid_of("iris", 4)

    def pairs():
        return SamplePairs(split.train, split.train)

    kernels = {
        "aligned": aligned_kernel(grid, pairs(), split.train_codes)[0],
        "cross_validated": cross_validated_kernel(
            grid, DNE(), pairs(), split.train_codes, rng_of("kpca_trick folds", "iris", 0)
        )[0],
        "centred": aligned_kernel(grid, pairs(), split.train_codes, centred=True)[0],
    }
    for variant, kernel in kernels.items():
        fitted = KPCATrick(kernel, DNE()).fit(split.train, split.train_codes)
        expected = accuracy(fitted.transform(split.train), fitted.transform(split.test), split)
        assert rows()[variant].accuracy == pytest.approx(expected)
    projection = learn_map(DNE(), split.train, split.train_codes)
    assert rows()["plain"].accuracy == pytest.approx(accuracy(split.train @ projection, split.test @ projection, split))
    sigma = float(rows()["cross_validated"].kernel.removeprefix("sigma "))
    assert sigma == pytest.approx(kernels["cross_validated"].sigma / 2, rel=5e-3)


def test_other_learners_beside_it_change_nothing():
    both = {(row.learner, row.variant): row for row in run_split(IRIS, 0, learners=("dne", "dne"))}
    for variant, row in rows().items():
        assert both["dne", variant].accuracy == row.accuracy
        assert both["dne", variant].kernel == row.kernel


def test_all_kernels_are_tried_on_the_test_set_only_when_asked():
    row = rows(test_selected=True)["cross_validated"]
    assert len(row.test_selected) == 21
    assert row.accuracy in row.test_selected
    assert rows()["cross_validated"].test_selected == ()
    assert row.tuning_cpu_s > rows(test_selected=True)["aligned"].tuning_cpu_s > 0
    assert rows()["plain"].tuning_cpu_s == 0


def test_m_usps_has_degrees():
    assert grid_of("m-usps", 241) == polynomial_grid()
    assert len(grid_of("yeast", 8)) == 21


def made_up(dataset, learner, variant, values):
    shared = {"dataset": dataset, "learner": learner, "variant": variant, "tuning_cpu_s": 1.5, "learning_cpu_s": 0.25}
    shared |= {"n_train": 100, "n_test": 50, "test_selected": []}
    return [{**shared, "split": split, "accuracy": value} for split, value in enumerate(values)]


@pytest.fixture
def results(tmp_path):
    lines = []
    for learner in ("nca", "lmnn", "dne"):
        lines += made_up("iris", learner, "plain", [0.90, 0.92])
        lines += made_up("iris", learner, "cross_validated", [0.90, 0.92])
        lines += made_up("iris", learner, "aligned", [0.94, 0.98])
        lines += made_up("iris", learner, "centred", [0.97, 0.97])
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_tables_put_ours_beside_the_printed_numbers(results, capsys):
    kpca_trick.main(["tables", str(results)])
    printed = capsys.readouterr().out
    # Of the paper NCA draws on iris by cross validation and loses by alignment; of the rows above it draws and wins.
    beside = "0.96 \u00b1 0.03 / 0.91 \u00b1 0.01, close | 0.96 \u00b1 0.01 / 0.91 \u00b1 0.01, close"
    beside += " | 0.95 \u00b1 0.03 / 0.96 \u00b1 0.02, reproduced"
    assert f"| iris | 2 | {beside} | 1.00 | 0.18 | 0.97 \u00b1 0.00 |" in printed
    assert "| win/draw/lose |  |  | 0/1/0 / 0/1/0 | 0/0/1 / 1/0/0 |  |  |  |" in printed
    assert "1.5 + 0.25" in printed
    assert "K by test sets" not in printed


def test_choosing_by_the_test_sets_is_a_column_where_it_was_tried(results, tmp_path, capsys):
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    tried = {"cross_validated": [0.1, 0.8, 0.3]}
    other = tmp_path / "tried.jsonl"
    # Kernel by kernel the mean over splits, then the best: not the mean of each split's best.
    for number, line in enumerate(lines):
        line |= {"dataset": "glass", "test_selected": tried.get(line["variant"], [])[:: 1 - 2 * (line["split"] % 2)]}
        lines[number] = json.dumps(line) + "\n"
    other.write_text("".join(lines))
    kpca_trick.main(["tables", str(results), str(other)])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("| glass | 2", "| iris | 2"))]
    assert [row.split(" | ")[-1] for row in rows[:2]] == ["0.80 |", "- |"]


def test_the_test_allows_for_overlapping_splits():
    differences = np.array([0.04, 0.06])
    # Mean .05, s = .01414, J = 2, ratio 1/2: t = .05 / .01414 with one degree of freedom.
    assert kpca_trick._p_value(differences, 0.5) == f"{1 - 2 / np.pi * np.arctan(0.05 / 0.0141421):.2f}" == "0.18"
    assert kpca_trick._p_value(np.zeros(3), 0.5) == "1.00"
    assert kpca_trick._p_value(np.ones(1), 0.5) == "-"


def test_a_split_in_two_files_is_refused(results):
    with pytest.raises(SystemExit, match="split 0 of iris is in another file too"):
        kpca_trick.main(["tables", str(results), str(results)])


def test_the_command_writes_one_row_a_method_and_split(tmp_path, monkeypatch):
    monkeypatch.setattr(kpca_trick, "run_split", lambda data, number, **_: list(rows(number).values()))
    path = tmp_path / "rows.jsonl"
    kpca_trick.main(["run", "iris", "--splits", "0", "2", "--out", str(path)])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["split"], line["variant"]) for line in lines] == [
        (split, variant) for split in (0, 1) for variant in ("plain", "aligned", "centred", "cross_validated")
    ]
    assert lines[0]["accuracy"] == rows()["plain"].accuracy
    with pytest.raises(SystemExit):
        kpca_trick.main(["run", "iris", "--splits", "2", "2", "--out", str(path)])
