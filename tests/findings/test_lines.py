"""Lines of the ledger: effects, what the published protocol gives, and what papers say in words."""

import pandas as pd
import pytest

from kdrbench.suite.findings.effects import Effect
from kdrbench.suite.findings.ledger import compare
from kdrbench.suite.findings.ledger_lines import TRAINING, UNEXPLAINED, reference_of
from kdrbench.suite.reports.tables.verdicts import Verdict
from support.report_rows import TABLE_4, experiment_of, kpca_run, kpca_runs, runs_of

MADE = {"published": TABLE_4, "paradigm": "supervised", "folds": 10, "components": {"wine": 4, "face": 20}}
EXPERIMENT = experiment_of("ism", "dg", "ism_converged", "dg_converged", datasets=["wine", "face"], **MADE)
PROTOCOL = EXPERIMENT | {"published": TABLE_4 | {"protocol": True}, "datasets": ["wine"], "solvers": ["ism"]}
CONFIG = {"run": ["four", "unstratified"], "experiments": {"four": EXPERIMENT, "unstratified": PROTOCOL}}


def folds(dataset, method, *, experiment="four", **columns):
    sizes = {"n_train": 160, "n_test": 18, "iterations": 3}
    return runs_of(dataset, method, range(10), experiment=experiment, **sizes | columns)


ROWS = pd.DataFrame(
    [
        *folds("wine", "ism", time_s=0.01, cost=lambda fold: -1311.0 + fold, quality=0.983),
        *folds("wine", "dg", time_s=4.0, cost=lambda fold: -1201.0 + fold, quality=0.983, iterations=20),
        *folds("wine", "ism_converged", time_s=0.02, cost=lambda fold: -1311.0 + fold, quality=0.983),
        *folds("wine", "dg_converged", time_s=0.2, cost=lambda fold: -1311.0 + fold, quality=0.983),
        *folds("face", "ism", cost=-3754.0, quality=0.955, train_accuracy=1.0),
        *folds("wine", "ism", experiment="unstratified", quality=0.953, cost=-1312.0),
    ]
)


@pytest.fixture(scope="module")
def lines():
    return compare({"ikdr": ROWS}, CONFIG)


def found(lines, *axes):
    (one,) = [one for one in lines if one.first and (one.dataset, one.method, one.metric) == axes and one.ours]
    return one


def test_effects_are_those_of_published_and_of_converged_solvers(lines):
    cost, time = found(lines, "wine", "dg", "cost"), found(lines, "wine", "dg", "time_s")
    assert (cost.effect, cost.converged_effect) == (Effect.YES, Effect.GONE)
    assert cost.effect_words.startswith("printed +8.39 %, ours +8.4")
    assert cost.converged_words == "printed +8.39 %, ours 0 %"
    # Times have ratios and no verdict.
    assert (time.verdict, time.effect, time.converged_effect) == (Verdict.NOT_JUDGED, Effect.YES, Effect.SIGN_ONLY)
    assert (time.effect_words, time.converged_words) == ("printed x 395, ours x 400", "printed x 395, ours x 10")
    # ISM is what others are compared with.
    assert (found(lines, "wine", "ism", "cost").effect, found(lines, "wine", "ism", "cost").effect_words) == ("", "")


def test_the_published_protocol_is_beside_ours(lines):
    accuracy = found(lines, "wine", "ism", "accuracy")
    assert (accuracy.experiment, accuracy.verdict) == ("four", Verdict.DIFFERS)
    assert accuracy.protocol == "95.3% \u00b1 0.0% (unstratified, Gaussian, ISM)"
    assert accuracy.protocol_verdict == "close"
    with_ours = [one.experiment for one in lines if one.dataset == "wine" and one.method == "ism" and one.ours]
    assert with_ours == 3 * ["four"]


def test_a_printed_training_accuracy_stands_beside_ours(lines):
    accuracy = found(lines, "face", "ism", "accuracy")
    assert (accuracy.verdict, accuracy.protocol_verdict) == (Verdict.DIFFERS, "reproduced")
    assert accuracy.protocol == f"100.0% \u00b1 0.0% ({TRAINING}, four, Gaussian, ISM)"
    assert "training rows" in accuracy.why


def test_a_column_that_repeats_another_kernel_is_beside_its_runs():
    # NeurIPS 2019, Table 4: the polynomial column of MNIST repeats the Gaussian one, -639 in thousands.
    both = {"datasets": ["mnist"], "components": {"mnist": 10}, "kernels": ["gaussian", "polynomial"]}
    rows = folds("mnist", "ism", cost=-639e3, quality=0.86, train_accuracy=0.99)
    rows += [row | {"kernel": "polynomial", "cost": -5e10, "train_accuracy": 0.96} for row in rows]
    lines = compare({"ikdr": pd.DataFrame(rows)}, {"run": ["four"], "experiments": {"four": EXPERIMENT | both}})
    of_polynomial = {line.metric: line for line in lines if line.kernel == "polynomial" and line.method == "ism"}
    cost, accuracy = of_polynomial["cost"], of_polynomial["accuracy"]
    assert cost.protocol == "-639, in the unit of the print (four, Gaussian, ISM)"
    assert "99.0% \u00b1 0.0% (training accuracy, four, Gaussian, ISM)" in accuracy.protocol
    assert (cost.protocol_verdict, accuracy.protocol_verdict.split("; ")[1]) == ("reproduced", "reproduced")


