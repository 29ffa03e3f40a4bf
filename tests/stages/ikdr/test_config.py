"""Experiments without folds or without labels, and what they leave to defaults."""

import pytest

from configs import table_4_config
from kdrbench.bench.config import check_config
from kdrbench.bench.grid import Grid
from kdrbench.bench.plan import Batch
from kdrbench.errors import ConfigError

CONFIG = table_4_config()
TABLE = CONFIG["experiments"]["table4_supervised"]


def with_table(experiment):
    return CONFIG | {"experiments": {"table4_supervised": experiment}}


UNSUPERVISED = {
    "title": "Clusters.",
    "paradigm": "unsupervised",
    "datasets": ["wine"],
    "kernels": ["gaussian"],
    "solvers": ["ism"],
    "components": {"wine": 4},
    "split": "none",
    "start": "surrogate",
}
SUBSETS = {"split": "subsets", "folds": 3, "rows": {"wine": 142}}
ALTERNATIVE = {"paradigm": "alternative"}


def labelled(**names):
    return {"labellings": {"wine": names}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split": "all"}, "experiments.e.split is 'all'; it must be one of folds, none, subsets"),
        ({"split": "folds", "folds": 5}, "e.split is 'folds'; clusters of training rows say nothing of test rows"),
        ({"split": KeyError}, "e.split is 'folds'; clusters of training rows say nothing"),
        ({"folds": 2}, "e.folds is 2; with split: none all rows are used once, so leave it out"),
        ({"folds": 0}, "e.folds is 0; it must be at least 1"),
        (
            {"split": "subsets", "rows": {"wine": 9}},
            "the key 'folds' is missing in experiments.e; split: subsets needs",
        ),
        ({"rows": {"wine": 9}}, "e.rows stands with split: none; only split: subsets draws rows"),
        (SUBSETS | {"rows": {"wines": 9}}, "e.rows: unknown data set 'wines'; allowed"),
        (SUBSETS | {"rows": {"wine": 1}}, "e.rows.wine is 1; it must be at least 2"),
        (
            SUBSETS | {"rows": {"wine": 179}},
            "e.rows.wine is 179; data set 'wine' has 178 samples, so it must be between",
        ),
        (SUBSETS | {"rows": {"iris": 9}}, "e.rows names no number of rows for data set 'wine'"),
        (SUBSETS | {"rows": KeyError}, "e.rows names no number of rows for data set 'wine'"),
        ({"paradigm": "semi"}, "e.paradigm is 'semi'; it must be one of supervised, unsupervised, alternative"),
        ({"paradigm": "alternative"}, "e.labellings names no given labelling for data set 'wine'"),
        (
            ALTERNATIVE | labelled(given="class"),
            "e.labellings.wine.given: unknown labelling 'class'; allowed: classes, cl",
        ),
        (
            ALTERNATIVE | labelled(given="classes", sought="clusters"),
            "e.labellings.wine.sought: unknown labelling 'clusters'; allowed: classes",
        ),
        (
            ALTERNATIVE | labelled(given="classes"),
            "e.labellings.wine names no labelling that is sought; its n_clusters must be given",
        ),
        (
            ALTERNATIVE | labelled(given="classes", n_clusters=1),
            "e.labellings.wine.n_clusters is 1; it must be at least 2",
        ),
        (
            ALTERNATIVE | labelled(given="classes", n_clusters=2) | {"baselines": ["spectral_clustering"]},
            "e.baselines: 'spectral_clustering' has no place in an experiment that is alternative",
        ),
        (
            ALTERNATIVE | labelled(given="classes", n_clusters=2) | {"split": "folds", "folds": 5},
            "clusters of training rows say nothing of test rows, so an alternative experiment needs",
        ),
        (
            {"paradigm_params": {"centered": True}},
            "e.paradigm_params: unknown parameter of paradigm 'unsupervised': 'cen",
        ),
        ({"paradigm_params": {"tolerance": 0}}, "e.paradigm_params: tolerance must be a finite number > 0, got 0"),
        (
            {"paradigm": "supervised", "paradigm_params": {"centred": True}},
            "e.paradigm_params: supervised experiments have no parameters",
        ),
        (
            {"baselines": ["svm"]},
            "'svm' is a baseline of classification; this experiment is unsupervised, where these",
        ),
        ({"folds_per_job": "all"}, "e.folds_per_job is 'all'; it must be 'auto' or an integer of at least 1"),
        ({"folds_per_job": 0}, "e.folds_per_job is 0; it must be 'auto' or an integer of at least 1"),
    ],
)
def test_faults_of_experiments_without_folds(changes, message):
    experiment = {key: value for key, value in (UNSUPERVISED | changes).items() if value is not KeyError}
    with pytest.raises(ConfigError, match=message) as caught:
        check_config(CONFIG | {"run": ["e"], "experiments": {"e": experiment}})
    assert "\n" not in str(caught.value)


def test_supervised_folds_are_required():
    with pytest.raises(
        ConfigError, match=r"the key 'folds' is missing in experiments.table4_supervised; split: folds needs it"
    ):
        check_config(with_table({key: value for key, value in TABLE.items() if key != "folds"}))


def test_an_unsupervised_cell_is_one_run_with_a_cluster_a_class():
    experiment = UNSUPERVISED | {"baselines": ["spectral_clustering"], "paradigm_params": {"centred": False}}
    batches = Grid(CONFIG | {"run": ["e"], "experiments": {"e": experiment}}).batches()
    assert [batch.path for batch in batches] == ["e/wine/gaussian/ism/0-0", "e/wine/none/spectral_clustering/0-0"]
    for batch in batches:
        assert (batch.split, batch.n_folds, batch.n_rows, batch.paradigm) == ("none", 1, None, "unsupervised")
        assert batch.parameters == {"n_clusters": 3, "centred": False}
        assert Batch.from_json(batch.to_json()) == batch
    drawn = Grid(CONFIG | {"run": ["e"], "experiments": {"e": UNSUPERVISED | SUBSETS}}).batches()
    assert [(batch.folds, batch.n_rows) for batch in drawn] == [((0, 1, 2), 142)]


def test_how_many_runs_a_job_makes_is_decided_by_what_they_cost():
    faces = {"datasets": ["wine", "face"], "components": {"wine": 4, "face": 20}, "folds": 4}
    config = with_table(TABLE | faces | {"folds_per_job": "auto"})
    labels = {}
    for batch in Grid(config).batches():
        labels.setdefault((batch.dataset, batch.kernel, batch.solver), []).append(batch.folds_label)
    assert labels["wine", "gaussian", "dg"] == labels["face", "gaussian", "ism"] == ["0-3"]
    assert labels["face", "gaussian", "dg"] == ["0-0", "1-1", "2-2", "3-3"]
