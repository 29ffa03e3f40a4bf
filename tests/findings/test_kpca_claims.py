"""Claims of the KPCA trick, decided from made-up rows."""

import math

import pandas as pd
import pytest

from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.finding import Decision
from support.claim_rows import claims

LEARNERS = ("nca", "lmnn", "dne")
DATASETS = ("balance", "breast", "glass", "ionosphere", "iris", "musk2", "pima", "satellite", "yeast", "m-usps")
CELLS = [(dataset, learner) for dataset in DATASETS for learner in LEARNERS]
CONFIRMED, MOSTLY, INDISTINCT, CONTRADICTED, UNDECIDED = Decision


def kpca(cross_validated=(), aligned=(), splits=40, datasets=DATASETS, tuning=(100.0, 1.0), **columns):
    """Splits of all cells: .90 without a kernel and .92 with one, but what is listed in the first cells."""
    rows, listed = [], {"cross_validated": cross_validated, "aligned": aligned, "plain": [0.9] * len(CELLS)}
    for place, (dataset, learner) in enumerate(CELLS):
        for (variant, first), seconds in zip(listed.items(), (*tuning, 0.0), strict=True):
            accuracy = first[place] if place < len(first) else 0.92
            row = {"dataset": dataset, "learner": learner, "variant": variant, "accuracy": accuracy}
            row |= {"tuning_wall_s": seconds} | columns
            rows += [row | {"run": run} for run in range(splits) if dataset in datasets]
    return Records(kpca=pd.DataFrame(rows))


def test_kernel_versions_must_win_28_of_30():
    found = claims.kernel_versions_win(kpca([0.9, 0.88]))
    assert (found.decision, found.measure) == (CONFIRMED, "won 28 of 30 cells (93 %); level 1; lost 1; open 0")
    assert found.evidence == "lost: Balance KLMNN"
    assert claims.kernel_versions_win(kpca([0.9] * 3)).decision is MOSTLY
    assert claims.kernel_versions_win(kpca([0.9] * 8)).decision is CONTRADICTED
    # What reads the same in two digits is level.
    assert claims.kernel_versions_win(kpca([0.904] * 30)).measure.startswith("won 0 of 30 cells (0 %); level 30")
    # A failed split loses its cell.
    records = kpca()
    table = records.kpca
    failed = (table["variant"] == "cross_validated") & (table["run"] == 7) & (table["dataset"] != "iris")
    table.loc[failed, "accuracy"] = None
    found = claims.kernel_versions_win(records)
    assert (found.decision, found.measure) == (CONTRADICTED, "won 3 of 30 cells (10 %); level 0; lost 27; open 0")


def test_aligned_kernels_must_win_24_and_lose_no_more_than_2():
    assert claims.aligned_versions_win(kpca(aligned=[0.9] * 4 + [0.89] * 2)).decision is CONFIRMED
    assert claims.aligned_versions_win(kpca(aligned=[0.89] * 3)).decision is MOSTLY
    assert claims.aligned_versions_win(kpca(aligned=[0.9] * 11)).decision is CONTRADICTED


@pytest.mark.parametrize(("changes", "made"), [({"datasets": ("iris", "glass")}, 0), ({"splits": 5}, 5)])
@pytest.mark.parametrize("name", ["kernel_versions_win", "aligned_versions_win", "slightly_better", "close_and_quick"])
def test_fewer_data_or_splits_than_the_papers_decide_nothing(name, changes, made):
    found = getattr(claims, name)(kpca(**changes))
    assert (found.decision, f"Balance has {made} of 40 splits" in found.evidence) == (UNDECIDED, True)


def test_cross_validation_must_be_better_by_little():
    for aligned, decision in ((0.91, CONFIRMED), (0.92, CONTRADICTED), (0.93, CONTRADICTED), (0.89, CONTRADICTED)):
        found = claims.slightly_better(kpca(aligned=[aligned] * 30))
        assert (found.decision, found.measure) == (decision, f"{0.92 - aligned:+.3f}")
    # A gain that cells do not show is not distinguishable.
    found = claims.slightly_better(kpca(aligned=[0.86, 0.97] * 15))
    assert (found.decision, found.measure, found.power) == (INDISTINCT, "+0.005", "95 %: -0.016 to +0.026")


