"""A sound record verifies by code that made none of its runs; what was tampered with is found."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kdrbench.datasets.prepared import load_defined
from kdrbench.errors import ConfigError, DataError
from kdrbench.suite.csv_files import read_csv
from kdrbench.suite.engine.identity import _imported
from kdrbench.suite.systems.ikdr.objectives import median_distance
from kdrbench.suite.systems.ikdr.recompute import RunSamples, RunToVerify
from kdrbench.suite.verification import verify as verifying
from kdrbench.suite.verification.verify import Finding, Record, verify, within_budget
from support import tampering
from support.calls import OF_RUNS, ROOT, called_by
from support.command_line import kdrbench
from support.tampering import FOLD, archive, change_array, change_config, last_digit, place_of, put, write

KINDS = ["record", "packed_record"]


def verified(record):
    return verify(Record(record, own_code=True))


@pytest.mark.slow("makes the record of all tests of this module, and packs it")
@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_record_verifies_by_no_function_of_the_runs(request, kind):
    read, verified = Record(request.getfixturevalue(kind), own_code=True), []
    # The configuration is checked by the systems, which ask solvers for their options.
    assert read.grid.batches()
    verifying._loaded.cache_clear()
    assert called_by(lambda: verified.append(verify(read))) == set()
    (found,) = verified
    assert [str(finding) for finding in found.findings] == []
    # Of each solver's run on folds ten numbers, of others at least seven.
    assert found.rows == 25
    assert found.numbers > 200
    assert not any("curvature" in reason for reason in found.left_out)


OTHER_FOLD, FAILED = "folds/wine/gaussian/ism/1", "folds/wine/gaussian/fails/0"
SVM, CLUSTERS = "folds/wine/none/svm/0", "clusters/wine/gaussian/ism/0"
OTHERS, HIDDEN = "others/four-gaussians/gaussian/ism/0", "hidden/wine/none/label_spreading/0"
POLYNOMIAL, MULTIQUADRIC = "folds/wine/polynomial/ism/0", "folds/wine/multiquadric/ism/0"
COMBINED, LINEAR, SQUARED = "folds/wine/gaussian_polynomial/ism/0", "rows/wine/linear/ism/0", "rows/wine/squared/ism/0"
MORE_CLUSTERS, HIDDEN_ISM = "clusters/wine/polynomial/ism/0", "hidden/wine/gaussian/ism/0"


def row(place, *found, **columns):
    """Change columns of a row, which are found unless another column is."""
    return [(place, column, lambda r, p: put(r, p, **columns)) for column in found or columns]


def scaled(place, column, factor):
    return [(place, column, lambda r, p: tampering.scaled(r, p, column, factor))]


def array(place, column, kind, work):
    return [(place, column, lambda r, p: change_array(r, p, kind, lambda found, _: work(found)))]


def turned(projection):
    other = projection.copy()
    other[:, 0] += 2e-5 * np.arange(len(other))
    return np.linalg.qr(other)[0]


def change_rows(record, work):
    write(record, work(read_csv(record / "ikdr.csv")))


# Those of one group touch different columns or rows, so that a single verification finds all of them.
GROUPS = {
    "numbers": [
        *scaled(FOLD, "cost", 1 + 1e-5),
        *scaled(CLUSTERS, "cost", 1 + 1e-5),
        *scaled(CLUSTERS, "quality", 1 + 1e-9),
        *row(FOLD, train_accuracy="0.9", stationarity="1e-3", curvature="0.5", feasibility="1e-3"),
        *row(FOLD, n_components="3", n_test="10", n_constant_features="3", eigengap="-0.5"),
        *row(OTHER_FOLD, eigengap=""),
        *row(POLYNOMIAL, curvature="", quality="17.0"),
        *row(OTHERS, nmi_given="0.0"),
        *row(SVM, quality="1.0"),
        *row(HIDDEN, quality="0.999"),
        *row(FAILED, cost="-2000.0"),
        *scaled(COMBINED, "eigengap", 0.5),
        *scaled(COMBINED, "eigengap_needed", 0.5),
    ],
    "arrays": [
        *array(FOLD, "stationarity", "projection", turned),
        *array(OTHER_FOLD, "result", "projection", lambda projection: projection[:-1]),
        *array(SVM, "result", "labels", lambda labels: labels[:-1]),
        *array(CLUSTERS, "quality", "labels", lambda labels: labels[::-1]),
        *array(MORE_CLUSTERS, "result", "labels", lambda labels: labels * np.nan),
        *array(POLYNOMIAL, "cost", "projection", lambda _: None),
        *array(SQUARED, "result", "projection", lambda projection: projection * np.nan),
        *array(LINEAR, "result", "projection", lambda projection: projection * 0),
        *array(OTHERS, "result", "projection", lambda projection: projection[:, :0]),
        *array(HIDDEN_ISM, "result", "projection", lambda projection: projection.astype(float) * 1e300),
    ],
    # An experiment has one archive.
    "archives": [
        *row(FOLD, "cost", trace_file="nowhere.jsonl"),
        (LINEAR, "cost", lambda r, p: archive(r, p).unlink()),
        (CLUSTERS, "result", lambda r, p: archive(r, p).write_bytes(archive(r, p).read_bytes()[:100])),
        *array(OTHERS, "result", "projection", lambda projection: projection.astype(object)),
        *array(HIDDEN, "result", "labels", lambda labels: np.zeros(len(labels), [("a", "i4")])),
    ],
    "keys, and words that no run writes": [
        *row(FOLD, data_sha256="0" * 64, seed="1"),
        *row(CLUSTERS, definition_sha256="0" * 64),
        *row(OTHER_FOLD, "row", quality="inf"),
        *row(POLYNOMIAL, "row", iterations="x"),
        *row(MULTIQUADRIC, "row", n_train=""),
        *row(LINEAR, "row", status="solved"),
        *row(SQUARED, "row", uses_degrees="maybe"),
        (HIDDEN, "row", lambda r, p: change_rows(r, lambda rows: [*rows, *(x for x in rows if place_of(x) == p)])),
        (FAILED, "row", lambda r, p: change_rows(r, lambda rows: [x for x in rows if place_of(x) != p])),
        *row(SVM, "row", run="7"),
    ],
}


@pytest.mark.slow("a record that is made and verified whole")
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("kind", KINDS)
def test_tampering_is_found_in_its_row_and_column(request, kind, group):
    record = request.getfixturevalue(kind)
    for place, _, work in GROUPS[group]:
        work(record, place)
    found = {(finding.place, finding.column) for finding in verified(record).findings}
    assert [(place, column) for place, column, _ in GROUPS[group] if (place, column) not in found] == []


@pytest.mark.slow("a record that is made and verified whole")
def test_another_configuration_is_found(record):
    # The number of folds is in no definition of clusters.
    change_config(record, lambda config: config["kernels"]["gaussian"].update(sigma="0.5 median"))
    change_config(record, lambda config: config["experiments"]["folds"].update(folds=3))
    found = {(finding.place, finding.column) for finding in verified(record).findings}
    assert {(CLUSTERS, "definition_sha256"), ("folds/wine/gaussian/ism/2", "row")} <= found


def test_of_many_samples_the_runs_of_a_budget_are_verified(record):
    found = verify(Record(record, own_code=True), most=80)
    assert [str(finding) for finding in found.findings] == []
    assert found.left_out["accuracies and curvatures of runs of more than 80 samples"] > 10
    assert found.left_out["baselines of more than 80 samples"] > 0
    assert any(reason.startswith("clusterings") for reason in found.left_out)
    nothing = verify(Record(record, own_code=True), most=80, budget_s=0.0)
    assert nothing.left_out["runs that the budget did not reach, of more than 80 samples"] > 10
    last_digit(record, FOLD, "cost")
    assert "cost" in {finding.column for finding in verify(Record(record, own_code=True), most=80).findings}
    places = [(str(number), 1.0) for number in range(100)]
    first, second = (within_budget(places, seed, 10.0) for seed in (0, 1))
    assert len(first) == len(second) == 10
    assert first != second
    assert first == within_budget(reversed(places), 0, 10.0)
    assert first < within_budget(places, 0, 50.0)


def test_a_sample_of_rows_is_verified_with_all_keys(record, monkeypatch):
    found = verify(Record(record, own_code=True), sample=3)
    others = verify(Record(record, own_code=True), sample=3, seed=1)
    whole = verified(record)
    assert (found.rows, found.findings) == (whole.rows, [])
    assert 0 < found.numbers < whole.numbers / 3
    undrawn = found.left_out["rows that were not drawn"]
    assert undrawn == whole.rows - 3
    assert (others.numbers, others.left_out) != (found.numbers, found.left_out)
    # Data of rows that are not drawn are not read.
    loaded = []
    monkeypatch.setattr(verifying, "_loaded", lambda name, *_: loaded.append(name) or load_defined(name, {}))
    verify(Record(record, own_code=True), sample=1)
    assert len(set(loaded)) == 1


@pytest.mark.parametrize("n", [40, 41, 600])
def test_the_median_distance_of_many_is_that_of_all_pairs(n):
    samples = np.random.default_rng(n).normal(size=(n, 3))
    samples[3] = samples[4]
    assert median_distance(samples) == pytest.approx(np.median(cdist(samples, samples)), rel=1e-12)


def test_a_record_that_cannot_be_read_is_refused(tmp_path):
    nothing = kdrbench("verify", tmp_path)
    assert nothing.exit_code == 2
    assert "config.json is not there: start the workflow" in nothing.output
    (tmp_path / "config.json").write_text("[" * 200_000)
    found = kdrbench("verify", "--own-code", tmp_path)
    assert (found.exit_code, "maximum recursion depth" in found.output) == (2, True), found.output
    # A named configuration is read in its own folder.
    with pytest.raises(ConfigError, match=r"mine/config\.json cannot be read"):
        _ = Record(tmp_path, "mine").grid


def test_the_command_says_what_it_found(record):
    sound = kdrbench("verify", "--own-code", record)
    assert sound.exit_code == 0, sound.output
    assert "0 findings" in sound.output
    last_digit(record, FOLD, "cost")
    tampered = kdrbench("verify", "--own-code", record, "--json")
    assert tampered.exit_code == 1
    (finding,) = [one for one in json.loads(tampered.output)["findings"] if one["column"] == "cost"][:1]
    assert finding["place"] == FOLD


def test_code_that_a_record_names_is_run_on_request_only(record, tmp_path):
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'was_run')!r}, 'w')\n")
    change_config(record, lambda config: config["solvers"]["fails"].update(method=f"{evil}:Solver"))
    refused = kdrbench("verify", record)
    assert refused.exit_code == 2
    assert "names code that is not kdrbench's" in refused.output
    assert "--own-code" in refused.output
    assert not (tmp_path / "was_run").exists()


def test_data_that_cannot_be_read_are_tried_once_and_named(record, monkeypatch):
    asked, load = [], verifying.load_defined

    def nowhere(name, definition, mirror):
        asked.append(name)
        raise DataError(f"data set {name!r} could not be fetched")

    monkeypatch.setattr(verifying, "load_defined", nowhere)
    verifying._loaded.cache_clear()
    found = verify(Record(record, own_code=True))
    assert sorted(asked) == ["four-gaussians", "wine"]
    assert found.missing == {name: f"data set {name!r} could not be fetched" for name in asked}
    assert (found.findings, found.checked, sorted(found.left_out.values())) == ([], 0, [1, 24])
    assert kdrbench("verify", record, "--own-code", "--json").exit_code == 2
    done = kdrbench("verify", record, "--own-code")
    assert done.exit_code == 2
    assert "24 rows on wine, whose data cannot be had: data set 'wine' could not be fetched" in done.output
    assert "no number could be computed again, for lack of data" in done.output
    # Another data set's rows are drawn instead.
    monkeypatch.setattr(verifying, "load_defined", lambda name, *more: {"wine": nowhere}.get(name, load)(name, *more))
    verifying._loaded.cache_clear()
    drawn = verify(Record(record, own_code=True), sample=2)
    assert ([*drawn.missing], drawn.checked, drawn.numbers > 0) == (["wine"], 1, True)
    assert verifying.way_to("cancer", "no server") == "`kdrbench data fetch cancer` gets them"


def test_clusterings_are_verified_with_and_without_labels():
    rng = np.random.default_rng(0)
    samples = RunSamples(rng.standard_normal((20, 4)), np.empty((0, 4)), np.arange(20), np.arange(0), np.ones(20, bool))
    definition = {"kind": "solver", "paradigm": "unsupervised", "kernel": {"family": "gaussian", "sigma": 2.0}}
    definition |= {"parameters": {"n_clusters": 2}, "labellings": {}}
    codes = np.arange(20) % 2
    arrays = {"projection": np.linalg.qr(rng.standard_normal((4, 2)))[0], "labels": codes}
    labelled, plain = (
        RunToVerify(definition, samples, SimpleNamespace(labels=labels, labellings=()), arrays).numbers()
        for labels in (codes, np.empty(0, np.int64))
    )
    assert labelled.pop("quality").value == 1.0
    assert plain == labelled
    assert {"cost", "stationarity"} <= set(plain)


def test_a_finding_is_a_short_line_of_visible_letters():
    line = str(Finding("place", "config.seed", "1" + "0" * 400, "\x1b[31m"))
    assert len(line) < 300
    assert line.isprintable()


# These compute, and rest on errors, data, batches and each other.
PURE = ("engine.recomputed", "systems.ikdr.objectives", "systems.ikdr.recompute", "systems.league.recompute")


def file_of(module):
    path = ROOT.parent.joinpath(*module.split("."))
    return next((one for one in (path / "__init__.py", path.with_suffix(".py")) if one.is_file()), None)


def imports_of(module):
    """Return the modules of kdrbench that a module imports anywhere."""
    names = _imported(file_of(module), module)
    return (name for name in names if name.startswith("kdrbench.") and file_of(name))


def all_below(module):
    """Return the modules that a module rests on.

    Data are what both opinions have in common, and the packages kdrbench and systems load what they name on request.
    """
    seen, ahead = set(), [module]
    while ahead:
        name = ahead.pop()
        if name in seen or name in ("kdrbench", "kdrbench.suite.systems") or name.startswith("kdrbench.datasets"):
            continue
        seen.add(name)
        ahead += [name.rpartition(".")[0], *imports_of(name)]
    return seen


def test_what_computes_rests_on_nothing_that_made_the_runs():
    for name in PURE:
        packages = {one.split(".")[1] for one in all_below(f"kdrbench.suite.{name}")}
        assert not packages & {*OF_RUNS, "plugins"}, name
