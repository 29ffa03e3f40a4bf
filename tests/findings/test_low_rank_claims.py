"""Claims of low-rank kernels, decided from made-up rows."""

import pandas as pd
import pytest

from kdrbench.suite.findings import kernel_claims
from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.finding import Decision
from support.claim_rows import claims

CONFIRMED, MOSTLY, INDISTINCT, CONTRADICTED, UNDECIDED = Decision
BLANK = {"experiment": "t", "dataset": "digits", "run": 0, "n_constraints": 50, "status": "converged"}
BLANK |= {"n_samples": 317, "rank": 16, "sweeps": 10, "projections": 500, "time_s": 1.0, "nmi_ten_starts": 0.5}


@pytest.fixture(autouse=True)
def one_draw(monkeypatch, request):
    """One draw of the constraints is enough, but in the test on draws."""
    if "draws_of_the_constraints" not in request.node.name:
        monkeypatch.setattr(kernel_claims, "DRAWS", 1)


def low_rank(*rows):
    return Records(low_rank=pd.DataFrame([BLANK | row for row in rows]))


def on(dataset, method, *runs, **columns):
    """Rows of a method, one for each of the ``runs``, which say what is measured of it."""
    return [{"dataset": dataset, "method": method, "run": number} | columns | one for number, one in enumerate(runs)]


def timed(method, in_n, in_r):
    """Times that grow as n^in_n at rank 16 and, for a projection, as r^in_r at 317 samples."""
    sizes = [{"method": method, "n_samples": n, "time_s": n**in_n} for n in (500, 1000, 2000, 4000)]
    return sizes + [{"method": method, "rank": r, "time_s": r**in_r} for r in (32, 64, 128)]


def test_projections_must_be_linear_in_n_and_quadratic_in_r():
    found = claims.cost_of_projections(low_rank(*timed("burg", 1.0, 2.0), *timed("von_neumann", 0.8, 2.2)))
    assert found.decision is CONFIRMED
    assert found.evidence.startswith("Burg n^1.00 (95 %: 1.00 to 1.00); Burg r^2.00")
    # Smaller exponents say that sizes are too small.
    found = claims.cost_of_projections(low_rank(*timed("burg", 0.15, 2.0), *timed("von_neumann", 0.1, 2.0)))
    words = "2 of 4 exponents (50 %), and 2 unclear; n^0.10 to n^0.15, r^2.00"
    assert (found.decision, found.measure) == (INDISTINCT, words)
    # Small ranks are left out where there are large ones.
    bent = [{"method": "burg", "rank": r, "time_s": float(max(r, 100) ** 2)} for r in (16, 32, 64, 128, 256, 512)]
    rows = [*bent, *timed("burg", 1.0, 2.0)[:4], *timed("von_neumann", 1.0, 2.0)]
    assert "Burg r^2.00 (95 %: 2.00 to 2.00)" in claims.cost_of_projections(low_rank(*rows)).evidence


def test_exponents_need_three_sizes_of_undisturbed_runs():
    rows = [*timed("burg", 1.0, 2.0), *timed("von_neumann", 1.0, 2.0)]
    for disturbed in ({"drifted": True}, {"timed": False}):
        assert claims.cost_of_projections(low_rank(*(row | disturbed for row in rows))).decision is UNDECIDED
    stopped = [row | {"status": "time_limit"} for row in rows[-2:]]
    found = claims.cost_of_projections(low_rank(*rows[:-2], *stopped))
    assert (found.decision, "at three sizes: r of von Neumann" in found.evidence) == (UNDECIDED, True)


def swept(dataset, boost, status="converged", **others):
    """Three sets of constraints: 10 sweeps by von Neumann, and what others need."""
    rows = on(dataset, "von_neumann_trace", *[{"sweeps": 10}] * 3)
    rows += on(dataset, "definite_boost", *[{"sweeps": boost, "status": status}] * 3)
    return low_rank(*rows, *(row for name, sweeps in others.items() for row in on(dataset, name, {"sweeps": sweeps})))


