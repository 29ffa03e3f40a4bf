"""Which runs are compared with what papers print, by the project's own configuration and by overlays on it."""

import pandas as pd
import pytest

from kdrbench.suite.experiments.config_file import lay_over, read_config_file
from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.claims import decide_claims
from kdrbench.suite.findings.finding import Decision
from kdrbench.suite.findings.ledger import compare
from kdrbench.suite.reports.protocol import comparable, departure
from kdrbench.suite.reports.records import NO_KERNEL
from kdrbench.suite.reports.tables.verdicts import Verdict
from support.claim_rows import cells
from support.configs import ROOT, whole_config
from support.report_rows import runs_of

FOUR = "table4_supervised"


def departures_of(config):
    """Every departure of the experiments of `run`, by experiment."""
    found = {}
    for name in config["run"]:
        one = config["experiments"][name]
        methods = [(kernel, solver) for kernel in one.get("kernels", [""]) for solver in one.get("solvers", [""])]
        methods += [(NO_KERNEL, baseline) for baseline in one.get("baselines", [])]
        methods += [("", method) for method in one.get("methods", [])]
        for dataset in one["datasets"]:
            for kernel, method in methods:
                if reason := departure(one, config, dataset, kernel, method):
                    found.setdefault(name, set()).add(reason)
    return found


def test_papers_depart_from_nothing_the_demo_is_smaller():
    assert departures_of(whole_config()) == {}
    sizes = "candidates of {} is sigmas 11 values, printed with sigmas 21 values; 3 splits, at least 40 are asked for"
    demo = lay_over(whole_config(), read_config_file(ROOT / "config.demo.yaml"))
    assert departures_of(demo) == {
        "demo_kpca_tables": {
            f"3 cv_folds, printed of 5; training of {data} is 100, printed with 200; {sizes.format(data)}"
            for data in ("Iris (scikit-learn)", "Wine")
        },
        "demo_lowrank_gyrb": {"2 runs, at least 5 are asked for"},
    }


@pytest.mark.parametrize(
    ("overlay", "reason"),
    [
        ({"experiments": {FOUR: {"folds": 2}}}, "2 folds, printed of 10"),
        ({"experiments": {FOUR: {"components": {"wine": 3}}}}, "q of Wine is 3, printed with 4"),
        ({"experiments": {FOUR: {"start": "random"}}}, "start is random, printed with surrogate"),
        ({"experiments": {FOUR: {"scaling": "own"}}}, "scaling is own, printed with training"),
        ({"experiments": {FOUR: {"evaluation": {"tolerance": 0.1}}}}, "evaluation is tolerance 0.1, printed with none"),
        ({"kernels": {"gaussian": {"sigma": "0.1 median"}}}, "sigma of gaussian is 0.1 median, printed with median"),
        ({"solvers": {"ism": {"tolerance": 0.5}}}, "tolerance of ism is 0.5, printed with 0.01"),
        ({"datasets": {"wine": {"loader": "csv", "path": "mine.csv"}}}, "wine is a data set of your own"),
        # Whose settings they are changes none.
        ({"solvers": {"ism": {"settings": "other"}}}, ""),
    ],
)
def test_what_an_overlay_changes_is_said(overlay, reason):
    config = lay_over(whole_config(), overlay)
    assert departure(config["experiments"][FOUR], config, "wine", "gaussian", "ism") == reason


def folds(name=FOUR, count=2, **columns):
    return runs_of("wine", "ism", range(count), experiment=name, split="folds", quality_metric="accuracy", **columns)


def small_config(**experiment):
    overlay = {"run": [FOUR], "experiments": {FOUR: {"datasets": ["wine"], "folds": 2, **experiment}}}
    return lay_over(whole_config(), overlay)


def test_a_run_of_two_folds_neither_meets_nor_contradicts():
    # Exactly what is printed: by ten folds it would be reproduced.
    rows = pd.DataFrame(folds(cost=-1311.0, quality=0.95, iterations=3))
    lines = compare({"ikdr": rows}, small_config())
    (cost,) = [one for one in lines if one.runs and one.metric == "cost"]
    assert (cost.verdict, cost.why) == (Verdict.NOT_COMPARABLE, "2 folds, printed of 10")
    assert cost.ours.startswith("-1311")
    assert not {one.verdict for one in lines} & {Verdict.REPRODUCED, Verdict.CLOSE, Verdict.DIFFERS}
    (words,) = [one for one in lines if one.metric == "iterations" and one.runs]
    assert (words.verdict, words.why) == (Verdict.NOT_COMPARABLE, f"{FOUR}: 2 folds, printed of 10")


def test_claims_are_undecided_and_say_which_runs_were_left_out():
    changed = {"experiment": FOUR, "iterations": 9, "quality": 0.1}
    rows = pd.DataFrame([row | changed for row in cells("four", "ism") if row["run"] < 2])
    config = small_config(datasets=["wine", "cancer", "face", "mnist"])
    found = dict(decide_claims(Records.of({"ikdr": rows}, config)))
    assert {one.decision for one in found.values()} == {Decision.UNDECIDED}
    assert all(f"{FOUR}: 2 folds, printed of 10." in one.note for one in found.values())


def test_of_two_experiments_one_by_the_protocol_counts():
    config = small_config()
    config["experiments"]["whole"] = whole_config()["experiments"][FOUR]
    config["run"] = [FOUR, "whole"]
    rows = pd.DataFrame(folds(cost=-9.0) + folds("whole", 10, cost=-1311.0))
    costs = [one for one in compare({"ikdr": rows}, config) if one.runs and one.metric == "cost"]
    found = [(one.experiment, one.first, str(one.verdict)) for one in costs]
    assert found == [("whole", True, "reproduced"), (FOUR, False, "not comparable")]


@pytest.mark.parametrize(("limit", "kept"), [(60, ["ism"]), (259200, ["dg", "ism"])])
def test_what_was_stopped_before_the_papers_limit_is_open(limit, kept):
    config = lay_over(whole_config(), {"run": [FOUR]})
    made = folds(count=10, time_limit_s=limit, memory_limit_mib=16384)
    rows = pd.DataFrame(made + [row | {"method": "dg", "status": "time_limit"} for row in made])
    found, left_out = comparable(rows, config)
    assert sorted(found["method"].unique()) == kept
    words = "dg on Wine was stopped at 60 s, at most 259200 s are allowed"
    assert left_out == ([] if limit == 259200 else [(FOUR, words)])
    # Claims have the rows and the reason: a time at a limit is a bound.
    held = Records.of({"ikdr": rows}, config)
    assert (len(held.runs), held.left_out) == (len(rows), ())
    assert {*held.runs.loc[held.runs["method"] == "dg", "stopped_early"]} == {"" if limit == 259200 else words}
    assert {*held.runs.loc[held.runs["method"] == "ism", "stopped_early"]} == {""}


def test_an_experiment_of_your_own_is_compared_with_no_paper():
    mine = {"run": ["mine"], "experiments": {"mine": {"paradigm": "supervised", "folds": 5, "datasets": ["wine"]}}}
    config = lay_over(whole_config(), mine)
    assert departure(config["experiments"]["mine"], config, "wine", "gaussian", "ism") == ""
    rows = pd.DataFrame(folds("mine"))
    assert compare({"ikdr": rows}, config) == []
    assert decide_claims(Records.of({"ikdr": rows}, config)) == []
