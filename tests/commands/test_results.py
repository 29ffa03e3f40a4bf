"""`kdrbench compare`, and the steps that make reports, on made-up runs."""

import json
import shutil
import time
from concurrent.futures import ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kdrbench.suite.commands import reports
from kdrbench.suite.paired import holm
from kdrbench.suite.systems.ikdr.paired_tests import paired_tests
from support.command_line import kdrbench
from support.record_folders import whole_config as frozen_config
from support.report_rows import run

RNG = np.random.default_rng(0)


def folds(solver, costs, times, dataset="wine", **columns):
    return [
        run(dataset, solver, fold, cost=cost, time_s=time_s, quality=0.9, **columns)
        for fold, (cost, time_s) in enumerate(zip(costs, times, strict=True))
    ]


def test_two_solvers_are_tested_with_few_runs_and_corrected_over_cells():
    runs = []
    for dataset, n_folds in (("wine", 8), ("iris", 2), ("car", 10)):
        costs = -10.0 - RNG.random(n_folds)
        runs += folds("a", costs, [1.0] * n_folds, dataset)[::-1]
        runs += folds("b", costs + RNG.random(n_folds), [2.0] * n_folds, dataset)
    tests = paired_tests(pd.DataFrame(runs), chosen=("b", "a"))
    costs, times = ([test for test in tests if test.metric == metric] for metric in ("cost", "time_s"))
    assert [test.pairs for test in costs] == [8, 2, 10]
    # All signs alike: 2 of the 2^n equally likely ones.
    assert [test.p for test in costs] == pytest.approx([2 / 2**8, 2 / 2**2, 2 / 2**10])
    assert [test.p_holm for test in costs] == holm([test.p for test in costs])
    assert [test.lower for test in times] == ["a", "", "a"]


@pytest.fixture
def results(tmp_path):
    """Results of two solvers, as the workflow leaves them."""
    rows = folds("a", [-3.0, -2.0], [1.0, 1.0]) + folds("b", [-2.0, -1.0], [2.0, 2.0])
    pd.DataFrame(rows).to_csv(tmp_path / "ikdr.csv", index=False)
    (tmp_path / "config.json").write_text(json.dumps(frozen_config(["e"]) | {"run": ["e"]}))
    return tmp_path


def test_a_table_of_another_system_is_not_compared(tmp_path):
    (tmp_path / "merged").mkdir()
    (tmp_path / "config.json").write_text(json.dumps(frozen_config(["league"]) | {"run": ["league"]}))
    shared = {"experiment": "league", "dataset": "wine", "run": 0, "status": "converged"}
    rows = [shared | {"method": name} for name in ("lda", "sir")]
    pd.DataFrame(rows).to_csv(tmp_path / "merged" / "league.csv", index=False)
    done = kdrbench("compare", "lda", "sir", "--experiment", "league", "--results", tmp_path)
    assert (done.exit_code, "Traceback" in done.output) == (2, False)
    assert "league.csv is of another system than ikdr" in done.output


def test_compare_prints_a_table_or_json(results):
    done = kdrbench("compare", results, "a", "b")
    assert (done.exit_code, "p (Holm): corrected over all cells" in done.output) == (0, True), done.output
    head, *lines = [line.split() for line in done.output.splitlines()]
    assert head[:5] == ["Experiment", "Metric", "Data", "Kernel", "Pairs"]
    assert lines[1] == ["e", "Cost", "Wine", "Gaussian", "2", "-2.5", "-1.5", "-1", "0.5", "0.5", "-"]
    said = json.loads(kdrbench("compare", "a", "b", "--results", results, "--json").output)
    assert [one["metric"] for one in said] == ["time_s", "cost", "accuracy"]
    assert said[0]["difference"] == -1.0


def test_what_is_not_there_is_one_sentence_and_2(results):
    for words, message in [
        (["compare", "a", "c"], "unknown method 'c'"),
        (["compare", "a", "b", "--experiment", "f"], "unknown experiment 'f'; allowed: e"),
        (["compare", "a", "b", "--name", "mine"], "mine/config.json is not there: start the workflow"),
    ]:
        done = kdrbench(*words, "--results", results)
        assert (done.exit_code, message in done.stderr) == (2, True)


def kept(results, status, *methods):
    """Give the runs of some methods in the merged table another ending."""
    table = pd.read_csv(results / "ikdr.csv")
    table.loc[table["method"].isin(methods), "status"] = status
    table.to_csv(results / "ikdr.csv", index=False)


def test_runs_that_failed_are_not_compared(results):
    kept(results, "failed", "a")
    done = kdrbench("compare", "a", "b", "--results", results)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("kdrbench: nothing can be compared: 'a' and 'b' share no run")
    assert kdrbench("compare", "a", "b", "--results", results, "--json").stdout == "[]\n"
    table = pd.read_csv(results / "ikdr.csv")
    table.loc[0, "status"] = "converged"
    table.to_csv(results / "ikdr.csv", index=False)
    done = kdrbench("compare", "a", "b", "--results", results)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[2].split()[:5] == ["e", "Cost", "Wine", "Gaussian", "1"]