def test_aligned_kernels_must_be_close_and_quick():
    found = claims.close_and_quick(kpca(aligned=[0.91] * 30))
    assert (found.decision, found.measure) == (CONFIRMED, "-0.010; 100 times as quick")
    assert "choosing takes 30 s against 3e+03 s" in found.evidence
    for changes, decision in (
        ({"aligned": [0.89] * 30}, CONTRADICTED),
        ({"aligned": [0.85, 0.97] * 15}, INDISTINCT),
        ({"tuning": (100.0, 20.0)}, CONTRADICTED),
        # Nearly ten times as quick.
        ({"tuning": (9.0, 1.0)}, MOSTLY),
        ({"tuning": (None, 1.0)}, UNDECIDED),
    ):
        assert claims.close_and_quick(kpca(**changes)).decision is decision
    for disturbed in ({"drifted": True}, {"timed": False}):
        alone = claims.close_and_quick(kpca(**disturbed))
        assert (alone.decision, "that nothing disturbed" in alone.evidence) == (UNDECIDED, True)


VARIED = {"degree": (2, 3, 4, 5), "n": (50, 100, 150), "k": (1, 2, 3, 4, 5)}
SETTINGS = [(varied, float(value)) for varied, values in VARIED.items() for value in values]


def both_tricks(row, accuracy, **kernel):
    """A setting by the KPCA trick with an accuracy of .8, and by the kernel trick."""
    kpca_trick = {"series": "kpca", "method": "kpca", "accuracy": 0.8}
    return [row | kpca_trick, row | {"series": "kernel", "method": "exact", "accuracy": accuracy} | kernel]


def tricks(apart=(), condition=1e5, figure_5=("ionosphere", "glass")):
    """Figures 4 and 5: both tricks have .8, but the kernel trick is off by ``apart`` in the first settings of Glass."""
    rows = []
    for figure, dataset in [(4, "pima"), (4, "m-usps"), *((5, name) for name in figure_5)]:
        for place, (varied, value) in enumerate(SETTINGS):
            off = apart[place] if dataset == "glass" and place < len(apart) else 0.0
            row = {"figure": figure, "dataset": dataset, "varied": varied, "value": value, "run": 0}
            rows += both_tricks(row, 0.8 + off, condition=condition)
    return Records(tricks=pd.DataFrame(rows))


def test_both_tricks_must_agree_where_the_kernel_is_regular():
    found = claims.tricks_agree(tricks([0.004]))
    assert (found.decision, found.measure) == (CONFIRMED, "48 of 48 settings (100 %); at most 0.004")
    assert claims.tricks_agree(tricks([0.1] * 2)).decision is MOSTLY
    # A setting that failed has no accuracy, and agrees with nothing.
    assert claims.tricks_agree(tricks([math.nan] * 12)).decision is CONTRADICTED
    assert claims.tricks_agree(tricks(condition=1e14)).decision is UNDECIDED
    singular = tricks([0.3] * 12)
    singular.tricks.loc[singular.tricks["dataset"] == "glass", "condition"] = 1e18
    assert claims.tricks_agree(singular).measure == "36 of 36 settings (100 %); at most 0.000"
    # The paper's data and settings decide.
    found = claims.tricks_agree(tricks(figure_5=("ionosphere", "iris-bundled")))
    assert (found.decision, "all settings of Glass (Figure 5)" in found.evidence) == (UNDECIDED, True)
    few = Records(tricks=tricks().tricks.query("value != 150"))
    assert "all settings of Pima (Figure 4)" in claims.tricks_agree(few).evidence


def plane(disagreement, accuracy=0.8, dataset="ionosphere"):
    row = {"figure": 3, "dataset": dataset, "varied": "sigma", "value": 1.0, "run": 0}
    return Records(tricks=pd.DataFrame(both_tricks(row, accuracy, disagreement=disagreement)))