def test_boosting_must_need_ten_times_as_many_sweeps():
    found = claims.fewer_sweeps(swept("gyrb", 200, definite_boost_exact=8))
    assert (found.decision, found.measure) == (CONFIRMED, "20 times as many")
    assert found.evidence.endswith("in the median of 3 sets (lower bounds: 0); DefiniteBoost, exact steps 0.8 times")
    assert claims.fewer_sweeps(swept("gyrb", 30)).decision is CONTRADICTED
    assert claims.fewer_sweeps(swept("gyrb", 30, "max_iterations")).decision is UNDECIDED
    # Sweeps at which DefiniteBoost was stopped are a lower bound.
    for status in ("max_iterations", "time_limit"):
        bound = claims.fewer_sweeps(swept("gyrb", 200, status))
        assert (bound.decision, "(lower bounds: 3)" in bound.evidence) == (CONFIRMED, True)
    ours = on("gyrb", "von_neumann_trace", {"sweeps": 10})
    elsewhere = on("gyrb", "definite_boost", {"sweeps": 200}, experiment="another")
    # Without the trace it is another problem.
    other = on("gyrb", "von_neumann", {"sweeps": 10}) + on("gyrb", "definite_boost", {"sweeps": 200})
    for rows in (ours + elsewhere, other):
        assert claims.fewer_sweeps(low_rank(*rows)).evidence.startswith("lacking")
    # What comes out on the substitute is a note.
    for boost, word in ((200, "confirmed"), (30, "contradicted")):
        found = claims.fewer_sweeps(swept("gyrb-standin", boost))
        assert (found.decision, found.evidence) == (UNDECIDED, "on the stand-in: gyrB is not public")
        assert found.note.startswith(f"There it would be {word}: DefiniteBoost needs {boost // 10} times")


def kernels(dataset, ours, theirs):
    rows = on(dataset, "von_neumann_trace", *({"reference_distance": one} for one in ours))
    return low_rank(*rows, *on(dataset, "definite_boost", *({"reference_distance": one} for one in theirs)))


def test_both_methods_must_end_at_the_exact_kernel():
    found = claims.same_kernel(kernels("gyrb", [1e-4] * 20, [1e-3] * 20))
    assert found.measure == "20 of 20 sets (100 %); at most 1.0e-03 from the exact kernel"
    assert found.decision is CONFIRMED
    assert claims.same_kernel(kernels("gyrb", [1e-4] * 5, [1e-3] * 4 + [0.1])).decision is MOSTLY
    # A run that failed has no kernel.
    for ours in ([0.1, 0.1], [None, None]):
        assert claims.same_kernel(kernels("gyrb", ours, [1e-3] * 2)).decision is CONTRADICTED
    assert claims.same_kernel(kernels("gyrb", [1e-4], [])).decision is UNDECIDED


def test_the_learned_kernel_must_beat_the_one_it_was_given():
    for neumann, decision in ((0.95, CONFIRMED), (0.94, CONTRADICTED), (None, CONTRADICTED)):
        rows = [
            row
            for method, accuracy in (("burg", 0.96), ("von_neumann", neumann))
            for count, value in ((50, 0.1), (200, accuracy))
            for row in on("gyrb", method, {"n_constraints": count, "accuracy": value, "target_accuracy": 0.948})
        ]
        found = claims.better_than_target(low_rank(*rows))
        assert found.decision is decision
        assert decision is CONTRADICTED or found.measure == "2 of 2 comparisons (100 %); at least +0.002"


def agreeing(method, *values, **columns):
    row = {"method": method} | columns
    return [row | {"n_constraints": 50 * place, "nmi_ten_starts": nmi} for place, nmi in enumerate(values)]


