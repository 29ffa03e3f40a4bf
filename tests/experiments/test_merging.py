"""Records of several folders as one: what is kept, and what is refused with which words."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kdrbench.errors import InputError, KdrbenchError
from kdrbench.files import replacing_folder
from kdrbench.suite.cli import main
from kdrbench.suite.experiments.results import read_results
from kdrbench.suite.reports.records import read_runs
from support.record_folders import folder_of

ROOT = Path(__file__).resolve().parents[2]


def merge(out, *places):
    return CliRunner().invoke(main, ["merge-results", *map(str, places), "--out", str(out)])


def refused(out, *places):
    """Return the sentence of a refusal; nothing is written then."""
    done = merge(out, *places)
    assert done.exit_code == 2, done.output
    assert not out.exists()
    assert done.stderr.startswith("kdrbench: ")
    return done.stderr


def test_experiments_of_two_machines_make_one_record(tmp_path):
    here = folder_of(tmp_path / "here")
    there = folder_of(tmp_path / "there", experiments=["second"], processor="processor two", time_limit_s=5.0)
    assert merge(tmp_path / "both", here, there).exit_code == 0
    config = json.loads((tmp_path / "both/config.json").read_text())
    assert config["run"] == ["first", "second"]
    assert config["name"] == "both"
    # 2 kernels x 2 solvers and a baseline, 3 folds, of each experiment.
    runs = read_runs(tmp_path / "both/ikdr.csv")
    assert len(runs) == 2 * 15
    assert set(runs.loc[runs["experiment"] == "second", "processor"]) == {"processor two"}
    for name, source in (("first", here), ("second", there)):
        merged = (tmp_path / f"both/merged/{name}.csv").read_bytes()
        assert merged == (source / f"merged/{name}.csv").read_bytes()


def test_identical_rows_are_kept_once_whatever_the_order(tmp_path):
    part = folder_of(tmp_path / "part", methods=["ism"])
    everything = folder_of(tmp_path / "all", changed={"solvers": ["ism"]}, experiments=["first", "second"])
    for name, places in (("forth", (part, everything)), ("back", (everything, part, part))):
        assert merge(tmp_path / name, *places).exit_code == 0
        assert len(read_runs(tmp_path / name / "merged/first.csv")) == 9


def test_a_single_table_can_be_taken_from_a_folder(tmp_path):
    here = folder_of(tmp_path / "here", experiments=["first", "second"])
    there = folder_of(tmp_path / "there", experiments=["second", "third"], cost=-5.0)
    assert "measured the same runs" in refused(tmp_path / "both", here, there)
    assert merge(tmp_path / "both", here, there / "merged/third.csv").exit_code == 0
    assert read_results(tmp_path / "both").config["run"] == ["first", "second", "third"]


def test_other_definitions_are_refused_with_both_values(tmp_path):
    here, there = folder_of(tmp_path / "here"), folder_of(tmp_path / "there", changed={"start": "random"})
    said = refused(tmp_path / "both", here, there)
    assert "records of different definitions: experiments.first.start is surrogate and random" in said
    assert "kdrbench report --site" in said


def test_another_definition_of_a_solver_is_refused(tmp_path):
    here, there = folder_of(tmp_path / "here"), folder_of(tmp_path / "there", experiments=["second"])
    config = json.loads((there / "config.json").read_text())
    config["solvers"]["dg"]["variant"] = "published"
    (there / "config.json").write_text(json.dumps(config))
    assert "solvers.dg.variant is not given and published" in refused(tmp_path / "both", here, there)


def test_rows_of_other_definitions_and_data_are_named(tmp_path):
    here = folder_of(tmp_path / "here")
    said = refused(tmp_path / "both", here, folder_of(tmp_path / "there", data_sha256="f" * 64))
    assert "first/wine/gaussian/ism/0 in data_sha256" in said
    assert "and 10 more" in said
    said = refused(tmp_path / "both", here, folder_of(tmp_path / "other", definition_sha256="f" * 64))
    assert "first/wine/gaussian/ism/0 in definition_sha256" in said


def test_runs_measured_twice_are_refused(tmp_path):
    here, there = folder_of(tmp_path / "here"), folder_of(tmp_path / "there", machine="two", time_s=0.5)
    said = refused(tmp_path / "both", here, there)
    assert "measured the same runs, each for itself: first/wine/gaussian/ism/0" in said


@pytest.mark.parametrize(
    ("column", "value"),
    [("processor", "processor two"), ("kdrbench_version", "0.2"), ("time_limit_s", 5.0), ("numpy_version", "3.0")],
)
def test_an_experiment_comes_from_one_kind_of_machine(tmp_path, column, value):
    here = folder_of(tmp_path / "here", datasets=["wine", "cancer"])
    there = folder_of(tmp_path / "there", datasets=["wine", "cancer"], **{column: value})
    _keep(here, "wine")
    _keep(there, "cancer")
    said = refused(tmp_path / "both", here, there)
    assert f"rows of experiment first that differ in what its tables compare: {column} is " in said
    assert f" and {value}" in said


def test_data_sets_may_be_shared_out_over_like_machines(tmp_path):
    here = folder_of(tmp_path / "here", datasets=["wine", "cancer"])
    there = folder_of(tmp_path / "there", datasets=["wine", "cancer"], machine="two")
    _keep(here, "wine")
    _keep(there, "cancer")
    assert merge(tmp_path / "both", here, there).exit_code == 0
    assert len(read_runs(tmp_path / "both/ikdr.csv")) == 30


def _keep(folder, dataset):
    """Keep the rows of one data set of the first experiment, and no table of the system."""
    table = folder / "merged/first.csv"
    names, *lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join([names, *(line for line in lines if f",{dataset}," in line)]))
    (folder / "ikdr.csv").unlink()


def test_a_single_record_and_a_folder_without_one_are_refused(tmp_path):
    here = folder_of(tmp_path / "here")
    assert "name at least two" in refused(tmp_path / "out", here)
    (tmp_path / "empty").mkdir()
    assert "config.json is not there" in refused(tmp_path / "out", here, tmp_path / "empty")
    assert "neither a folder of merged tables nor one of them" in refused(tmp_path / "out", here, tmp_path / "gone")


def test_only_a_folder_made_by_the_command_is_replaced(tmp_path):
    here, there = folder_of(tmp_path / "here"), folder_of(tmp_path / "there", experiments=["second"])
    out = tmp_path / "mine"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    done = merge(out, here, there)
    assert done.exit_code == 2
    assert "was not made by this command" in done.stderr
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]
    made = tmp_path / "made"
    assert merge(made, here, there).exit_code == merge(made, there, here).exit_code == 0
    assert read_results(made).config["run"] == ["second", "first"]
    # A link might lead anywhere.
    link = tmp_path / "link"
    link.symlink_to(made)
    assert "was not made by this command" in merge(link, here, there).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "link", "made", "mine", "there"]


def test_a_writer_that_fails_leaves_the_folder_as_it_was(tmp_path):
    place = tmp_path / "place"
    with replacing_folder(place, ".mark") as folder:
        (folder / "old").touch()
    with pytest.raises(ZeroDivisionError), replacing_folder(place, ".mark") as folder:
        (folder / "new").write_text(str(1 / 0))
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
    assert sorted(path.name for path in place.iterdir()) == [".mark", "old"]
    with replacing_folder(place, ".mark") as folder:
        (folder / "new").touch()
    assert sorted(path.name for path in place.iterdir()) == [".mark", "new"]


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
    assert "a system of its own (own)" in refused(tmp_path / "out", place, folder_of(tmp_path / "there"))
    assert not (tmp_path / "ran").exists()


def test_a_folder_without_rows_is_refused(tmp_path):
    place = folder_of(tmp_path / "here")
    (place / "merged/first.csv").unlink()
    (place / "ikdr.csv").unlink()
    with pytest.raises(InputError, match="holds no rows"):
        read_results(place)
