"""Claims of the KPCA trick and of low-rank kernels, decided from made-up rows."""

import json

import pandas as pd
import pytest

from kdrbench.reports.claims.claim import Decision, Records
from kdrbench.reports.claims.kernels import (
    CELLS,
    agreement_rises,
    aligned_come_close,
    cost_of_projections,
    fewer_sweeps,
    kernel_versions_win,
    tricks_agree,
)

LEARNERS = ("nca", "lmnn", "dne")
DATASETS = ("balance", "breast", "glass", "ionosphere", "iris", "musk2", "pima", "satellite", "yeast", "m-usps")


def kpca(lost=0, datasets=DATASETS, aligned=0.91, tuning=(100.0, 1.0), **columns):
    """Two splits of each cell: .90 without a kernel, .92 with one, but .88 in the first ``lost`` cells."""
    rows = []
    cells = [(dataset, learner) for dataset in datasets for learner in LEARNERS]
    for place, (dataset, learner) in enumerate(cells):
        accuracies = {"plain": 0.9, "cross_validated": 0.88 if place < lost else 0.92, "aligned": aligned}
        seconds = {"plain": 0.0, "cross_validated": tuning[0], "aligned": tuning[1]}
        for variant, accuracy in accuracies.items():
            row = {"dataset": dataset, "learner": learner, "variant": variant, "tuning_wall_s": seconds[variant]}
            rows += [row | {"run": number, "accuracy": accuracy + 0.001 * number} | columns for number in (0, 1)]
    return Records(kpca=pd.DataFrame(rows))


def test_without_records_nothing_is_decided():
    decisions = (
        kernel_versions_win,
        aligned_come_close,
        tricks_agree,
        cost_of_projections,
        fewer_sweeps,
        agreement_rises,
    )
    for decide in decisions:
        found = decide(Records())
        assert found.decision is Decision.UNDECIDED
        assert "results/" in found.evidence or "reports/" in found.evidence


def test_kernel_versions_must_win_28_of_30():
    found = kernel_versions_win(kpca(lost=2))
    assert found.decision is Decision.CONFIRMED
    assert found.evidence == f"won 28, level 0, lost 2 of {CELLS} cells; lost: Balance NCA; Balance LMNN"
    assert kernel_versions_win(kpca(lost=3)).decision is Decision.CONTRADICTED
    few = kernel_versions_win(kpca(datasets=("iris", "wine")))
    assert few.decision is Decision.UNDECIDED
    assert "24 of the 30 cells" in few.evidence
    assert "won 6, level 0, lost 0 of 6 cells" in few.evidence


def test_cells_that_read_the_same_are_level():
    records = kpca()
    same = records.kpca["variant"] == "cross_validated"
    records.kpca.loc[same, "accuracy"] = 0.904
    assert kernel_versions_win(records).evidence.startswith("won 0, level 30, lost 0")


def test_what_the_best_kernel_on_the_test_set_would_win_is_a_note():
    found = kernel_versions_win(kpca(lost=30, test_selected=json.dumps([0.5, 0.93])))
    assert found.decision is Decision.CONTRADICTED
    assert found.note == "With the kernel that is best on the test set itself, 30 of 30 are won."


def test_aligned_kernels_must_be_close_and_quick():
    found = aligned_come_close(kpca(aligned=0.91))
    assert found.decision is Decision.CONFIRMED
    assert found.evidence.endswith("30 s against 3e+03 s for a split of all, a ratio of 100")
    assert aligned_come_close(kpca(aligned=0.89)).decision is Decision.CONTRADICTED
    assert aligned_come_close(kpca(tuning=(100.0, 20.0))).decision is Decision.CONTRADICTED
    assert aligned_come_close(kpca(tuning=(None, 1.0))).decision is Decision.UNDECIDED


def tricks(**points):
    """Runs of Figure 5 for each way to solve the kernel trick; points are (condition, disagreement)."""
    rows = [
        {"figure": 5, "method": method, "condition": condition, "disagreement": disagreement}
        for method, pairs in points.items()
        for condition, disagreement in pairs
    ]
    # The KPCA trick disagrees with nothing, and Figure 4 decides nothing.
    rows += [{"figure": 5, "method": "kpca", "condition": None, "disagreement": None}]
    rows += [{"figure": 4, "method": "exact", "condition": 1.0, "disagreement": 1.0}]
    return Records(tricks=pd.DataFrame(rows))