def test_agreement_must_rise_for_every_method():
    rising = agreeing("burg", 0.5, 0.7, 0.8)
    found = claims.agreement_rises(low_rank(*rising))
    assert (found.decision, found.evidence) == (CONFIRMED, "t, burg: 0.50 to 0.80")
    assert claims.agreement_rises(low_rank(*rising, *agreeing("von_neumann", 0.5, 0.7, 0.4))).decision is CONTRADICTED
    assert claims.agreement_rises(low_rank(*agreeing("burg", 0.5, 0.7))).decision is UNDECIDED
    # Sets without a solution have no say.
    unsolvable = agreeing("burg", 0.5, 0.7, 0.8, 0.1)
    unsolvable[-1]["largest_violation"] = 0.6
    assert claims.agreement_rises(low_rank(*unsolvable)).evidence == "t, burg: 0.50 to 0.80"


def test_divergences_must_be_close_in_accuracy_and_nmi():
    def found(accuracy, nmi, count=5):
        rows = []
        for place in range(5):
            apart = place < count
            values = {"accuracy": 0.97, "nmi_ten_starts": 0.8, "n_constraints": 25 * (place + 1)}
            moved = {"accuracy": 0.97 - accuracy * apart, "nmi_ten_starts": 0.8 - nmi * apart}
            rows += on("digits", "burg", values) + on("digits", "von_neumann", values | moved)
        return claims.divergences_comparable(low_rank(*rows))

    near = found(0.01, 0.04)
    assert (near.decision, near.evidence) == (CONFIRMED, "accuracies at most 0.010 apart, NMI 0.04")
    assert found(0.03, 0.04).decision is found(0.01, 0.06).decision is CONTRADICTED
    assert found(0.01, 0.06, 1).decision is MOSTLY
    assert claims.divergences_comparable(low_rank(*on("digits", "burg", {"accuracy": 0.9}))).decision is UNDECIDED
    # Draws that differ by more than the bound show nothing.
    draws = [{"accuracy": 0.97, "nmi_ten_starts": 0.8 + 0.1 * (-1) ** draw} for draw in range(10)]
    level = [{"accuracy": 0.97, "nmi_ten_starts": 0.8}] * 10
    noisy = claims.divergences_comparable(low_rank(*on("digits", "burg", *draws), *on("digits", "von_neumann", *level)))
    assert (noisy.decision, noisy.measure[:38]) == (INDISTINCT, "0 of 1 constraint count (0 %), and 1 u")
    assert noisy.power == "a difference of 0.075 would show in half of the comparisons, one of 0.075 in all"


@pytest.mark.parametrize(
    ("method", "ranks", "columns", "decision"),
    [
        ("burg", [16] * 20, {}, CONFIRMED),
        # Two draws are too few.
        ("burg", [16, 16], {}, INDISTINCT),
        ("burg", [16, 15], {}, CONTRADICTED),
        ("burg", [None], {}, CONTRADICTED),
        ("von_neumann", [15] * 20, {}, CONFIRMED),
        ("von_neumann", [17] * 20, {}, CONTRADICTED),
        # Where there is no solution, eigenvalues vanish.
        ("burg", [6], {"largest_violation": 0.5}, UNDECIDED),
        ("burg", [16], {"n_constraints": 0}, UNDECIDED),
    ],
)
def test_every_learned_kernel_must_have_the_rank_of_the_start(method, ranks, columns, decision):
    rows = on("digits", method, *({"learned_rank": rank} for rank in ranks), **columns)
    assert claims.rank_kept(low_rank(*rows)).decision is decision


def many(dataset, *solves):
    columns = ("sweeps", "n_constraints", "largest_violation")
    return on(dataset, "burg", *(dict(zip(columns, solve, strict=True)) for solve in solves))


def test_no_solvable_set_may_need_more_than_600_sweeps():
    others = [(9, 25, 0.0)] * 19
    assert claims.few_sweeps(low_rank(*many("gyrb", (600, 1000, 1e-3), *others))).decision is CONFIRMED
    over = claims.few_sweeps(low_rank(*many("gyrb", (601, 1000, 1e-3), (9, 25, 0.0))))
    assert (over.decision, over.measure) == (CONTRADICTED, "1 of 2 solves (50 %); at most 601 sweeps")
    assert claims.few_sweeps(low_rank(*many("gyrb", (601, 200, 1e-3), *others))).decision is MOSTLY
    unsolvable = claims.few_sweeps(low_rank(*many("gyrb", (1362, 1000, 0.6), (9, 25, 0.0))))
    assert unsolvable.evidence == "lacking: a solve with n_constraints >= 1000"


