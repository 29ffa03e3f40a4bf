"""Results of a folder, read as from anywhere: what is refused with which words, and that nothing is loaded."""

import json
import shutil

import numpy as np
import pytest

from kdrbench.errors import InputError, KdrbenchError
from kdrbench.suite.engine.publish import merged_lines, write_table
from kdrbench.suite.experiments.results import read_results, write_results
from kdrbench.suite.systems.atlas.optima import Solution, write_solutions
from support.command_line import kdrbench
from support.made_up import atlas_record
from support.record_folders import folder_of


def test_a_single_table_can_be_taken_from_a_folder(tmp_path):
    here = folder_of(tmp_path / "here", experiments=["first", "second"])
    assert read_results(here / "merged/second.csv").config["run"] == ["second"]
    assert read_results(here / "ikdr.csv").config["run"] == ["first", "second"]
    (tmp_path / "empty").mkdir()
    for place, words in (("empty", "config.json is not there"), ("gone", "neither a folder of merged tables nor one")):
        with pytest.raises(InputError, match=words):
            read_results(tmp_path / place)


# How a table may be damaged, and the words that say so.
DAMAGE = {
    "cut": (lambda text: text[:-20], "its last line is cut"),
    "empty": (lambda text: "", "it is empty"),
    "a cell more": (lambda text: text.rstrip() + ",more\n", "line 16 has"),
    "another column": (lambda text: text.replace("n_train", "trained", 1), "it lacks columns of IKDRRecord: n_train"),
    "a column twice": (lambda text: text.replace("n_train", "n_test", 1), "columns"),
    "no number": (lambda text: text.replace("-1311.", "=cmd|-", 1), "column cost holds '=cmd|-"),
    "no finite number": (lambda text: text.replace(",2.0,", ",inf,", 1), "holds inf"),
    "an unknown status": (lambda text: text.replace(",converged,", ",won,", 1), "unknown status 'won'"),
    "a row twice": (lambda text: text + text.splitlines(keepends=True)[-1], "occurs twice"),
    "another version": (lambda text: text.replace("\n8,", "\n7,", 1), "schema version"),
    "an open quote": (lambda text: text.replace(",converged,", ',"converged,', 1), "merged table"),
    "a row of another experiment": (lambda text: text.replace(",first,", ",other,", 1), "'other'"),
    "a row of another data set": (lambda text: text.replace(",wine,", ",<b>,", 1), "data set '<b>'"),
    "a row of another method": (lambda text: text.replace(",dg,", ",../dg,", 1), "gaussian/../dg"),
}


def test_damaged_tables_are_refused_with_a_sentence(tmp_path):
    place = folder_of(tmp_path / "here")
    table = place / "merged/first.csv"
    sound = table.read_text()
    for damage, (change, words) in DAMAGE.items():
        table.write_text(change(sound))
        with pytest.raises(KdrbenchError, match=r"first\.csv") as caught:
            read_results(place)
        assert words in str(caught.value), damage
        assert len(str(caught.value)) < 600


def test_a_configuration_that_is_none_is_refused(tmp_path):
    place = folder_of(tmp_path / "here")
    for text in ["", "[]", "{}", '{"run": 3}', '{"seed": NaN}']:
        (place / "config.json").write_text(text)
        with pytest.raises(KdrbenchError, match="no frozen configuration"):
            read_results(place)


def test_nothing_that_a_record_names_is_loaded(tmp_path):
    place = folder_of(tmp_path / "here", experiments=["first", "own"])
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    config = json.loads((place / "config.json").read_text())
    config["experiments"]["own"]["system"] = str(tmp_path / "evil.py")
    config["solvers"]["dg"]["method"] = str(tmp_path / "evil.py")
    config["datasets"] = {"mine": {"loader": str(tmp_path / "evil.py")}}
    (place / "config.json").write_text(json.dumps(config))
    results = read_results(place)
    assert (list(results.records), results.left_out) == (["first"], ("own",))
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow("renders two reports")
def test_what_is_read_of_a_record_needs_neither_its_solvers_nor_its_data(tmp_path):
    place = folder_of(tmp_path / "here", datasets=["mine"], trace_file="t.jsonl")
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    config = json.loads((place / "config.json").read_text()) | {"datasets": {"mine": {"loader": f"{tmp_path}/evil.py"}}}
    config["solvers"]["dg"]["method"] = f"{tmp_path}/evil.py"
    (place / "config.json").write_text(json.dumps(config))
    (place / "optima").mkdir()
    write_solutions(place / "optima/a.npz", {"0" * 64: Solution(-9.0, np.eye(5, 2))})
    (place / "traces").mkdir()
    (place / "traces/t.jsonl").touch()
    for left_out in ("first_scatter, first_loadings. Its findings are", "first_cost_against_time, first_scatter"):
        assert "(first)\n  DG reaches" in kdrbench("compare", "--results", place).stdout
        done = kdrbench("report", place, "--out", tmp_path / "reports")
        assert (done.exit_code, f"lacks what they show: {left_out}" in done.stderr) == (0, True), done.stderr
        shutil.rmtree(place / "traces", ignore_errors=True)
    assert not (tmp_path / "ran").exists()
    (tmp_path / "evil.py").unlink()
    done = kdrbench("status", place)
    assert (done.exit_code, "only answers are shown" in done.stderr, "DG reaches" in done.stdout) == (0, True, True)


def test_a_folder_without_rows_is_refused(tmp_path):
    place = folder_of(tmp_path / "here")
    (place / "merged/first.csv").unlink()
    (place / "ikdr.csv").unlink()
    with pytest.raises(InputError, match="holds no rows"):
        read_results(place)


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
    with pytest.raises(KdrbenchError, match=r"a row of .*second.*, which its configuration does not have"):
        read_results(_charted(tmp_path / "other", cells_of="second"))
