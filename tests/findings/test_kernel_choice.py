"""Claims that compare kernels, decided from made-up runs."""

import pytest

from kdrbench.suite.findings.finding import Decision
from support.claim_rows import cells, claims, records

SUPERVISED, CLUSTERS = ("four", "five"), ("four_clusters", "five_clusters")


def qualities(tables, **columns):
    return [row for table in tables for row in cells(table, "ism", **columns)]


def by_kernel(numbers, otherwise, only=None):
    return lambda data, kernel, fold: numbers.get(kernel, otherwise) if only in (None, data) else otherwise


def test_the_conic_kernel_must_be_best_on_each_data_set():
    best = qualities(SUPERVISED, quality=by_kernel({"gaussian_polynomial": 0.98, "linear": 0.9804}, 0.97))
    found = claims.conic_is_best(records(*best))
    assert (found.decision, found.measure) == (Decision.CONFIRMED, "4 of 4 data sets (100 %)")
    beaten = qualities(SUPERVISED, quality=by_kernel({"squared": 0.99}, 0.97, "face"))
    found = claims.conic_is_best(records(*beaten))
    assert (found.decision, found.measure) == (Decision.CONTRADICTED, "3 of 4 data sets (75 %); at most 0.020 behind")
    assert found.evidence.endswith("; not shown in Face, 0.970 against 0.990 of Squared")


def test_a_kernel_that_is_ahead_by_less_than_folds_show_beats_nothing():
    def quality(data, kernel, fold):
        ahead = {"wine": 0.002, "cancer": 0.002, "face": 0.03}.get(data, 0.0)
        return 0.95 + (ahead + 0.02 * (-1) ** fold if kernel == "squared" else 0.0)

    found = claims.conic_is_best(records(*qualities(SUPERVISED, quality=quality)))
    words = "1 of 4 data sets (25 %), and 2 unclear; at most 0.030 behind"
    assert (found.decision, found.measure) == (Decision.INDISTINCT, words)
    assert found.power == "a difference of 0.015 would show in half of the comparisons, one of 0.015 in all"


def test_the_conic_kernel_needs_both_tables_and_no_clusters():
    assert claims.conic_is_best(records(*qualities(("five",)))).decision is Decision.UNDECIDED
    best = qualities(SUPERVISED, quality=by_kernel({"gaussian_polynomial": 0.98}, 0.97))
    clusters = qualities(CLUSTERS, quality=0.99)
    assert claims.conic_is_best(records(*best, *clusters)).decision is Decision.CONFIRMED
    # A kernel that lost runs is not beaten.
    rows = [row for row in best if (row["dataset"], row["kernel"], row["run"]) != ("wine", "linear", 0)]
    found = claims.conic_is_best(records(*rows))
    assert (found.decision, found.measure) == (Decision.CONTRADICTED, "3 of 4 data sets (75 %)")
    assert "Wine, missing or failed runs beside Linear" in found.evidence


@pytest.mark.parametrize(
    ("better", "worse", "decision"),
    [
        (("wine", "cancer", "face"), (), Decision.CONFIRMED),
        (("wine", "cancer"), ("face",), Decision.MOSTLY),
        (("wine",), ("face",), Decision.CONTRADICTED),
    ],
)
def test_the_multiquadric_is_better_in_more_than_half_of_cells(better, worse, decision):
    def quality(data, kernel, fold):
        return 0.9 + 0.05 * (kernel == "multiquadric") * ((data in better) - (data in worse))

    found = claims.multiquadric_often_better(records(*qualities(SUPERVISED + CLUSTERS, quality=quality)))
    assert found.decision is decision
    assert found.measure.startswith(f"better in {2 * len(better)} of 8 cells")
    alone = records(*qualities(SUPERVISED, quality=quality))
    assert claims.multiquadric_often_better(alone).decision is Decision.UNDECIDED


ALIKE = by_kernel({"gaussian": 0.93}, 0.97)


@pytest.mark.slow("compares all kernels of two tables four times")
def test_kernels_are_alike_in_accuracy_and_time():
    found = claims.kernels_alike(records(*qualities(SUPERVISED + CLUSTERS, quality=ALIKE)))
    words = "8 of 8 cases (100 %); at most 0.040 apart, times 1 to 1"
    assert (found.decision, found.measure) == (Decision.CONFIRMED, words)
    rows = qualities(SUPERVISED, quality=ALIKE)
    rows += qualities(CLUSTERS, quality=by_kernel({"linear": 0.9}, 0.97, "wine"))
    assert claims.kernels_alike(records(*rows)).decision is Decision.MOSTLY
    slow = {"time_s": by_kernel({"multiquadric": 2.0}, 0.1, "mnist")}
    found = claims.kernels_alike(records(*qualities(SUPERVISED + CLUSTERS, quality=ALIKE, **slow)))
    words = "6 of 8 cases (75 %); at most 0.040 apart, times 20 to 1"
    assert (found.decision, found.measure) == (Decision.CONTRADICTED, words)
    assert "MNIST, supervised: times 20 to 1" in found.evidence
    disturbed = qualities(SUPERVISED + CLUSTERS, quality=ALIKE, drifted=True)
    assert claims.kernels_alike(records(*disturbed)).decision is Decision.UNDECIDED