def test_trace_evaluations_are_counted_a_projection():
    def found(each, draws=20):
        counts = {"trace_evaluations": 500 * each, "projections": 500}
        return claims.few_trace_evaluations(low_rank(*on("digits", "von_neumann", *[counts] * draws)))

    assert (found(6).decision, found(7).decision, found(6, 2).decision) == (CONFIRMED, CONTRADICTED, INDISTINCT)
    assert found(6).measure.endswith("at most 6 in the mean of a solve")


def test_few_draws_of_the_constraints_confirm_nothing():
    rows = [row | {"run": run} for run in range(5) for row in agreeing("burg", 0.5, 0.7, 0.8)]
    found = claims.agreement_rises(low_rank(*[row for row in rows if row["run"] < 4]))
    assert found.decision is UNDECIDED
    assert found.note == "Left out, with fewer than 5 draws of the constraints: t (4)."
    # An experiment of few draws takes nothing from one of many.
    others = [row | {"experiment": "of one draw"} for row in agreeing("burg", 0.9, 0.7, 0.1)]
    assert claims.agreement_rises(low_rank(*rows, *others)).decision is CONFIRMED
    # Nor does Digits on another number of samples decide.
    assert claims.agreement_rises(low_rank(*(row | {"n_samples": 500} for row in rows))).decision is UNDECIDED


def cut(records, **at):
    """The same records with the runs at some place stopped by a limit, so that they have no numbers."""
    table = records.low_rank.copy()
    chosen = (table[list(at)] == list(at.values())).all(axis=1)
    kept = {"experiment", "dataset", "method", "run", "n_constraints", "n_samples", "rank", "status"}
    numbers = [name for name in table if name not in kept]
    table[numbers] = table[numbers].astype(float)
    table.loc[chosen, ["status", *numbers]] = ["time_limit", *[None] * len(numbers)]
    return Records(low_rank=table)


def test_draws_stopped_at_a_limit_are_open():
    solves = low_rank(*many("gyrb", (600, 1000, 1e-3), (9, 25, 0.0), (9, 50, 0.0)))
    found = claims.few_sweeps(cut(solves, n_constraints=50))
    assert (found.decision, found.measure) == (UNDECIDED, "2 of 3 solves (67 %), and 1 open; at most 600 sweeps")
    # A solve that failed is lost.
    failed = cut(solves, n_constraints=50).low_rank.replace("time_limit", "failed")
    assert claims.few_sweeps(Records(low_rank=failed)).decision is CONTRADICTED
    # Without a draw that ended nothing is decided.
    assert claims.few_sweeps(cut(solves)).evidence == "lacking: a solve with n_constraints >= 1000"
    rising = low_rank(*agreeing("burg", 0.5, 0.7, 0.8), *agreeing("von_neumann", 0.5, 0.7, 0.8))
    found = claims.agreement_rises(cut(rising, method="burg", n_constraints=100))
    assert (found.decision, found.measure) == (UNDECIDED, "1 of 2 curves (50 %), and 1 open")
    same, worse = (kernels("gyrb", [ours] * 3, [1e-3] * 3) for ours in (1e-4, 0.1))
    for method in ("von_neumann_trace", "definite_boost"):
        assert claims.same_kernel(cut(same, method=method, run=1)).decision is UNDECIDED
        assert claims.same_kernel(cut(worse, method=method, run=1)).decision is CONTRADICTED
        assert claims.fewer_sweeps(cut(swept("gyrb", 200), method=method, run=1)).decision is UNDECIDED
    rows = [row | {"target_accuracy": 0.9} for row in on("gyrb", "burg", *[{"accuracy": 0.8}] * 3)]
    assert claims.better_than_target(cut(low_rank(*rows), run=1)).decision is UNDECIDED
