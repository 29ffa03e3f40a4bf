"""Low-rank kernel learning as jobs: the grid, the draws, rows whatever becomes of a run, and their table."""

import copy
import csv
import json

import numpy as np
import pytest

from configs import whole_config
from kdrbench.bench.config import check_config
from kdrbench.bench.limits import Limits
from kdrbench.bench.lowrank_batch import LowrankBatch
from kdrbench.bench.lowrank_grid import LowrankGrid
from kdrbench.bench.lowrank_job import run_lowrank_batch
from kdrbench.bench.lowrank_record import LowrankRecord
from kdrbench.bench.lowrank_task import learn, make_task, quality_of, two_fold_accuracy
from kdrbench.bench.parts import PartFiles, Supervision
from kdrbench.bench.rows import RecordError, merge_rows, parse_row, read_rows, row_json, write_rows
from kdrbench.datasets import Dataset, load_any, load_dataset, load_kernel_set
from kdrbench.errors import ConfigError, DataError
from kdrbench.lowrank import LowRankStatus, squared_distances

GYRB = load_any("gyrb-standin")
AROUND = Supervision(Limits(60.0, 2048))
TASKS = {
    "gyrb": {
        "title": "Stand-in.",
        "dataset": "gyrb-standin",
        "constraints": [0, 4],
        "methods": ["von_neumann", "definite_boost"],
    }
}


def config(**changes):
    whole = whole_config()
    section = copy.deepcopy(whole["lowrank"]) | {"tasks": TASKS, "run": ["gyrb"], "runs": 2} | changes
    return whole | {"lowrank": section}


def files(folder):
    return PartFiles(folder / "records.jsonl", folder / "state" / "0-1")


def batch(method="von_neumann", **changes):
    return LowrankGrid(config(**changes)).batch("gyrb", method, "0-1")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"run": ["gyrB"]}, "config: lowrank.run: unknown task 'gyrB'; allowed: gyrb. Did you mean 'gyrb'"),
        ({"rans": 3}, "config: unknown key in lowrank: 'rans'; allowed: .*Did you mean 'runs'"),
        ({"runs": 0}, "config: lowrank.runs is 0; it must be at least 1"),
        (
            {"methods": {"mine": {"rule": "published", "divergence": "burg"}}},
            "lowrank.methods.mine must hold either divergence and solver, or the step of DefiniteBoost; it holds rule,",
        ),
        (
            {"tasks": {"gyrb": TASKS["gyrb"] | {"methods": ["bourg"]}}},
            "config: lowrank.tasks.gyrb.methods: unknown method 'bourg'; allowed: .*Did you mean 'burg'",
        ),
        (
            {"tasks": {"gyrb": TASKS["gyrb"] | {"dataset": "gyrb_standin"}}},
            "config: lowrank.tasks.gyrb.dataset: unknown data set 'gyrb_standin'; .*Did you mean 'gyrb-standin'",
        ),
        (
            {"tasks": {"gyrb": TASKS["gyrb"] | {"constraints": [2000]}}},
            "lowrank.tasks.gyrb.constraints asks for 2000; the 52 samples of 'gyrb-standin' have 1326 pairs",
        ),
        (
            {"tasks": {"gyrb": TASKS["gyrb"] | {"dataset": "flower"}}},
            "data set 'flower' has no labels; constraints come",
        ),
    ],
)
def test_what_is_wrong_with_the_section_is_said(changes, message):
    with pytest.raises(ConfigError, match=message):
        check_config(config(**changes))


def test_the_projects_configuration_is_expanded_to_a_batch_for_each_task_and_method():
    check_config(whole_config())
    section = whole_config()["lowrank"]
    grid = LowrankGrid(whole_config())
    expected = [f"{name}/{method}/0-19" for name in section["run"] for method in section["tasks"][name]["methods"]]
    assert [one.path for one in grid.batches()] == expected
    assert grid.records()[0] == "results/lowrank/digits/burg/0-19.jsonl"
    assert grid.table == ["results/lowrank.csv"]
    one = grid.batch("digits", "burg", "0-19")
    assert one.axes[:2] == [("digits", "burg", 0, 0), ("digits", "burg", 25, 0)]
    assert len(one.axes) == 20 * 9
    assert LowrankBatch.from_json(one.to_json()) == one
    assert "reports/figures/lowrank_digits.png" in grid.reports()
    # The compiled sweeps are part of what results depend on, though they are imported by name.
    assert "numba" in one.packages
    assert "numba" not in grid.batch("gyrb", "definite_boost", "0-19").packages