def test_a_damaged_table_is_named_with_what_to_do(results):
    path = results / "ikdr.csv"
    sound = path.read_bytes()
    cut = [b"", sound[:-9], sound[: sound.index(b"\n") + 40], bytes(1000)]
    cut += [sound.replace(b"converged", b"conv", 1), sound.replace(b"status", b"stat", 1)]
    for damaged in (*cut, sound + b"\xff\n", sound + b"a," * 400 + b"\n"):
        path.write_bytes(damaged)
        done = kdrbench("compare", "a", "b", "--results", results)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith(f"kdrbench: {path} is no whole table (")
        assert "; delete it and start the workflow again" in done.stderr


@pytest.fixture
def named(results, tmp_path, monkeypatch):
    """The usual folders of a configuration called demo, the only one with results, as the working directory."""
    folder = tmp_path / "there" / "results" / "demo"
    (folder / "merged").mkdir(parents=True)
    config = frozen_config(["e"]) | {"name": "demo", "run": ["e"]}
    config["experiments"]["e"].pop("published", None)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "ikdr.csv").write_text((results / "ikdr.csv").read_text())
    monkeypatch.chdir(tmp_path / "there")
    return folder


CHOSEN = [["papers"], ["compare", "a", "b"]]


def test_in_the_usual_folder_no_options_are_needed(named):
    for words, said in zip(CHOSEN, ["", "Metric"], strict=True):
        done = kdrbench(*words)
        assert done.exit_code == 0, done.output
        assert said in done.stdout
        assert "kdrbench: of results/demo, the only configuration with results" in done.stderr
    done = kdrbench("papers")
    assert "kdrbench: writing to reports/demo\n" in done.stderr
    assert {"claims.json", "published_vs_ours.csv"} <= {path.name for path in Path("reports/demo").iterdir()}
    # A figure is asked for among those of the configuration that was chosen.
    done = kdrbench("reports", "figures/none")
    assert (done.exit_code, "writing to reports/demo\n" in done.stderr) == (2, True)


def test_of_several_configurations_none_is_chosen(named):
    (named.parent / "mine").mkdir()
    (named.parent / "mine" / "config.json").write_text("{}")
    for words in (*CHOSEN, ["reports", "figures/none"], ["verify"], ["verify", "--rerun"]):
        done = kdrbench(*words)
        assert done.exit_code == 2
        assert "those with a name: demo, mine (--name demo)" in done.stderr


@pytest.mark.parametrize("chosen", [["--name", "demo"], ["--results", "results/demo"]])
def test_a_configuration_is_chosen_by_name_or_folder(named, chosen):
    for folder in ("mine", "traces"):
        (named.parent / folder).mkdir()
    (named.parent / "mine" / "config.json").write_text("{}")
    for words in CHOSEN:
        done = kdrbench(*words, *chosen)
        assert done.exit_code == 0, done.output
    assert "writing to reports/demo\n" in kdrbench("reports", "figures/none", *chosen).stderr
    assert (named.parents[1] / "reports/demo/claims.json").is_file()


def test_reports_of_another_record_are_written_apart(named, tmp_path):
    for name in ("theirs", "demo"):
        shutil.copytree(named, tmp_path / "elsewhere" / name)
        for table in ("merged/e.csv", "ikdr.csv"):
            shutil.copy(named / "ikdr.csv", tmp_path / "elsewhere" / name / table)
    done = kdrbench("papers", "--results", tmp_path / "elsewhere" / "theirs")
    assert (done.exit_code, done.stderr) == (0, "kdrbench: writing to reports/theirs\n")
    written = [path for path in Path("reports").rglob("*") if path.is_file()]
    assert {path.parts[:2] for path in written} == {("reports", "theirs")}
    done = kdrbench("papers", "--results", tmp_path / "elsewhere" / "demo")
    assert (done.exit_code, "reports/demo is of your own configuration demo" in done.stderr) == (2, True)


def test_a_missing_record_is_said_before_anything_else(named):
    for words in (["papers"], ["reports", "figures/none"]):
        done = kdrbench(*words, "--results", "nowhere")
        assert (done.exit_code, "writing" in done.stderr) == (2, False)
        assert "nowhere/config.json is not there" in done.stderr


def test_an_interrupt_ends_the_processes_of_a_report_at_once():
    pool, begun = ProcessPoolExecutor(1, get_context("spawn")), []

    def interrupted():
        with pool, reports._ended_by_any_error(pool):
            begun.extend(pool.submit(time.sleep, 600) for _ in range(3))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    # Those that had begun have an error, and those that were waiting are cancelled.
    wait(begun[:1], timeout=60)
    assert [one.done() for one in begun] == [True] * 3
