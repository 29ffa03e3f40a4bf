"""Records that hold an atlas: which of its rows are read."""

import json

import pytest

from kdrbench.errors import KdrbenchError
from kdrbench.suite.engine.publish import merged_lines, write_table
from kdrbench.suite.experiments.results import read_results, write_results
from support.made_up import atlas_record
from support.record_folders import folder_of


def _charted(place, **columns):
    """Return a folder of an atlas alone: kernels are those of the experiment it charts, which is not run there."""
    folder = folder_of(place)
    (folder / "merged/first.csv").unlink()
    (folder / "ikdr.csv").unlink()
    config = json.loads((folder / "config.json").read_text())
    atlas = {"title": "An atlas.", "system": "atlas", "datasets": ["wine"], "cells_of": ["first"], "solvers": ["ism"]}
    config |= {"run": ["charts"], "experiments": config["experiments"] | {"charts": atlas | {"starts": 1, "draws": 1}}}
    (folder / "config.json").write_text(json.dumps(config))
    row = {"dataset": "wine", "method": "ism", "number": 0, "experiment": "charts", "cells_of": "first"} | columns
    write_table(folder / "merged/charts.csv", merged_lines([atlas_record(**row)]))
    return folder


def test_kernels_of_an_atlas_are_those_of_what_it_charts(tmp_path):
    results = read_results(_charted(tmp_path / "atlas"))
    assert list(results.records) == results.config["run"] == ["charts"]
    write_results(tmp_path / "again", results)
    assert read_results(tmp_path / "again").records == results.records


@pytest.mark.parametrize(("column", "value"), [("kernel", "linear"), ("cells_of", "second"), ("method", "../dg")])
def test_rows_that_an_atlas_does_not_have_are_refused(tmp_path, column, value):
    with pytest.raises(KdrbenchError, match=f"a row of .*{value}.*, which its configuration does not have"):
        read_results(_charted(tmp_path / "atlas", **{column: value}))