@pytest.mark.parametrize("changed", [{"run": []}, None])
def test_nothing_is_run_where_nothing_is_asked_for(changed):
    whole = config(**changed) if changed is not None else {}
    grid = LowrankGrid(whole)
    assert (grid.batches(), grid.records(), grid.table, grid.reports()) == ([], [], [], [])


def test_a_kernel_matrix_is_prepared_with_its_registered_hash():
    assert GYRB.content_sha256 == load_kernel_set("gyrb-standin").content_sha256
    np.testing.assert_array_equal(GYRB.features, load_kernel_set("gyrb-standin").kernel)
    assert load_any("wine").content_sha256 == load_dataset("wine").content_sha256


def test_all_methods_see_the_same_constraints_and_every_run_others():
    task, again = make_task("gyrb", GYRB), make_task("gyrb", GYRB)
    drawn = task.constraints(20, 3, 0)
    assert drawn.names == again.constraints(20, 3, 0).names
    for other in (task.constraints(20, 4, 0), task.constraints(20, 3, 1), make_task("x", GYRB).constraints(20, 3, 0)):
        assert drawn.names != other.names
    assert len(task.constraints(0, 0, 0)) == 0
    # The true kernel, of trace one, meets them all; the start, of trace one too, does not.
    assert drawn.violations(task.target).max() <= 1e-12
    assert drawn.violations(task.start).max() > 1e-3
    assert np.sum(task.start**2) == pytest.approx(1.0)


def test_features_are_asked_to_change_by_a_quarter_of_their_own_distances():
    wine = load_dataset("wine")
    task = make_task("wine", wine)
    drawn = task.constraints(30, 0, 0)
    ratio = drawn.bounds / drawn.values(wine.features)
    assert set(ratio.round(12)) == {0.75, 1.25}
    ends = drawn.vectors.indices.reshape(-1, 2)
    same = wine.labels[ends[:, 0]] == wine.labels[ends[:, 1]]
    np.testing.assert_array_equal(same, ratio < 1)


def test_the_published_rule_takes_a_set_without_solution_for_solved_and_the_other_does_not():
    factor = np.random.default_rng(0).standard_normal((6, 3))
    asked = squared_distances(6, [(0, 1), (1, 2), (0, 2)], ["<=", "<=", ">="], [0.1, 0.1, 4.0])
    definition = {"divergence": "burg", "solver": "cyclic"}
    published = learn({**definition, "rule": "published"}, factor, asked, compiled=False)
    converged = learn({**definition, "rule": "converged"}, factor, asked, compiled=False)
    assert (published.status, converged.status) == (LowRankStatus.CONVERGED, LowRankStatus.INFEASIBLE)
    assert published.dual_change < 1e-3 < 1 < published.largest_violation


def test_accuracy_and_nmi_are_perfect_on_separate_classes_and_poor_on_noise():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    apart = 100.0 * labels[:, None] + rng.standard_normal((60, 2))
    assert quality_of(apart, labels, rng) == {"accuracy": 1.0, "nmi_one_start": 1.0, "nmi_ten_starts": 1.0}
    assert two_fold_accuracy(rng.standard_normal((60, 2)), labels, rng) < 0.8


def test_a_batch_leaves_a_row_for_each_run_and_number_of_constraints(tmp_path):
    one = batch()
    records = run_lowrank_batch(one, GYRB, AROUND, files(tmp_path))
    assert [record.axes for record in records] == one.axes
    assert records == read_rows(tmp_path / "records.jsonl", LowrankRecord)
    assert {record.status for record in records} == {"converged"}
    assert [record.sweeps > 0 for record in records] == [False, True, False, True]
    assert all(0 <= record.nmi_ten_starts <= 1 and record.cpu_s > 0 for record in records)
    assert records[1].compiled_sweeps == records[1].sweeps
    assert records[0].batch_sha256 == one.sha256
    assert not (tmp_path / "state" / "0-1").exists()


