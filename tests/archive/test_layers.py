"""Layers over a packed record: what differs is added, the newest row of a run wins, and earlier states stay."""

import json
import shutil

import pytest

from kdrbench.errors import DamagedError, InputError
from kdrbench.suite.archive import manifest_of, parts_of
from kdrbench.suite.archive.layers import opened, record_at
from kdrbench.suite.csv_files import read_csv
from kdrbench.suite.engine.publish import read_points
from kdrbench.suite.engine.run_files import arrays_in
from kdrbench.suite.reports.records import read_runs
from kdrbench.suite.verification.verify import Record
from support.command_line import kdrbench
from support.made_up_results import files_in, two_experiments, write_results

GM, REDRAWN = "traces/first/wine/gaussian/gm/0-1.jsonl", "runs/second/wine/gaussian/ism/0-3.jsonl"


def with_third():
    """The two experiments and a third."""
    config = two_experiments()
    third = config["experiments"]["first"] | {"title": "Third.", "solvers": ["dg"]}
    return config | {"run": [*config["run"], "third"], "experiments": {**config["experiments"], "third": third}}


def add(results, place, name, *words):
    return kdrbench("pack", results, "--out", place, "--layer", name, *words)


@pytest.fixture
def record(packed, tmp_path):
    return shutil.copytree(packed, tmp_path / "record")


@pytest.fixture(scope="module")
def newer(tmp_path_factory):
    """Results in which the jobs of gm were made again, at another cost, with a third experiment."""
    folder = tmp_path_factory.mktemp("newer") / "results"
    write_results(folder, with_third(), git_commit="new")
    other = folder.parent / "old"
    write_results(other, two_experiments())
    for path in sorted(other.rglob("*")):
        part = path.relative_to(other).parts
        if path.is_file() and part[0] in ("runs", "traces", "findings") and "gm" not in part:
            shutil.copy(path, folder.joinpath(*part))
    return folder


@pytest.fixture(scope="module")
def layered(packed, newer, tmp_path_factory):
    place = shutil.copytree(packed, tmp_path_factory.mktemp("layered") / "record")
    done = add(newer, place, "2026-12-01")
    assert done.exit_code == 0, done.output
    return place


def state_of(place):
    """The rows, by axes, and all files but tables of a record that is unpacked."""
    with opened(place) as folder:
        runs = read_runs(folder / "ikdr.csv")
        kept = {name: content for name, content in files_in(folder).items() if name.split("/")[0] in ("runs", "traces")}
        return runs.sort_values(["experiment", "method", "run"]).to_csv(index=False), kept


def test_base_and_layer_are_the_results_and_hold_nothing_twice(packed, newer, layered, tmp_path):
    assert kdrbench("pack", newer, "--out", tmp_path / "full").exit_code == 0
    assert state_of(layered) == state_of(tmp_path / "full")
    stated = record_at(tmp_path / "full").manifest
    assert record_at(layered).manifest == {word: stated[word] for word in ("complete", "experiments")}
    # Nothing below is written again.
    assert {name: one for name, one in files_in(layered).items() if not name.startswith("layers/")} == files_in(packed)
    layer = layered / "layers/2026-12-01"
    assert {name.split(".")[0] for name in files_in(layer) if name.startswith("rows")} == {"rows/first", "rows/third"}
    rows = record_at(layered).parts[-1].rows("rows/first.csv")
    assert {(row["method"], row["run"]) for row in rows} == {("gm", "0"), ("gm", "1")}
    assert not (layer / "README.md").exists()


def test_an_earlier_state_is_opened_by_the_name_of_its_layer(packed, newer, layered):
    assert state_of(layered / "layers/base") == state_of(packed)
    assert state_of(layered / "layers/2026-12-01") == state_of(layered)
    assert kdrbench("compare", "--results", layered / "layers/base").exit_code == 0
    assert manifest_of(str(layered)) == layered / "layers/2026-12-01/manifest.json"
    with pytest.raises(InputError, match="absent is no packed record"):
        record_at(layered / "layers/absent")
    for state in ("base", "2026-12-01"):
        for words in ((), ("--layer", "2027")):
            done = kdrbench("pack", newer, "--out", layered / "layers" / state, *words)
            assert (done.exit_code, f"not written again; name the record: {layered}" in done.stderr) == (2, True)


