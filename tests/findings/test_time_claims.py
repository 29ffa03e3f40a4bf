"""Claims on time, decided from made-up first solves."""

import pytest

from kdrbench.suite.findings.finding import Decision
from support.claim_rows import WITH_AUTHORS, cells, claims, records
from support.report_rows import run, runs_of

TABLES = ("four", "four_clusters", "plus_five", "plus_six")
RIVALS = ("dg", "sm", "gm")
SIZES = [1000, 2000, 4000, 8000]


def race(slowest=2.0, suffix="", **columns):
    """ISM takes a hundredth of a second, every rival one, and GM ``slowest`` on Face."""
    rows = [row for table in TABLES for row in cells(table, f"ism{suffix}", time_s=0.01)]
    for table in TABLES:
        for rival in [*RIVALS, "ism_2018"] if table.startswith("plus") and not suffix else RIVALS:
            last = slowest if rival == "gm" else 1.0
            seconds = {"time_s": lambda data, *_, last=last: last if data == "face" else 1.0}
            rows += cells(table, f"{rival}{suffix}", **(seconds | columns))
    return rows


@pytest.mark.parametrize(
    ("slowest", "decision", "times"),
    [(2000.0, Decision.CONFIRMED, "200,000"), (900.0, Decision.MOSTLY, "90,000"), (2.0, Decision.CONTRADICTED, "200")],
)
def test_times_faster_by_the_largest_ratio(slowest, decision, times):
    found = claims.times_faster(records(*race(slowest=slowest)))
    assert (found.decision, found.measure) == (decision, f"{times} times (from 100, median 100)")
    assert found.evidence.endswith("the largest of NeurIPS 2019, Table 4, supervised: Face, Gaussian, GM")


@pytest.mark.whole
def test_times_faster_says_the_ratio_of_converged_solvers():
    fair = race(slowest=0.05, suffix="_converged", optimality="not_stationary")
    found = claims.times_faster(records(*race(), *fair))
    assert "converged, 100 times (from 5, median 100)" in found.note


def test_times_faster_is_undecided_without_full_clean_times():
    stopped = claims.times_faster(records(*race(status="time_limit")))
    assert (stopped.decision, "which a limit of 1e+03 s decides" in stopped.measure) == (Decision.UNDECIDED, True)
    shared = claims.times_faster(records(*race(slowest=2000.0, timed=False)))
    assert (shared.decision, "undisturbed times of" in shared.evidence) == (Decision.UNDECIDED, True)
    # A bound above the claim is enough.
    early = race(slowest=2000.0, status="time_limit", stopped_early="stopped at 60 s")
    assert claims.times_faster(records(*early)).decision is Decision.CONFIRMED


def stopped(rows, method="", dataset=""):
    return [
        row | {"status": "time_limit"} if method in ("", row["method"]) and dataset in ("", row["dataset"]) else row
        for row in rows
    ]


def test_times_faster_takes_no_ratio_where_ism_was_stopped():
    # The ratio of 200,000 on Face is no more than a bound from above.
    found = claims.times_faster(records(*stopped(race(slowest=2000.0), "ism", "face")))
    assert (found.decision, found.measure) == (Decision.UNDECIDED, "100 times (from 100, median 100)")
    assert "in which ISM itself was stopped" in found.evidence
    # That a small one bounds from above contradicts.
    assert claims.times_faster(records(*stopped(race(), "ism", "face"))).decision is Decision.CONTRADICTED


@pytest.mark.whole
def test_of_solvers_that_were_stopped_little_is_known():
    # At most 90,000 times might be mostly so.
    assert claims.times_faster(records(*stopped(race(slowest=900.0), "ism", "face"))).decision is Decision.UNDECIDED
    # Both stopped: nothing is known of the ratio.
    assert claims.times_faster(records(*stopped(race(), dataset="face"))).decision is Decision.UNDECIDED
    alone = claims.times_faster(records(*stopped(race(), "ism")))
    assert "lacking: first solves of ism, which came to its end" in alone.evidence


