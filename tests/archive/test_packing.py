"""Packed records: what is kept of results and what is thinned, that commands read them, and how damage is named."""

import io
import json
import lzma
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import cKDTree

from kdrbench.errors import DamagedError, KdrbenchError
from kdrbench.files import write_text
from kdrbench.suite.archive import folder
from kdrbench.suite.archive.folder import PackedFolder, Writer
from kdrbench.suite.archive.layers import opened, record_at, unpack
from kdrbench.suite.archive.run_data import SIDE, ArrayWriter, Job, Trace, read_arrays
from kdrbench.suite.findings.nearness import ACCURACIES, until
from kdrbench.suite.reports.records import read_runs
from support.command_line import kdrbench
from support.made_up_results import files_in, trace, two_experiments, write_results


def arrays_in(folder):
    found = {}
    for path in sorted(folder.rglob("*.npz")):
        with np.load(path) as archive:
            found |= {f"{path.relative_to(folder)}/{name}": archive[name] for name in archive.files}
    return found


def test_what_was_unpacked_is_packed_into_the_same_bytes(packed, tmp_path):
    assert kdrbench("unpack", packed, "--out", tmp_path / "results").exit_code == 0
    assert kdrbench("pack", tmp_path / "results", "--out", tmp_path / "again").exit_code == 0
    assert files_in(tmp_path / "again") == files_in(packed)
    # A record may be reached by a link.
    (tmp_path / "linked").symlink_to(packed)
    assert "second" in unpack(record_at(tmp_path / "linked"), tmp_path / "of a link")


def test_the_evidence_of_rows_is_packed_with_them(results, tmp_path):
    copied = shutil.copytree(results, tmp_path / "results")
    for path in (copied / "runs").rglob("*.jsonl"):
        path.write_text(path.read_text().replace('"code_id":""', '"code_id":"c0de"'))
    (copied / "evidence").mkdir()
    for name in ("code-c0de", "code-unknown"):
        (copied / "evidence" / f"{name}.json").write_text('{"kdrbench": "1"}')
    assert kdrbench("pack", copied, "--out", tmp_path / "packed").exit_code == 0
    unpack(record_at(tmp_path / "packed"), tmp_path / "again")
    assert [path.name for path in (tmp_path / "again" / "evidence").iterdir()] == ["code-c0de.json"]


@pytest.mark.slow("processes that import the library")
def test_two_processes_unpack_as_one_does_and_name_damage(packed, tmp_path):
    with opened(packed) as one, opened(packed, 2) as two:
        assert files_in(two) == files_in(one)
        assert (one / "ikdr.csv").is_file()
    damaged = shutil.copytree(packed, tmp_path / "damaged")
    (damaged / "rows/second.csv.xz").write_bytes(b"")
    with pytest.raises(DamagedError, match=r"second\.csv\.xz has not the SHA-256"), opened(damaged, 2):
        pass


def test_rows_are_the_same_and_projections_in_float32(results, packed, tmp_path):
    unpack(record_at(packed), tmp_path / "results")
    for name in ("merged/first.csv", "merged/second.csv", "ikdr.csv", "runs/second/wine/gaussian/ism/0-3.jsonl"):
        assert (tmp_path / "results" / name).read_bytes() == (results / name).read_bytes()
    kept, made = arrays_in(tmp_path / "results/findings"), arrays_in(results / "findings")
    assert set(kept) == set(made)
    for name, array in made.items():
        wanted = array.astype(np.float32) if "/projection_" in name else array
        assert kept[name].dtype == wanted.dtype
        np.testing.assert_array_equal(kept[name], wanted)
    # Pandas alone reads the rows.
    rows = pd.read_csv(packed / "rows/first.csv.xz")
    assert rows["cost"].tolist() == pd.read_csv(results / "merged/first.csv")["cost"].tolist()