def test_results_that_do_not_differ_make_no_layer(newer, layered, tmp_path):
    done = add(newer, layered, "2026-12-02")
    assert done.exit_code == 2
    assert f"{newer} holds nothing that {layered} lacks; no layer is written" in done.stderr
    assert kdrbench("unpack", layered, "--out", tmp_path / "results").exit_code == 0
    assert add(tmp_path / "results", layered, "2026-12-02").exit_code == 2
    assert [path.name for path in (layered / "layers").iterdir()] == ["2026-12-01"]


def test_a_layer_over_a_layer_supersedes_it(newer, layered, tmp_path):
    place = shutil.copytree(layered, tmp_path / "record")
    results = shutil.copytree(newer, tmp_path / "results")
    write_results(tmp_path / "again", with_third(), git_commit="newest")
    shutil.copy(tmp_path / "again" / REDRAWN, results / REDRAWN)
    path = "runs/third/wine/gaussian/dg/0-1.jsonl"
    shutil.copy(tmp_path / "again" / path, results / path)
    before = files_in(place)
    done = add(results, place, "2027-01-01")
    assert "6 rows of 2 jobs" in done.stdout
    after = files_in(place)
    assert {name: after[name] for name in before} == before
    commits = {name: commits_of(place / "layers" / name) for name in ("base", "2026-12-01", "2027-01-01")}
    assert commits == {
        "base": {"first/ism": "", "first/gm": "", "second/ism": ""},
        "2026-12-01": {"first/ism": "", "first/gm": "new", "second/ism": "", "third/dg": "new"},
        "2027-01-01": {"first/ism": "", "first/gm": "new", "second/ism": "newest", "third/dg": "newest"},
    }
    assert commits_of(place) == commits["2027-01-01"]
    assert [one.name for one in parts_of(place)] == ["record", "2026-12-01", "2027-01-01"]
    # Results in which superseded rows are left are not newer.
    assert "holds nothing that" in add(newer, place, "2027-02-01").stderr


def commits_of(place):
    with opened(place) as folder:
        rows = read_csv(folder / "ikdr.csv")
    return {f"{row['experiment']}/{row['method']}": row["git_commit"] for row in rows}


def test_results_of_some_jobs_are_enough(record, newer, tmp_path):
    for kind in ("runs", "traces", "findings"):
        shutil.copytree(newer / kind / "third", tmp_path / "some" / kind / "third")
    shutil.copy(newer / "config.json", tmp_path / "some/config.json")
    assert add(tmp_path / "some", record, "1").exit_code == 0
    assert set(commits_of(record)) == {"first/ism", "first/gm", "second/ism", "third/dg"}
    assert record_at(record).manifest["complete"] is True
    with opened(record) as folder:
        assert (folder / GM).is_file()


def with_jobs(results, runs_per_job, solvers=("ism", "gm"), made=None, **columns):
    """Results of the first experiment, whose cells share a job for ``auto``; those of the jobs ``made`` alone."""
    config = two_experiments(runs_per_job=runs_per_job, solvers=list(solvers))
    grid = write_results(results, config | {"run": ["first"]}, **columns)
    for bundle in grid.bundles():
        if made is not None and bundle.path not in made:
            (results / f"runs/{bundle.path}.jsonl").unlink()
    return results


def test_jobs_of_another_split_supersede_runs_of_one_that_was_shared(tmp_path):
    place, gm = tmp_path / "record", "first/wine/gaussian/gm/0-1"
    assert kdrbench("pack", with_jobs(tmp_path / "one", "auto"), "--out", place).exit_code == 0
    # How runs are split into jobs is no difference of rows: the configuration alone is in the layer.
    assert "0 rows of 0 jobs" in add(with_jobs(tmp_path / "two", 10), place, "1").stdout
    assert "2 rows of 1 job" in add(with_jobs(tmp_path / "three", 10, made=[gm], git_commit="new"), place, "2").stdout
    with opened(place) as folder:
        rows, found = read_csv(folder / "ikdr.csv"), Record(folder, own_code=True)
        jobs = {(row["method"], row["git_commit"], row["trace_file"]) for row in rows}
        assert jobs == {("ism", "", "first/cheap.jsonl"), ("gm", "new", f"{gm}.jsonl")}
        assert len(rows) == 4
        # The rows of each job are beside the points and arrays of their runs, and no others.
        for row in rows:
            cell = f"wine/gaussian/{row['method']}"
            assert set(read_points(folder / "traces" / row["trace_file"])) == {(cell, 0), (cell, 1)}
            assert set(found.arrays(row["trace_file"], cell, [0, 1])) == {0, 1}
        assert set(arrays_in(folder / "findings/first/cheap.npz")) == {
            f"wine/gaussian/ism/{kind}_{run}" for kind in ("projection", "labels") for run in range(2)
        }
    # A job of the former path, which holds a cell more, replaces both.
    more = with_jobs(tmp_path / "four", "auto", ("ism", "gm", "dg"), git_commit="newest")
    assert "6 rows of 1 job" in add(more, place, "3").stdout
    assert commits_of(place) == {f"first/{name}": "newest" for name in ("ism", "gm", "dg")}
    assert commits_of(place / "layers/2") == {"first/ism": "", "first/gm": "new"}