def test_alignment_of_centred_kernels_is_beside_the_printed_alignment():
    # KPCA trick, Table 3: AKDNE on Glass .67.
    axes = {"experiment": "kpca", "dataset": "glass", "learner": "dne", "test_selected": None}
    rows = kpca_runs({"aligned": [0.63] * 40, "centred": [0.67] * 40}, **axes)
    experiment = {"system": "kpca_trick", "published": {"paper": "kpca_trick"}, "splits": 40, "datasets": ["glass"]}
    lines = compare({"kpca_trick": pd.DataFrame(rows)}, {"run": ["kpca"], "experiments": {"kpca": experiment}})
    (line,) = [line for line in lines if line.dataset == "glass" and line.method == "akdne" and line.runs]
    assert (line.verdict, line.protocol_verdict) == (Verdict.DIFFERS, "reproduced")
    assert line.protocol == "0.67 \u00b1 0.00 (kpca, centred alignment)"


def test_iterations_are_compared_with_the_printed_range(lines):
    ism, dg = found(lines, "all", "ism", "iterations"), found(lines, "all", "dg", "iterations")
    assert (ism.verdict, ism.ours) == (Verdict.REPRODUCED, "median 3 (3 to 3), 20 of 20 within")
    assert (dg.verdict, dg.published) == (Verdict.DIFFERS, "hundreds to thousands")
    # What differs has a reason, or says that none is known.
    assert (ism.why, dg.why) == ("", UNEXPLAINED)
    # SM has no runs here.
    assert [one.verdict for one in lines if one.method == "sm" and one.metric == "iterations"] == [Verdict.NOT_RUN]


@pytest.mark.parametrize("change", [{"status": "time_limit", "time_limit_s": 60}, {"status": "skipped"}])
def test_iterations_are_not_compared_where_cells_were_left_out(change):
    quick = folds("wine", "sm", iterations=310)
    left_out = [row for name in ("sm", "ism") for row in folds("face", name, iterations=2, **change)]

    def line(rows):
        return found(compare({"ikdr": pd.DataFrame(rows)}, CONFIG), "all", "sm", "iterations")

    assert line(quick).verdict is Verdict.REPRODUCED
    words = line(quick + left_out)
    assert words.verdict is Verdict.NOT_COMPARABLE
    assert ("sm on Face was stopped at 60 s" if "time_limit_s" in change else "budget was used up") in words.why
    # Reasons of ISM are none of SM's.
    assert "ism" not in words.why


@pytest.mark.parametrize(
    ("axes", "reference"),
    [
        ({"method": "dg", "kernel": "polynomial", "table": "4"}, ("polynomial", "ism")),
        ({"method": "ism", "kernel": "gaussian", "table": "4"}, None),
        ({"method": "ism", "kernel": "multiquadric", "table": "5"}, ("linear", "ism")),
        ({"method": "ism", "kernel": "linear", "table": "5"}, None),
    ],
)
def test_references(axes, reference):
    place = {"paper": "neurips2019", "setting": "supervised", "dataset": "wine", "metric": "accuracy", **axes}
    there = reference_of(place)
    assert (there and (there["kernel"], there["method"])) == reference


def test_wins_draws_and_losses_are_compared_over_all_data_sets():
    names = ["balance", "breast", "glass", "ionosphere", "iris", "musk2", "pima", "satellite", "yeast", "m-usps"]
    experiments = {
        name: {"system": "kpca_trick", "published": {"paper": "kpca_trick", "protocol": name == "reading"}}
        for name in ("k", "reading")
    }

    def line(won, among=names, **changes):
        rows, axes = [], {"learner": "nca", "experiment": "k", "test_selected": None} | changes
        variant = "oracle" if axes["experiment"] == "reading" else "cross_validated"
        for name in among:
            rows += kpca_runs({"plain": [0.5], variant: [0.6 if name in won else 0.5]}, dataset=name, **axes)
            rows += kpca_runs({"plain": [0.5]}, dataset=name, **axes | {"experiment": "k"}) * (variant == "oracle")
        lines = compare({"kpca_trick": pd.DataFrame(rows)}, {"run": [*experiments], "experiments": experiments})
        return next(one for one in lines if (one.metric, one.method) == ("win_draw_lose", "knca"))

    # The printed table has nine wins, and Iris level.
    without_iris = [name for name in names if name != "iris"]
    assert (line(without_iris).published, line(without_iris).verdict) == ("9/1/0", Verdict.REPRODUCED)
    assert line(without_iris[:8]).verdict is Verdict.CLOSE
    read = line(without_iris, experiment="reading")
    assert (read.protocol, read.protocol_verdict) == ("9/1/0 (reading)", "reproduced")
    few, some = line(names[:2]), line(names, names[:4])
    assert (few.ours, few.verdict) == ("2/8/0", Verdict.DIFFERS)
    assert few.why.startswith("a count of the table's cells")
    assert (some.ours, some.verdict) == ("4/0/0 of 4 data sets", Verdict.NOT_RUN)


def test_published_tables_that_nothing_names_are_not_listed():
    rows = pd.DataFrame([kpca_run(dataset="pima", learner="nca", experiment="mine", test_selected=None)])
    mine = {"run": ["mine"], "experiments": {"mine": {"system": "kpca_trick"}}}
    assert compare({"kpca_trick": rows}, mine) == []
    # Nor where it names a paper of another system.
    mine["experiments"]["mine"]["published"] = {"paper": "neurips2019"}
    assert compare({"kpca_trick": rows}, mine) == []