def test_both_planes_must_be_the_same():
    assert claims.same_plane(plane(8e-14)).decision is CONFIRMED
    for records in (plane(1e-3), plane(8e-14, 0.7), plane(8e-14, None)):
        assert claims.same_plane(records).decision is CONTRADICTED
    assert claims.same_plane(plane(8e-14, dataset="iris-bundled")).decision is UNDECIDED


def made(plain=0.7, kernel=0.99, learners=LEARNERS, **changed):
    rows = [
        {"figure": 2, "dataset": dataset, "series": learner, "value": degree, "accuracy": accuracy}
        for dataset in ("disc-and-ring", "cone")
        for learner in learners
        for degree, accuracy in ((1.0, plain), (2.0, changed.get(learner, kernel)))
    ]
    return Records(tricks=pd.DataFrame(rows))


def test_plain_learners_must_fail_and_kernels_succeed():
    found = claims.kernels_succeed(made())
    words = "6 of 6 cases (100 %); plain at most 0.70, degree 2 at least 0.99"
    assert (found.decision, found.measure) == (CONFIRMED, words)
    assert claims.kernels_succeed(made(nca=0.9)).measure.startswith("4 of 6 cases (67 %)")
    for records in (made(plain=0.9), made(nca=None)):
        assert claims.kernels_succeed(records).decision is CONTRADICTED
    assert claims.kernels_succeed(made(learners=("nca",))).decision is UNDECIDED


def stopped(records, **at):
    """The same records with the runs at some place stopped by a limit, so that they have no numbers."""
    name = "kpca" if len(records.kpca) else "tricks"
    table = getattr(records, name).assign(status="converged")
    chosen = table[list(at)].isin(at).all(axis=1)
    table.loc[chosen, ["status", "accuracy", "disagreement"]] = ["time_limit", math.nan, math.nan]
    return Records(**{name: table})


def test_cells_with_a_split_stopped_at_a_limit_are_open():
    open_three = {"dataset": ["balance"], "variant": ["cross_validated"], "run": [3]}
    found = claims.kernel_versions_win(stopped(kpca(), **open_three))
    assert (found.decision, found.measure) == (MOSTLY, "won 27 of 30 cells (90 %); level 0; lost 0; open 3")
    # Two are not asked for.
    two = open_three | {"learner": ["nca", "dne"]}
    assert claims.kernel_versions_win(stopped(kpca(), **two)).decision is CONFIRMED
    # Three more or less change nothing where most are lost.
    lost = claims.kernel_versions_win(stopped(kpca([0.8] * 20), **open_three))
    assert (lost.decision, lost.measure) == (CONTRADICTED, "won 10 of 30 cells (33 %); level 0; lost 17; open 3")
    # As many are won as needed, but too many might be lost: mostly so at least.
    aligned = open_three | {"variant": ["aligned"]}
    assert claims.aligned_versions_win(stopped(kpca(), **aligned)).decision is MOSTLY
    for decide in (claims.slightly_better, claims.close_and_quick):
        found = decide(stopped(kpca(aligned=[0.91] * 30), **aligned))
        assert found.decision is UNDECIDED
        assert "splits that were not stopped at a limit, of Balance NCA; Balance LMNN; Balance DNE" in found.evidence


def test_settings_stopped_at_a_limit_are_open():
    for series in ("kernel", "kpca"):
        found = claims.tricks_agree(stopped(tricks(), dataset=["glass"], varied=["n", "k"], series=[series]))
        assert (found.decision, found.measure) == (MOSTLY, "40 of 48 settings (83 %), and 8 open; at most 0.000")
        assert claims.same_plane(stopped(plane(8e-14), series=[series])).decision is UNDECIDED
    found = claims.kernels_succeed(stopped(made(), dataset=["cone"], series=["nca"], value=[2.0]))
    assert (found.decision, found.measure[:30]) == (MOSTLY, "5 of 6 cases (83 %), and 1 ope")