def test_both_tricks_must_agree_where_the_kernel_is_well_conditioned():
    found = tricks_agree(tricks(exact=[(10.0, 1e-13), (1e6, 1e-9), (1e11, 1e-3)], qz=[(1e16, 1.0)]))
    assert found.decision is Decision.CONFIRMED
    assert found.evidence == (
        "up to condition 1e+07 distances differ by at most 1.0e-09 (2 kernels), beyond it by up to 1.0e+00 (2)"
    )
    assert tricks_agree(tricks(exact=[(10.0, 1e-3)])).decision is Decision.CONTRADICTED
    assert tricks_agree(tricks(exact=[(1e9, 1e-9)])).decision is Decision.UNDECIDED


def low_rank(*rows):
    blank = {"experiment": "t", "run": 0, "n_constraints": 50, "status": "converged", "n_samples": 300, "rank": 16}
    blank |= {"sweeps": 10, "projections": 500, "time_s": 1.0, "nmi_ten_starts": 0.5}
    return Records(low_rank=pd.DataFrame([blank | row for row in rows]))


def timed(method, in_n, in_r):
    """Times that grow as n^in_n at rank 16 and, for a projection, as r^in_r at 300 samples."""
    sizes = [{"method": method, "n_samples": n, "time_s": n**in_n} for n in (500, 1000, 2000, 4000)]
    return sizes + [{"method": method, "rank": r, "time_s": r**in_r} for r in (32, 64, 128)]


def test_projections_must_be_linear_in_n_and_quadratic_in_r():
    found = cost_of_projections(low_rank(*timed("burg", 1.0, 2.0), *timed("von_neumann", 0.3, 2.2)))
    assert found.decision is Decision.CONFIRMED
    assert found.evidence.startswith("burg n^1.00 (1.00 to 1.00); burg r^2.00 (2.00 to 2.00); von_neumann n^0.30")


@pytest.mark.parametrize("exponents", [(1.5, 2.0), (1.0, 3.0), (1.0, 1.0)])
def test_other_exponents_contradict(exponents):
    rows = [*timed("burg", 1.0, 2.0), *timed("von_neumann", *exponents)]
    assert cost_of_projections(low_rank(*rows)).decision is Decision.CONTRADICTED


def test_exponents_need_three_sizes_of_runs_that_converged():
    rows = [*timed("burg", 1.0, 2.0), *timed("von_neumann", 1.0, 2.0)]
    for row in rows[-2:]:
        row["status"] = "time_limit"
    found = cost_of_projections(low_rank(*rows))
    assert found.decision is Decision.UNDECIDED
    assert "three sizes of von_neumann r" in found.evidence


def test_small_ranks_are_left_out_where_there_are_large_ones():
    bent = [{"method": "burg", "rank": r, "time_s": float(max(r, 100) ** 2)} for r in (16, 32, 64, 128, 256, 512)]
    rows = [*bent, *timed("burg", 1.0, 2.0)[:4], *timed("von_neumann", 1.0, 2.0)]
    assert "burg r^2.00 (2.00 to 2.00)" in cost_of_projections(low_rank(*rows)).evidence


def swept(method, sweeps, **columns):
    return [{"method": method, "sweeps": sweeps, "run": run} | columns for run in range(3)]


def test_boosting_must_need_ten_times_as_many_sweeps():
    ours = swept("von_neumann", 10)
    found = fewer_sweeps(low_rank(*ours, *swept("definite_boost", 200)))
    assert found.decision is Decision.CONFIRMED
    assert found.evidence == "definite_boost needs 20 times as many in the median of 3 sets"
    assert fewer_sweeps(low_rank(*ours, *swept("definite_boost", 30))).decision is Decision.CONTRADICTED
    unfinished = swept("definite_boost", 30, status="max_iterations")
    assert fewer_sweeps(low_rank(*ours, *unfinished)).decision is Decision.UNDECIDED
    both = [*swept("definite_boost", 30), *swept("definite_boost_symmetric", 200)]
    assert fewer_sweeps(low_rank(*ours, *both)).decision is Decision.CONTRADICTED
    elsewhere = swept("definite_boost", 200, experiment="another")
    assert fewer_sweeps(low_rank(*ours, *elsewhere)).decision is Decision.UNDECIDED


def agreeing(method, *values):
    counts = range(0, 50 * len(values), 50)
    return [
        {"method": method, "n_constraints": n, "nmi_ten_starts": nmi} for n, nmi in zip(counts, values, strict=True)
    ]


def test_agreement_must_rise_for_every_method():
    rising = agreeing("burg", 0.5, 0.7, 0.8)
    found = agreement_rises(low_rank(*rising))
    assert found.decision is Decision.CONFIRMED
    assert found.evidence == "from the fewest to the most constraints: t, burg: 0.50 to 0.80"
    falling = agreeing("von_neumann", 0.5, 0.7, 0.4)
    assert agreement_rises(low_rank(*rising, *falling)).decision is Decision.CONTRADICTED
    assert agreement_rises(low_rank(*agreeing("burg", 0.5, 0.7))).decision is Decision.UNDECIDED