def test_equal_arrays_are_stored_once_in_all_experiments(packed, tmp_path):
    # Both methods and both experiments found the same: runs 0 to 3 of a projection of 13 x 4.
    stored = {
        path.name: np.load(io.BytesIO(lzma.decompress(path.read_bytes()))).size
        for path in sorted((packed / "arrays").glob("*.f4.npy.xz"))
    }
    assert stored == {"first.f4.npy.xz": 2 * 13 * 4, "second.f4.npy.xz": 2 * 13 * 4}
    lines = PackedFolder(packed).rows("arrays/second.csv")
    projections = {line["name"][-1]: line["of"] for line in lines if "/projection_" in line["name"]}
    assert projections == {"0": "first", "1": "first", "2": "", "3": ""}


def test_large_projections_are_left_out_but_the_first(results, tmp_path, monkeypatch):
    monkeypatch.setattr("kdrbench.suite.archive.run_data.MOST_OF_A_CELL", 0)
    done = kdrbench("pack", results, "--out", tmp_path / "packed", "--licence", "CC0-1.0")
    assert "not stored: 5 projections" in done.output
    with opened(tmp_path / "packed") as folder:
        found = arrays_in(folder / "findings/second")
    assert {name.rpartition("/")[2] for name in found if "labels" not in name} == {
        *("projection_0", "not_stored_1", "not_stored_2", "not_stored_3")
    }
    assert found["wine/gaussian/ism/0-3.npz/wine/gaussian/ism/not_stored_1"].tolist() == ["projection"]
    assert "The licence is CC0-1.0, see LICENSE." in (tmp_path / "packed/README.md").read_text()
    assert (tmp_path / "packed/LICENSE").read_text().startswith("SPDX-License-Identifier: CC0-1.0\n")
    refused = kdrbench("pack", results, "--out", tmp_path / "packed", "--licence", "CC 0")
    assert (refused.exit_code, "it must be a word of the SPDX list" in refused.stderr) == (2, True)


def test_of_a_leagues_cell_the_maps_of_three_folds_are_stored_at_least(tmp_path, monkeypatch):
    monkeypatch.setattr("kdrbench.suite.archive.run_data.MOST_OF_A_CELL", 0)
    maps = {
        f"wine/lda/projection_{count}_{run}": np.full((13, count), run + count) for run in range(5) for count in (1, 2)
    }
    writer, arrays = Writer(tmp_path), ArrayWriter("league", {})
    arrays.add("league/cheap", maps)
    arrays.write(writer)
    writer.finish({"complete": True, "experiments": {}}, {})
    stored = read_arrays(PackedFolder(tmp_path), "league")["league/cheap"]
    absent = {f"wine/lda/not_stored_{run}": ["projection_1", "projection_2"] for run in (3, 4)}
    assert {name: array.tolist() for name, array in stored.items() if "not_stored" in name} == absent
    assert set(stored) == {name for name in maps if name[-1] in "012"} | set(absent)
    # Packed again, what is absent stays so and is counted.
    again = ArrayWriter("league", {})
    again.add("league/cheap", stored)
    assert (arrays.n_left_out, again.n_left_out, Job(arrays=stored).not_stored) == (4, 4, 4)


def test_a_record_counts_disturbed_rows_and_uncommitted_sources(tmp_path):
    config = two_experiments()
    write_results(tmp_path / "results", config, ["first"], timed=True, contaminated=True, git_dirty=True)
    write_results(tmp_path / "results", config, ["second"], timed=True, contaminated=False, git_dirty=False)
    done = kdrbench("pack", tmp_path / "results", "--out", tmp_path / "packed")
    assert done.exit_code == 0, done.output
    counts = json.loads((tmp_path / "packed/manifest.json").read_text())["experiments"].values()
    assert [(one["timed"], one["disturbed"], one["uncommitted"]) for one in counts] == [(4, 4, 4), (4, 0, 0)]


