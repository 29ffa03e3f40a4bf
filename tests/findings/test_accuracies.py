"""Claims on accuracies and on the rule for q, decided from made-up runs."""

import copy

from kdrbench.suite.findings.finding import Decision
from kdrbench.suite.findings.quality_claims import accuracy_above, lowest_error, rule_of_q
from support.claim_rows import BASELINES, CONFIG, cells, records
from support.report_rows import run


def accuracies(**columns):
    return [row for table in ("four", "five") for row in cells(table, "ism", **columns)]


def on(low, *datasets):
    return lambda data, kernel, fold: low if data in datasets else 0.96


def test_accuracy_is_judged_by_the_mean_of_each_cell():
    found = accuracy_above(records(*accuracies(quality=lambda data, kernel, fold: 0.9 if fold == 0 else 0.96)))
    assert (found.decision, found.measure) == (Decision.CONFIRMED, "24 of 24 cells (100 %); at least 95.4%")
    assert found.note == (
        "The paper itself prints less: DG on Wine, Gaussian, 93.2%±5.5%; DG on Wine, Polynomial, 93.8%±3.9%."
    )
    low = accuracy_above(records(*accuracies(quality=on(0.9, "mnist"))))
    assert (low.decision, low.measure) == (Decision.CONTRADICTED, "18 of 24 cells (75 %); at least 90.0%")
    assert "below: NeurIPS 2019, Table 4, supervised: MNIST, Gaussian, ISM 90.0%; " in low.evidence
    assert accuracy_above(records(*cells("four", "ism"))).decision is Decision.UNDECIDED


def test_accuracy_of_a_cell_without_all_folds_is_lost():
    rows = [
        row for row in accuracies(quality=0.99) if (row["dataset"], row["run"]) != ("face", 9) or row["kernel"] > "h"
    ]
    found = accuracy_above(records(*rows))
    assert (found.decision, found.measure) == (Decision.MOSTLY, "22 of 24 cells (92 %); at least 99.0%")
    assert "Face, Gaussian, ISM lost for missing or failed runs" in found.evidence


def test_accuracy_on_training_samples_is_a_note():
    found = accuracy_above(records(*accuracies(quality=0.9, train_accuracy=0.99)))
    assert found.decision is Decision.CONTRADICTED
    assert found.note.endswith("On training samples 24 of 24 cells (100 %) do.")


def errors(ours=0.01, **theirs):
    rows = cells("plus_five", "ism", quality=ours)
    return records(
        *rows, *(row for name in BASELINES for row in cells("plus_five", name, quality=theirs.get(name, 0.02)))
    )


def test_the_lowest_error_on_every_data_set():
    assert lowest_error(errors()).decision is Decision.CONFIRMED
    # Level counts.
    assert lowest_error(errors(ours=0.02)).decision is Decision.CONFIRMED
    one = lowest_error(errors(lda=lambda data, *_: 0.0 if data == "car" else 0.02))
    assert (one.decision, one.measure) == (Decision.CONTRADICTED, "3 of 4 data sets (75 %); at most 1.0 points higher")
    assert one.evidence.endswith("not on Car, ISM 1.0% against 0.0% of LDA")
    assert lowest_error(records(*cells("plus_five", "ism"))).decision is Decision.UNDECIDED
    lost = lowest_error(errors(ours=lambda data, *_: None if data == "wine" else 0.01))
    assert "Wine for missing or failed runs" in lost.evidence


def test_a_baseline_without_an_error_is_not_beaten():
    found = lowest_error(errors(lda=lambda data, *_: None if data == "wine" else 0.02))
    assert (found.decision, found.measure) == (Decision.CONTRADICTED, "3 of 4 data sets (75 %)")
    assert found.evidence.endswith("not on Wine for missing or failed runs of LDA")
    none = lowest_error(errors(**{name: lambda *_: None for name in BASELINES}))
    assert none.measure == "0 of 4 data sets (0 %)"


PRINTED = {"wine": 4, "cancer-137": 4, "car": 4, "face": 20}


def chosen(**q):
    """What the rule chooses: the q of the printed costs, or what is given, in both tables."""
    asked = {"ismplus_eigengap": PRINTED, "ismplus_eigengap_clusters": PRINTED | {"cancer-137": 2}}
    return [
        run(data, "ism", 0, experiment=name, split="none", n_components=q.get(data, printed))
        for name, components in asked.items()
        for data, printed in components.items()
    ]


def test_the_rule_must_choose_the_q_of_the_printed_costs():
    assert rule_of_q(records(*chosen())).measure == "8 of 8 cases (100 %)"
    assert rule_of_q(records(*chosen())).decision is Decision.CONFIRMED
    other = rule_of_q(records(*chosen(wine=1)))
    assert (other.decision, other.measure) == (Decision.CONTRADICTED, "6 of 8 cases (75 %); off by at most 3")
    assert other.evidence == "equal in 6 of 8 cases (75 %); Wine, supervised: 1 for 4; Wine, unsupervised: 1 for 4"
    assert rule_of_q(records(*chosen()[:2])).decision is Decision.UNDECIDED


def test_the_rule_is_mostly_right_where_four_of_five_are():
    rows = chosen()
    rows[0]["n_components"] = 3
    found = rule_of_q(records(*rows))
    assert (found.decision, found.measure) == (Decision.MOSTLY, "7 of 8 cases (88 %); off by at most 1")


def test_a_configuration_of_your_own_changes_no_expected_q():
    config = copy.deepcopy(CONFIG)
    for components in ({"wine": 1}, dict.fromkeys(PRINTED, "eigengap")):
        config["experiments"]["ismplus_table5"]["components"] = components
        assert rule_of_q(records(*chosen(), config=config)).decision is Decision.CONFIRMED