def baselines(lda=0.04, slow=0.04):
    rows = [*cells("plus_five", "ism", time_s=0.05), *cells("plus_five", "lda", time_s=lda)]
    return records(*rows, *cells("plus_five", "pca_svm", time_s=lambda data, *_: slow if data == "car" else 0.04))


def test_as_fast_as_baselines_within_a_factor_of_two():
    assert claims.as_fast(baselines()).decision is Decision.CONFIRMED
    one = claims.as_fast(baselines(slow=0.001))
    assert (one.decision, one.measure) == (Decision.MOSTLY, "7 of 8 cases (88 %); at most 50 times")
    assert one.evidence.endswith("not shown in ISM+, Table 5, supervised: Car, Baselines, PCA + SVM")
    # A time of one run is known within a fifth: 2.1 times may be twice.
    assert claims.as_fast(baselines(lda=0.05 / 2.1)).decision is Decision.INDISTINCT
    assert claims.as_fast(baselines(lda=0.001)).decision is Decision.CONTRADICTED
    assert claims.as_fast(records(*cells("plus_five", "ism"))).decision is Decision.UNDECIDED


def by_authors(dg, timed=False):
    """ISM in a second and DG in some others, by the authors' code on Face."""
    shared = {"experiment": "authors", "timed": timed}
    ism, dg = (
        runs_of("face", f"{name}_authors", range(10), time_s=s, **shared) for name, s in (("ism", 1.0), ("dg", dg))
    )
    return records(*ism, *dg, config=WITH_AUTHORS)


def test_headline_times_are_decided_by_the_authors_code():
    claim = claims.days_and_seconds
    assert claim(by_authors(10.0)).decision is Decision.CONTRADICTED
    assert "ISM 1 s, DG 10 s on Face" in claim(by_authors(10.0)).evidence
    # On shared cores ISM may have taken a tenth, or ten times as long.
    assert claim(by_authors(1e6)).decision is Decision.INDISTINCT
    assert claim(records(*cells("four", "ism"))).decision is Decision.UNDECIDED
    found = claims.times_faster(by_authors(10.0))
    assert found.decision is Decision.CONTRADICTED
    assert found.power == "wrong by at most a factor of 10, since runs shared their cores"
    for seconds, timed, decision in ((2e5, True, Decision.CONFIRMED), (2e5, False, Decision.UNDECIDED)):
        assert claims.times_faster(by_authors(seconds, timed)).decision is decision


def grown(solver, exponent, axis="n_train", experiment="scaling", sizes=SIZES, **columns):
    """First solves that grow as size^exponent; ``axis`` says in which size."""
    fixed = {"n_train": 1000, "n_features": 20, "n_components": 4, "iterations": 1, "warm_s": 0.1}
    shared = {"experiment": experiment} | fixed
    # All series meet at the sizes that do not grow.
    return [
        run(
            f"{axis}-{size}", solver, 0, **(shared | {axis: size, "time_s": (size / fixed[axis]) ** exponent} | columns)
        )
        for size in sizes
    ]


def all_pairs(**exponents):
    """First solves of ISM and all its rivals that grow as n^2, but for those of the named ones."""
    return [row for name in ("ism", *RIVALS) for row in grown(name, exponents.get(name, 2.0))]


def test_quadratic_time_by_the_exponents_of_all_solvers():
    rows = [*all_pairs(ism=1.9, dg=2.1), *grown("ism", 1.0, experiment="scaling_factored")]
    found = claims.growth_in_samples(records(*rows))
    assert (found.decision, found.measure) == (Decision.CONFIRMED, "4 of 4 solvers (100 %); n^1.90 to n^2.10")
    assert found.evidence.startswith("ISM n^1.90 (95 %: 1.90 to 1.90); DG n^2.10")
    # Other or unlike exponents contradict.
    for ism, dg in ((2.0, 3.0), (1.0, 1.0), (1.74, 2.26)):
        assert claims.growth_in_samples(records(*all_pairs(ism=ism, dg=dg))).decision is Decision.CONTRADICTED