def test_only_finished_jobs_of_this_definition_are_packed(tmp_path):
    write_results(tmp_path / "results", two_experiments(), ["first"])
    done = kdrbench("pack", tmp_path / "results", "--out", tmp_path / "packed")
    assert "not there yet: 1 job;" in done.output
    manifest = json.loads((tmp_path / "packed/manifest.json").read_text())
    assert not manifest["complete"]
    assert list(manifest["experiments"]) == ["first"]
    # To go on, all is asked for; to read it, what is there.
    unpack(record_at(tmp_path / "packed"), tmp_path / "fresh")
    assert json.loads((tmp_path / "fresh/config.json").read_text())["run"] == ["first", "second"]
    assert not (tmp_path / "fresh/ikdr.csv").exists()
    with opened(tmp_path / "packed") as folder:
        assert json.loads((folder / "config.json").read_text())["run"] == ["first"]
        assert len(read_runs(folder / "ikdr.csv")) == 4
    # Rows of another definition are no finished job.
    write_results(tmp_path / "results", two_experiments(), ["first", "second"])
    config = json.loads((tmp_path / "results/config.json").read_text())
    config["kernels"]["gaussian"]["sigma"] = "0.5 median"
    (tmp_path / "results/config.json").write_text(json.dumps(config))
    done = kdrbench("pack", tmp_path / "results", "--out", tmp_path / "packed")
    assert done.exit_code == 2
    assert "holds no finished job of this configuration" in done.stderr


def test_unpack_and_report_refuse_folders_of_another_kind(results, packed, tmp_path):
    done = kdrbench("unpack", packed, "--out", results)
    assert done.exit_code == 2
    assert "holds results; name a folder" in done.stderr
    done = kdrbench("report", tmp_path / "reference", "--out", tmp_path / "reports")
    assert done.exit_code == 2
    assert "is not there: `kdrbench pack` makes a record" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "ism", "gm", "--results"),
        ("compare",),
        ("reports", "first", "--out", "OUT", "--results"),
        ("summary", "--out", "OUT"),
    ],
    ids=lambda words: words[0],
)
def test_commands_read_a_packed_record_as_they_read_results(results, packed, tmp_path, words, monkeypatch):
    monkeypatch.chdir(results.parent)
    said = []
    for place in (results, packed):
        done = kdrbench(*(word.replace("OUT", str(tmp_path)) for word in words), place)
        assert done.exit_code == 0, done.output
        said.append([line for line in done.stdout.splitlines() if str(tmp_path) not in line and "iterates" not in line])
    assert said[0] == said[1]
    # What was unpacked is removed.
    assert not [path for path in tmp_path.parent.glob("kdrbench-*")]


@pytest.mark.slow("makes all reports once, by the command")
def test_all_reports_of_a_record_are_made_without_data(packed, results, tmp_path):
    assert kdrbench("report", packed, "--out", tmp_path / "reports").exit_code == 0
    made = files_in(tmp_path / "reports")
    wanted = {"first.tex", "second.html", "claims.json", "dashboard.html", "published_vs_ours.csv"}
    assert wanted | {"figures/performance_profile.pdf", "figures/first_cost_against_time.png"} <= set(made)
    # Those of the results themselves.
    assert kdrbench("reports", "first", "--out", tmp_path, "--results", packed).exit_code == 0
    assert made["first.csv"] == (tmp_path / "first.csv").read_bytes()


@pytest.mark.whole
def test_a_command_that_is_ended_removes_what_it_has_unpacked(packed, tmp_path):
    out = tmp_path / "waits"
    # Reading a pipe that nothing writes to, the command waits with the record unpacked.
    os.mkfifo(out)
    surroundings = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "kdrbench", "plan", "--config", str(out), "--results", str(packed)]
    with subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not list(tmp_path.glob("kdrbench-*/*/config.json")):
            assert process.poll() is None
            time.sleep(0.05)
        process.terminate()
        process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert not list(tmp_path.glob("kdrbench-*"))


@pytest.fixture(scope="module")
def both():
    """A long trace, the thinned one, and the best cost known of the problem."""
    whole, other = (Trace.of(trace("gm", run, 4000)) for run in range(2))
    best = min(whole.cost.min(), other.cost.min())
    return whole, whole.thinned(best, drawn=True), best