def test_rows_of_an_interrupted_batch_are_kept_and_cut_ones_made_again(tmp_path, monkeypatch):
    first = run_lowrank_batch(batch(), GYRB, AROUND, files(tmp_path))
    state = files(tmp_path).state
    state.mkdir(parents=True)
    limits = AROUND.limits
    (state / "key.json").write_text(json.dumps([batch().sha256, limits.time_s, limits.memory_mib]))
    # Run 0 is whole, of run 1 one row and half of another are there.
    lines = [row_json(record) for record in first]
    (state / "rows.jsonl").write_text("\n".join([lines[0], lines[1], lines[2], lines[3][:40]]))
    again = run_lowrank_batch(batch(), GYRB, AROUND, files(tmp_path))
    assert again[:2] == first[:2]
    assert [row.axes for row in again] == [row.axes for row in first]
    assert again[3].cpu_s != first[3].cpu_s


def test_what_a_method_raises_is_a_row(tmp_path):
    # Bounds beyond the reach of kernels of trace one, which DefiniteBoost refuses.
    features = np.kron(np.eye(2), np.ones((5, 1))) + 0.1 * np.random.default_rng(0).standard_normal((10, 2))
    tiny = Dataset("wine", features, np.repeat([0, 1], 5), ("a", "b"), ("c", "d"))
    task = {"title": "W.", "dataset": "wine", "constraints": [40], "methods": ["definite_boost"]}
    grid = LowrankGrid(config(tasks={"w": task}, run=["w"], runs=1))
    one = grid.batch("w", "definite_boost", "0-0")
    one = LowrankBatch(**{**one.__dict__, "data_sha256": tiny.content_sha256})
    (record,) = run_lowrank_batch(one, tiny, AROUND, files(tmp_path))
    assert (record.status, record.accuracy, record.sweeps) == ("failed", None, None)
    assert record.message.startswith("InputError: DefiniteBoost is for constraints of rank one whose bounds are below")


def test_a_run_at_its_limit_leaves_what_it_had_learned(tmp_path):
    slow = {"step": "symmetric", "rule": "converged", "max_sweeps": 1_000_000}
    task = TASKS["gyrb"] | {"constraints": [0, 25], "methods": ["slow"]}
    one = LowrankGrid(config(tasks={"gyrb": task}, methods={"slow": slow}, runs=1)).batch("gyrb", "slow", "0-0")
    around = Supervision(Limits(4.0, 2048))
    records = run_lowrank_batch(one, GYRB, around, files(tmp_path))
    assert [(record.n_constraints, record.status) for record in records] == [(0, "converged"), (25, "time_limit")]
    assert records[1].accuracy is None


def test_other_data_than_the_batch_wants_are_refused(tmp_path):
    with pytest.raises(DataError, match="the batch wants 761ec794"):
        run_lowrank_batch(batch(), load_any("wine"), AROUND, files(tmp_path))


def test_rows_are_merged_in_order_and_holes_are_errors(tmp_path):
    records = run_lowrank_batch(batch(), GYRB, AROUND, files(tmp_path))
    axes = [record.axes for record in records]
    path, table = tmp_path / "backwards.jsonl", tmp_path / "lowrank.csv"
    write_rows(path, records[::-1])
    assert merge_rows([path], LowrankRecord, axes, table) == records
    with table.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["n_constraints"] for row in rows] == ["0", "4", "0", "4"]
    assert rows[0]["schema_version"] == str(LowrankRecord.SCHEMA_VERSION)
    with pytest.raises(RecordError, match=r"stands twice in the results, the second time in .*backwards\.jsonl"):
        merge_rows([path, path], LowrankRecord, axes, table)
    with pytest.raises(RecordError, match=r"1 record\(s\) belong to no row of the configuration"):
        merge_rows([path], LowrankRecord, axes[:3], table)
    write_rows(path, records[:3])
    with pytest.raises(RecordError, match=r"1 row\(s\) have no record, the first is \('gyrb', 'von_neumann', 4, 1\)"):
        merge_rows([path], LowrankRecord, axes, table)
    line = json.loads(row_json(records[0]))
    for changes, message in (
        ({"schema_version": 9}, "a LowrankRecord must have schema version 1"),
        ({"sweeps": "many"}, "column sweeps holds 'many'"),
        ({"status": "fine"}, "unknown status 'fine'; allowed: converged"),
        ({"extra": 1}, "the record's columns differ from the schema in: extra"),
    ):
        with pytest.raises(RecordError, match=message):
            parse_row(json.dumps(line | changes), LowrankRecord)
