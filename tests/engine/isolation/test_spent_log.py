"""The seconds that the runs of a grid take together, and the budget that limits them."""

import fcntl
import os
import threading
from types import SimpleNamespace

import pytest

from kdrbench.datasets import load_dataset
from kdrbench.suite.engine.isolation import limits
from kdrbench.suite.engine.isolation.limits import Pauses, SpentLog
from kdrbench.suite.engine.publish import read_points
from support.one_batch import batch_of, context_of, files_in, run_batch


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def test_time_is_charged_whatever_ends_it(tmp_path):
    log = SpentLog(tmp_path / "folder" / "spent.txt", 1e-9)
    assert (log.spent_s(), log.used_up()) == (0.0, False)
    with log.charged():
        pass
    with pytest.raises(KeyError), log.charged():
        raise KeyError
    lines = log.path.read_text().split()
    assert len(lines) == 2
    assert log.spent_s() == pytest.approx(sum(map(float, lines)))
    assert log.used_up()
    assert not SpentLog(log.path, None).used_up()
    assert not SpentLog(log.path, 1e6).used_up()


def test_rows_say_that_the_budget_is_used_up_until_there_is_more(files, tmp_path):
    path, data, batch = tmp_path / "spent.txt", load_dataset("wine"), batch_of("ism", folds=3)
    path.write_text("100.0\n")

    def run(budget_s):
        return run_batch(batch, data, context_of(spent_log=SpentLog(path, budget_s)), files)

    rows = run(50.0)
    assert [row.status for row in rows] == ["skipped"] * 3
    assert rows[0].message == "not run: the grid's budget of 50 s is used up"
    assert (rows[0].time_s, rows[0].cost, rows[0].quality, rows[0].provenance.budget_s) == (None, None, None, 50.0)
    assert (rows[0].n_train, rows[0].quality_metric, rows[0].n_components) == (160, "accuracy", 4)
    assert (rows[0].paradigm, rows[0].split) == ("supervised", "folds")
    assert files.traces.read_text() == ""
    # A hair more than was spent: the first run begins, and uses it up.
    rows = run(100.0 + 1e-9)
    assert [row.status for row in rows] == ["converged", "skipped", "skipped"]
    more = run(1000.0)
    assert [row.status for row in more] == ["converged"] * 3
    # The run that was made is kept, with the budget that it was made under.
    assert more[0] == rows[0]
    assert [row.provenance.budget_s for row in more] == [100.0 + 1e-9, 1000.0, 1000.0]
    assert set(read_points(files.traces)) == {("wine/gaussian/it", number) for number in range(3)}
    # Less of it undoes nothing.
    assert run(1.0) == more
    assert len(path.read_text().split()) == 1 + 3


@pytest.fixture
def clock(monkeypatch):
    """The monotonic clock of the limits, which stands at 100 s until it is set forward."""
    now = [100.0]
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_a_budget_is_used_up_when_all_of_it_is_spent(tmp_path):
    (tmp_path / "spent.txt").write_text("1.000000\n1.500000\n")
    for budget_s, used_up in ((2.4, True), (2.5, True), (2.6, False)):
        assert SpentLog(tmp_path / "spent.txt", budget_s).used_up() is used_up


def test_what_is_charged_is_the_time_inside_less_that_of_waiting(tmp_path, clock):
    log, waited = SpentLog(tmp_path / "spent.txt"), [7.0]
    with log.charged(lambda: waited[0]):
        clock[0] += 10.0
        waited[0] += 4.0
    with log.charged():
        clock[0] += 0.5
    assert log.path.read_text() == "6.000000\n0.500000\n"
    assert log.spent_s() == 6.5


def test_pauses_add_up_and_to_pause_twice_changes_nothing(clock):
    pauses, expected = Pauses(), []
    # A run begins paused.
    for passes, act in ((3, None), (2, pauses.begin), (1, pauses.end), (4, pauses.end), (5, pauses.begin), (8, None)):
        clock[0] += passes
        if act:
            act()
        expected.append(pauses.total_s())
    assert expected == [3, 5, 6, 6, 6, 14]


def test_pauses_of_one_process_are_those_of_the_other(clock):
    pauses = Pauses()
    pid = os.fork()
    if pid == 0:
        clock[0] += 20.0
        pauses.end()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    clock[0] += 50.0
    assert pauses.total_s() == 20


def test_seconds_are_on_the_disk_when_they_have_been_charged(tmp_path, monkeypatch):
    log, on_disk = SpentLog(tmp_path / "spent.txt"), []
    monkeypatch.setattr(os, "fsync", lambda number: on_disk.append(log.path.read_text()))
    with log.charged():
        pass
    assert on_disk == [log.path.read_text()]


def test_who_charges_waits_for_the_lock_of_another(tmp_path):
    log = SpentLog(tmp_path / "spent.txt")

    def charge():
        with log.charged():
            pass

    charging = threading.Thread(target=charge)
    with log.path.open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        charging.start()
        charging.join(0.2)
        assert log.path.read_text() == ""
    charging.join(20)
    assert log.path.read_text().count("\n") == 1


def test_damaged_lines_do_not_count(tmp_path):
    log = SpentLog(tmp_path / "spent.txt")
    log.path.write_text("1.5\ngarbage\nnan\n-1\n2.5\n")
    assert log.spent_s() == 4.0