def drawn(trace, best):
    """Points on the steps of a curve, a tenth of a square apart, in squares."""
    x, y = trace.coordinates(best)[:2, trace.time > 0] / SIDE
    corners = np.column_stack([np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]])
    parts = [np.linspace(a, b, 2 + int(10 * np.abs(b - a).max())) for a, b in pairwise(corners)]
    return np.concatenate(parts)


@pytest.mark.parametrize("lower", [0.0, pytest.param(1e-3, marks=pytest.mark.whole), 1.0])
def test_no_part_of_a_curve_moves_by_more_than_a_square(both, lower):
    whole, kept, best = both
    assert len(kept.time) < 0.8 * len(whole.time)
    first, second = (drawn(trace, best - lower) for trace in (whole, kept))
    assert cKDTree(first).query(second)[0].max() < 2**0.5
    assert cKDTree(second).query(first)[0].max() < 2**0.5


def test_what_decides_numbers_is_kept_in_few_digits(both):
    whole, kept, best = both
    for mine, theirs in ((0, 0), (-1, -1), (int(kept.cost.argmin()), int(whole.cost.argmin()))):
        assert (kept.time[mine], kept.cost[mine]) == (whole.time[theirs], whole.cost[theirs])
    assert (np.diff(kept.time) >= 0).all()
    assert np.median([len(repr(float(seconds))) for seconds in kept.time]) <= 9
    # What no figure shows has fewer points.
    kept = whole.thinned(best, drawn=False)
    assert len(kept.time) <= 3 + len(ACCURACIES)
    np.testing.assert_array_equal(kept.cost, [cost for cost in whole.cost if cost in set(kept.cost)])


@pytest.mark.parametrize("is_drawn", [True, False])
def test_the_time_to_each_accuracy_is_exact(both, is_drawn):
    whole, _, best = both
    kept = whole.thinned(best, drawn=is_drawn)
    curves = [np.column_stack([one.time, np.minimum.accumulate(one.cost)]) for one in (kept, whole)]
    for accuracy in ACCURACIES:
        assert until(curves[0], best, accuracy) == until(curves[1], best, accuracy), accuracy


@pytest.mark.parametrize("n_points", [0, 1, 2])
def test_short_traces_stay_as_they_are(n_points):
    whole = Trace.of(trace("gm", 0, 4)[:n_points])
    np.testing.assert_array_equal(whole.thinned(-1400.0, drawn=True).cost, whole.cost)


@pytest.fixture
def record(packed, tmp_path):
    return shutil.copytree(packed, tmp_path / "in/packed")


def rewrite(record, name, content, *, packed=None):
    """Put other content into a file, and its hash into the manifest."""
    path, manifest = record / f"{name}.xz", json.loads((record / "manifest.json").read_text())
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress(content) if packed is None else packed)
    manifest["files"][name] = {"bytes": 0, "sha256": folder.hashlib.sha256(path.read_bytes()).hexdigest()}
    (record / "manifest.json").write_text(json.dumps(manifest))


def replaced(name, old, new):
    def work(record):
        text = lzma.decompress((record / f"{name}.xz").read_bytes()).decode()
        assert old in text
        rewrite(record, name, text.replace(old, new).encode())

    return work


def of_manifest(work):
    def change(record):
        manifest = json.loads((record / "manifest.json").read_text())
        work(manifest)
        (record / "manifest.json").write_text(json.dumps(manifest))

    return change


def cut(record):
    path = record / "rows/first.csv.xz"
    rewrite(record, "rows/first.csv", b"", packed=path.read_bytes()[:-20])