def test_quadratic_time_needs_large_undisturbed_sums():
    for there in (("ism",), ("ism", "dg"), RIVALS):
        found = claims.growth_in_samples(records(*[row for row in all_pairs() if row["method"] in there]))
        lacking = ", ".join(f"n of {name.upper()}" for name in ("ism", *RIVALS) if name not in there)
        assert found.evidence.endswith(f"sum over all pairs of 1000 samples and more at three sizes: {lacking}")
        assert found.decision is Decision.UNDECIDED
    others = [row for row in all_pairs() if row["method"] != "dg"]
    for rows, change, words in (
        (others, {"status": "time_limit"}, "three sizes: n of DG"),
        ([], {"drifted": True}, "all pairs"),
        ([], {"experiment": "scaling_factored"}, "all pairs"),
        (others, {"sizes": [125, 250, 500]}, "1000 samples and more at three sizes: n of DG"),
    ):
        found = claims.growth_in_samples(records(*rows, *grown("dg", 2.0, **change)))
        assert (found.decision, words in found.evidence) == (Decision.UNDECIDED, True)


def test_an_interval_across_the_region_is_not_distinguishable():
    # A wave that leaves the slopes at 2.45 and widens their intervals to 2.15.
    rows = [row for row in all_pairs(ism=1.9, gm=1.9) if row["method"] in ("ism", "gm")]
    for name in ("dg", "sm"):
        waves = grown(name, 2.45)
        for row, sign in zip(waves, (1, -1, -1, 1), strict=True):
            row["time_s"] *= 2.0 ** (0.11 * sign)
        rows += waves
    found = claims.growth_in_samples(records(*rows))
    assert (found.decision, found.power) == (Decision.INDISTINCT, "exponents are known to within 0.30")
    assert "DG n^2.45 (95 %: 2.15 to 2.75)" in found.evidence


def exponents(in_q=None, in_d=1.0, **columns):
    rows = []
    for name in ("ism", *RIVALS):
        rows += grown(name, 2.0, **columns) + grown(name, in_d, "n_features", sizes=[10, 40, 160])
        rows += grown(name, (in_q or {}).get(name, 0.5), "n_components", sizes=[2, 8, 16])
    return records(*rows)


def test_complexity_by_the_exponents_of_an_iteration():
    found = claims.complexity(exponents(in_q={"dg": 2.0, "sm": 1.0}))
    words = "9 of 9 exponents (100 %); n^2.00, d^1.00, q^0.50 to q^2.00"
    assert (found.decision, found.measure) == (Decision.CONFIRMED, words)
    assert "DG q^2.00 (95 %: 2.00 to 2.00)" in found.evidence
    # GM has no row in the printed table.
    assert "GM" not in found.evidence
    assert claims.complexity(exponents(in_q={"sm": 2.0}, in_d=1.5)).decision is Decision.CONTRADICTED
    # What grows less may do so at sizes that are too small.
    assert claims.complexity(exponents(in_q={"sm": 0.2})).decision is Decision.MOSTLY
    lacking = claims.complexity(exponents(status="time_limit"))
    assert (lacking.decision, "n of ISM, n of DG" in lacking.evidence) == (Decision.UNDECIDED, True)
    assert claims.complexity_neurips(exponents()).decision is Decision.CONFIRMED


def features(**in_d):
    return records(*(row for name, one in in_d.items() for row in grown(name, one, "n_features", sizes=[10, 40, 160])))


def test_disparity_grows_where_the_ratio_rises_with_the_features():
    found = claims.disparity_grows(features(ism=0.5, dg=1.0, sm=1.0, gm=2.0))
    assert (found.decision, found.measure) == (Decision.CONFIRMED, "3 of 3 rivals (100 %); d^0.50 to d^1.50")
    assert "GM d^1.50 (95 %: 1.50 to 1.50)" in found.evidence
    assert claims.disparity_grows(features(ism=1.0, dg=0.5, sm=1.5, gm=2.0)).decision is Decision.CONTRADICTED
    lacking = claims.disparity_grows(features(ism=1.0, dg=2.0))
    assert (lacking.decision, "three sizes: d of SM, d of GM" in lacking.evidence) == (Decision.UNDECIDED, True)