def test_a_layer_holds_the_runs_that_were_made_again(tmp_path):
    place, path = tmp_path / "record", "runs/first/cheap.jsonl"
    first, second = with_jobs(tmp_path / "one", "auto"), with_jobs(tmp_path / "two", "auto", git_commit="new")
    assert kdrbench("pack", first, "--out", place).exit_code == 0
    before, after = ((folder / path).read_text().splitlines() for folder in (first, second))
    again = [json.loads(line)["method"] == "gm" and json.loads(line)["run"] == 1 for line in after]
    mixed = [new if is_again else old for old, new, is_again in zip(before, after, again, strict=True)]
    (second / path).write_text("".join(f"{line}\n" for line in mixed))
    assert "1 row of 1 job" in add(second, place, "1").stdout
    names = [line["name"] for line in record_at(place).parts[1].rows("arrays/first.csv")]
    assert names
    assert all(name.startswith("wine/gaussian/gm/") and name.endswith("_1") for name in names)
    with opened(place) as folder:
        rows = read_csv(folder / "ikdr.csv")
        assert [(row["method"], row["run"]) for row in rows if row["git_commit"] == "new"] == [("gm", "1")]
        assert len(rows) == len(after)
        assert set(arrays_in(folder / "findings/first/cheap.npz")) == set(arrays_in(first / "findings/first/cheap.npz"))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"run": ["second"]}, "has rows of first, which the configuration does not run"), ({}, "has runs of first that")],
)
def test_a_layer_leaves_out_nothing_of_its_record(record, tmp_path, change, message):
    config = two_experiments()
    config["experiments"]["first"] |= {"solvers": ["ism", "dg"]}
    write_results(tmp_path / "results", config | change)
    done = add(tmp_path / "results", record, "1")
    assert (done.exit_code, message in done.stderr, "pack another record" in done.stderr) == (2, True, True)
    assert not (record / "layers").exists() or not [*(record / "layers").iterdir()]


def test_a_fault_in_a_layer_names_its_file(layered, tmp_path):
    for number, name in enumerate(("rows/third.csv.xz", "traces/first.csv.xz", "manifest.json")):
        place = shutil.copytree(layered, tmp_path / str(number))
        (place / "layers/2026-12-01" / name).write_bytes(b"x")
        with pytest.raises(DamagedError, match=f"layers/2026-12-01/{name}"), opened(place):
            pass
        with opened(place / "layers/base"):
            pass


def test_a_layer_has_a_later_name_and_the_same_configuration(results, layered, tmp_path):
    named = shutil.copytree(results, tmp_path / "named")
    config = json.loads((named / "config.json").read_text()) | {"name": "other"}
    (named / "config.json").write_text(json.dumps(config))
    for added, place, name, said in (
        (results, layered, "2026-12-01", "has the layer 2026-12-01: name one that sorts after it"),
        (results, layered, "2026-11-30", "has the layer 2026-12-01: name one that sorts after it"),
        (results, layered, "base", "'base' is no name of a layer"),
        (results, layered, "a/b", "'a/b' is no name of a layer"),
        (results, tmp_path / "absent", "1", "absent is no packed record"),
        (named, layered, "2027", "these results of 'other'"),
    ):
        done = add(added, place, name)
        assert (done.exit_code, said in done.stderr) == (2, True), done.stderr


def test_the_record_of_the_papers_and_one_with_layers_are_not_packed_over(
    results, packed, layered, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(packed, "results/reference")
    for words in (("--out", layered), ()):
        done = kdrbench("pack", results, *words)
        assert (done.exit_code, "is not packed over: add what it lacks with --layer" in done.stderr) == (2, True)