ROWS, ARRAYS, VALUES, TRACES = "rows/first.csv", "arrays/first.csv", "arrays/first.f4.npy", "traces/first.csv"
# By what is damaged: each fault, and what is said of it.
FAULTS = {
    "files": [
        (lambda r: (r / "rows/first.csv.xz").write_bytes(b"x"), "has not the SHA-256"),
        (lambda r: (r / "traces/first.csv.xz").unlink(), "is missing"),
        (cut, "is no file of xz"),
        (lambda r: rewrite(r, ROWS, b"", packed=b"no file of xz at all"), "is no file of xz"),
    ],
    "manifest": [
        (lambda r: (r / "manifest.json").write_text("[]"), "its format is not"),
        (of_manifest(lambda m: m.update(version=1)), "its version is 1"),
        (of_manifest(lambda m: m["files"].update({"charts/../../x.json": {"sha256": ""}})), "no file of such a record"),
        (of_manifest(lambda m: m["experiments"].update(third={})), "has no rows of"),
    ],
    "rows": [
        (replaced(ROWS, "first/wine/", "first/../../wine/"), "no job's"),
        (replaced(ROWS, "converged", "conquered"), "unknown status"),
        (replaced("configuration.json", '"seed":', '"name":"../x","seed":'), "has no configuration"),
        (
            replaced("configuration.json", '"run":["first",', '"run":["other","first",'),
            "which is none of its experiments",
        ),
    ],
    "traces": [
        (replaced(TRACES, "wine/gaussian/ism,0,", "wine/gaussian/ism,0,x"), "is no point"),
        (replaced(TRACES, "ism,0,", "ism,0,0,0,0,0,"), "line 2 has 11 cells in place of 7"),
    ],
    "arrays": [
        (replaced(ARRAYS, "13x4", "130000x4"), "names no array"),
        (replaced(ARRAYS, ",f4,", ",x4,"), "names no array"),
        (replaced(ARRAYS, ",0,\n", ",0,../rows/first\n"), "names no arrays/../rows"),
        (lambda r: rewrite(r, VALUES, b"x"), "is no array of NumPy's"),
    ],
}


@pytest.mark.parametrize("part", FAULTS)
def test_each_fault_is_said_and_no_results_are_left(packed, tmp_path, part):
    for number, (work, said) in enumerate(FAULTS[part]):
        folder = tmp_path / str(number)
        record = shutil.copytree(packed, folder / "in/packed")
        work(record)
        with pytest.raises(KdrbenchError, match=said):
            unpack(record_at(record), folder / "out/results")
        # Nor is anything that could be taken for results.
        written = {path for path in tmp_path.rglob("*") if "in" not in path.relative_to(tmp_path).parts}
        assert written <= {folder, folder / "out", folder / "out/results"}, said
        shutil.rmtree(folder)


def test_a_killed_unpacking_leaves_no_results(record, tmp_path, monkeypatch):
    out, writes = tmp_path / "out", iter(range(100))

    def killed(path, text):
        if next(writes) == 1:
            os._exit(9)
        write_text(path, text)

    child = os.fork()
    if child == 0:
        monkeypatch.setattr("kdrbench.suite.engine.publish.write_text", killed)
        unpack(record_at(record), out)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert not (out / "config.json").exists()
    assert not (out / "runs").exists()
    (out / "data").mkdir()
    assert unpack(record_at(record), out) == ["first", "second"]
    assert {path.name for path in out.iterdir() if path.name.startswith(".")} == set()
    with pytest.raises(KdrbenchError, match="holds results"):
        unpack(record_at(record), out)


def test_a_trace_that_is_cut_is_said_by_its_path(results, tmp_path):
    mine = shutil.copytree(results, tmp_path / "mine")
    path = next(path for path in sorted((mine / "traces").rglob("*")) if path.is_file())
    path.write_bytes(path.read_bytes()[:-20])
    done = kdrbench("pack", mine, "--out", tmp_path / "out")
    assert (done.exit_code, f"{path} is no trace" in done.stderr) == (2, True), done.exception
    assert not (tmp_path / "out").exists()


def test_a_record_includes_no_other(record):
    replaced("configuration.json", '"seed":', '"include":"/tmp","seed":')(record)
    with opened(record) as place:
        assert "include" not in json.loads((place / "config.json").read_text())
