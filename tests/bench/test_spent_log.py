"""The budget of a grid and the terms of its batches."""

import json
import multiprocessing

import pytest

from configs import table_4_config
from kdrbench.bench.batch import Surroundings
from kdrbench.bench.budget import Budget
from kdrbench.bench.grid import Grid
from kdrbench.bench.record import append_record
from kdrbench.bench.terms import Terms
from kdrbench.bench.workflow import terms_of
from kdrbench.datasets import load_dataset
from made_up import record
from one_batch import LIMITS, batch_of, files_in, run_batch


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def surroundings(ledger, seconds, **options):
    return Surroundings(
        LIMITS, 0.0, terms=Terms(budget_s=seconds), budget=Budget(ledger, seconds), calibrate=lambda: 0.02, **options
    )


def spend(ledger, seconds):
    ledger.write_text(f"{seconds}\n")


def test_time_is_charged_whatever_ends_it(tmp_path):
    budget = Budget(tmp_path / "state" / "spent.txt", 1e-9)
    assert (budget.spent_s(), budget.used_up()) == (0.0, False)
    with budget.charged():
        pass
    with pytest.raises(KeyError), budget.charged():
        raise KeyError
    lines = budget.ledger.read_text().split()
    assert len(lines) == 2
    assert budget.spent_s() == pytest.approx(sum(map(float, lines)))
    assert budget.used_up()
    assert not Budget(budget.ledger, None).used_up()
    assert not Budget(budget.ledger, 1e6).used_up()


def _charge_often(ledger):
    for _ in range(50):
        with Budget(ledger).charged():
            pass


def test_processes_side_by_side_lose_no_charge(tmp_path):
    ledger = tmp_path / "spent.txt"
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(_charge_often, [ledger] * 4)
    assert len(ledger.read_text().splitlines()) == 200


def test_what_no_budget_is_left_for_is_a_row_and_is_made_up_for_with_more(files, tmp_path):
    ledger, data, batch = tmp_path / "spent.txt", load_dataset("wine"), batch_of("ism", folds=3)
    spend(ledger, 100.0)
    rows = run_batch(batch, data, surroundings(ledger, 50.0), files)
    assert [row.status for row in rows] == ["skipped"] * 3
    assert rows[0].message == "not run: the grid's budget of 50 s is used up"
    assert (rows[0].time_s, rows[0].cost, rows[0].quality, rows[0].budget_s) == (None, None, None, 50.0)
    assert (rows[0].n_train, rows[0].quality_metric) == (160, "accuracy")
    assert files.traces.read_text() == ""
    # A hair more than was spent: the first run begins, and uses it up.
    rows = run_batch(batch, data, surroundings(ledger, 100.0 + 1e-9), files)
    assert [row.status for row in rows] == ["converged", "skipped", "skipped"]
    more = run_batch(batch, data, surroundings(ledger, 1000.0), files)
    assert [row.status for row in more] == ["converged"] * 3
    # The run that was made is kept.
    assert (more[0].started_at, more[0].wall_s) == (rows[0].started_at, rows[0].wall_s)
    assert {row.budget_s for row in more} == {1000.0}
    assert {json.loads(line)["fold"] for line in files.traces.read_text().splitlines()} == {0, 1, 2}
    assert not files.state.exists()
    assert len(ledger.read_text().split()) == 1 + 3


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A batch of a grid, and what writes rows of it."""
    monkeypatch.chdir(tmp_path)
    batch = Grid(table_4_config()).bundles()[0]

    def write(*rows, sha256=batch.batches[0].sha256):
        for number, columns in enumerate(rows):
            append_record(
                tmp_path / f"results/runs/{batch.path}.jsonl",
                record("wine", "ism", number, batch_sha256=sha256, **columns),
            )

    return batch, write


def terms(batch, *, timed=True, budget_s=None):
    config = table_4_config()
    config["timing"]["strict"] = timed
    config["limits"]["budget_s"] = budget_s
    return Terms.from_json(terms_of(Grid(config), batch))


def test_terms_of_a_batch_without_rows_are_those_of_the_configuration(written):
    assert terms(written[0]) == Terms(True, None)
    assert terms(written[0], timed=False, budget_s=9.0) == Terms(False, 9.0)
    config = table_4_config()
    config["experiments"]["table4_supervised"]["timed"] = False
    assert Grid(config).terms("table4_supervised") == Terms(False, None)


def test_rows_that_are_good_enough_keep_their_terms(written):
    batch, write = written
    write({"timed": True, "budget_s": 5.0}, {"timed": True, "budget_s": 5.0})
    for timed in (True, False):
        assert terms(batch, timed=timed, budget_s=9.0) == Terms(True, 5.0)


@pytest.mark.parametrize(
    "columns", [{"timed": False, "budget_s": 5.0}, {"timed": True, "budget_s": 5.0, "status": "skipped"}]
)
def test_rows_that_are_not_are_made_again_on_other_terms_only(written, columns):
    batch, write = written
    write({"timed": columns["timed"], "budget_s": 5.0}, columns)
    assert terms(batch, budget_s=9.0) == Terms(True, 9.0)
    assert terms(batch, timed=columns["timed"], budget_s=5.0) == Terms(columns["timed"], 5.0)


def test_terms_of_a_job_are_those_of_the_row_made_last_whatever_has_gone(written):
    batch, write = written
    write(
        {"timed": True, "budget_s": 5.0, "started_at": "2026-01-01T00:00:00+00:00"},
        {"timed": True, "budget_s": 6.0, "started_at": "2026-01-02T00:00:00+00:00"},
    )
    write({"timed": False, "budget_s": 7.0, "started_at": "2026-01-03T00:00:00+00:00"}, sha256="of a cell that is gone")
    assert terms(batch, budget_s=9.0) == Terms(True, 6.0)


def test_where_a_row_is_not_timed_times_are_not_asked_for_again(written):
    batch, write = written
    write({"timed": True, "budget_s": 5.0}, {"timed": False, "budget_s": 5.0})
    assert terms(batch, timed=False, budget_s=9.0) == Terms(False, 5.0)


def test_rows_of_another_batch_keep_nothing(written):
    batch, write = written
    write({"timed": True, "budget_s": 5.0}, sha256="another")
    assert terms(batch, budget_s=9.0) == Terms(True, 9.0)
