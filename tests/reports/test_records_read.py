"""Tables that are not as they were written are refused in a sentence, whoever wrote them."""

import pandas as pd
import pytest

from kdrbench.errors import DamagedError, InputError
from kdrbench.suite.reports.protocol import by_protocol
from kdrbench.suite.reports.records import read_runs
from support.report_rows import kpca_run, low_rank_run, run


def written(folder, *rows, name="ikdr.csv"):
    pd.DataFrame(rows).to_csv(folder / name, index=False)
    return folder / name


def refusal_of(path):
    with pytest.raises(DamagedError) as raised:
        read_runs(path)
    said = str(raised.value)
    assert (str(path) in said, "start the workflow again" in said, "\n" in said) == (True, True, False)
    return said


def test_a_column_that_only_later_rows_fill_is_read_as_one(tmp_path):
    # So many that pandas would by itself guess the types of a part of them, and warn.
    rows = pd.DataFrame([run("wine", "ism", 0)] * 20_000).assign(run=range(20_000), drifted=None)
    rows.loc[19_999, "drifted"] = True
    rows.to_csv(tmp_path / "ikdr.csv", index=False)
    assert list(read_runs(tmp_path / "ikdr.csv")["drifted"].dropna()) == [True]


def test_a_run_that_is_there_twice_is_named(tmp_path):
    twice = written(tmp_path, run("wine", "ism", 0), run("wine", "ism", 1), run("wine", "ism", 1, cost=-9.0))
    assert "two rows of experiment e, dataset wine, kernel gaussian, method ism, " in refusal_of(twice)
    assert "run 0, learner dne, variant plain" in refusal_of(written(tmp_path, kpca_run(), kpca_run(accuracy=0.1)))
    draws = [low_rank_run(n_constraints=count) for count in (5, 10)]
    assert "run 0, n_constraints 5" in refusal_of(written(tmp_path, *draws, draws[0]))
    assert len(read_runs(written(tmp_path, *draws))) == 2
    # A system of one's own may have axes that others have not.
    own = {"learner": "mine", "variant": "plain", "experiment": "e", "dataset": "wine", "run": 0, "status": "failed"}
    assert len(read_runs(written(tmp_path, own | {"noise": 0.1}, own | {"noise": 0.2}))) == 2


@pytest.mark.parametrize("column", ["time_limit_s", "time_s", "cost", "run", "iterations"])
def test_words_in_place_of_numbers_are_named(tmp_path, column):
    rows = [run("wine", "ism", 0), run("wine", "ism", 1) | {column: "soon"}]
    assert f"the column {column} holds 'soon'" in refusal_of(written(tmp_path, *rows))


def test_an_experiment_that_no_configuration_defines_is_named():
    with pytest.raises(InputError, match="unknown experiment 'strange'"):
        by_protocol(pd.DataFrame([run("wine", "ism", 0, experiment="strange")]), {"experiments": {"four": {}}})
