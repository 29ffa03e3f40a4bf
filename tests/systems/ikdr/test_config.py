"""Experiments of interpretable kernel dimension reduction: their faults, defaults, and the cells that they are."""

import pytest

from kdrbench.errors import ConfigError
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.experiments.config import checked, load_grid
from kdrbench.suite.systems.ikdr.definition import CellDefinition, Kind
from kdrbench.suite.systems.ikdr.folds import Sampling, Split
from support.configs import TABLE, changed_config, ikdr_config, table_4_config
from support.products import by_section

FAULTS = [
    (f"{TABLE}.datasets", ["flower"], "data set 'flower' has no labels; experiments need them"),
    (f"{TABLE}.datasets", ["gyrb"], "data set 'gyrb' has no features; experiments need them"),
    (f"{TABLE}.components.wines", 4, f"{TABLE}.components: unknown data set 'wines'"),
    (f"{TABLE}.folds", 1, f"{TABLE}.folds is 1; it must be at least 2"),
    (f"{TABLE}.folds", 100, "largest class of data set 'wine' has 71 samples, so it must be at most that"),
    (f"{TABLE}.kernels", ["gausian"], f"{TABLE}.kernels: unknown kernel 'gausian'. Did you mean 'gaussian'"),
    (f"{TABLE}.solvers", ["imm"], f"{TABLE}.solvers: unknown solver 'imm'. Did you mean 'ism'\\? Allowed: gm, .*, sm,"),
    (f"{TABLE}.components.wine", 14, "components.wine is 14; data set 'wine' has 13 features"),
    (f"{TABLE}.components.wine", KeyError, "names no number of components for data set 'wine'"),
    ("kernels.gaussian.sgima", 1, "config: kernels.gaussian: unknown option of kernel family 'gaussian': 'sgima'"),
    ("solvers.ism.tolerence", 1, "config: solvers.ism: unknown option of solver method 'ism': 'tolerence'"),
    (f"{TABLE}.baselines", ["svn"], f"{TABLE}.baselines: unknown baseline 'svn'. Did you mean 'svm'"),
    (f"{TABLE}.baselines", ["svm", "spectral_clustering"], "is supervised, where these fit: kernel_pca_svm, lda, "),
    ("baselines", KeyError, f"{TABLE}.baselines: unknown baseline 'svm'; allowed: "),
    ("baselines.svm.method", "svn", "config: baselines.svm: unknown baseline method 'svn'. Did you mean 'svm'"),
    ("baselines.ism", {"method": "svm"}, "config: baselines.ism: a solver has this name too; give one of them"),
    ("solvers.mine_reference", {"method": "ism"}, "config: solvers.mine_reference: names that end in _reference are t"),
    ("kernels.none", {"family": "linear"}, "config: kernels.none: the name means that there is no kernel; choose"),
    ("solvers.dg.starts", 1, "config: solvers.dg.starts is 1; it must be at least 2"),
    (f"{TABLE}.evaluation", {"scheduler": "host:8786"}, f"{TABLE}.evaluation.scheduler: scheduler must be the address"),
    (f"{TABLE}.paradigm_params", {"target_kernel": "linear"}, "supervised experiments have no parameters but labels:"),
    (f"{TABLE}.folds", KeyError, f"{TABLE}.folds is missing; split: folds needs it"),
    (f"{TABLE}.components.wine", "eigengap", r"wine is 'eigengap', a rule .* which 'svm' .* has not; name a number"),
    ("solvers.ism.starts", 3, "'ism' has 3 starts that are all the same; write start: random"),
]


@pytest.mark.parametrize("cases", by_section(FAULTS))
def test_each_fault_is_one_sentence(cases):
    for path, value, message in cases:
        with pytest.raises(ConfigError, match=message) as caught:
            checked(changed_config(path, value))
        assert "\n" not in str(caught.value)


def test_as_many_components_as_features_are_refused():
    config = table_4_config(datasets=["wine"], components={"wine": 13})
    checked(config)
    del config["experiments"]["table4_supervised"]["published"]
    message = "components.wine is 13, as many as data set 'wine' has features: .* all solvers tie; give at most 12"
    with pytest.raises(ConfigError, match=message):
        checked(config)


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


def experiment_of(experiment):
    return table_4_config() | {"run": ["e"], "experiments": {"e": experiment}}


def labelled(**names):
    return {"labellings": {"wine": names}}


OTHER = ALTERNATIVE | labelled(given="classes", n_clusters=2)
FAULTS_WITHOUT_FOLDS = [
    ({"split": "folds", "folds": 5}, "e.split is 'folds'; clusters of training rows say nothing of test rows"),
    ({"folds": 2}, "e.folds is 2; with split: none all rows are used once, so leave it out"),
    ({"split": "subsets", "rows": {"wine": 9}}, "experiments.e.folds is missing; split: subsets needs it"),
    ({"rows": {"wine": 9}}, "e.rows is set with split: none; only split: subsets draws rows"),
    ({"partitions": 2}, "e.partitions is set with split: none; only split: folds makes partitions"),
    (SUBSETS | {"stratified": True}, "e.stratified is set with split: subsets; only split: folds makes partitions"),
    ({"scaling": "own"}, "e.scaling is set with split: none; only split: folds makes partitions"),
    ({"kernels": ["gaussian_polynomial"]}, "e.kernels: the weights of 'gaussian_polynomial' are aligned with labels,"),
    (SUBSETS | {"rows": {"wines": 9}}, "e.rows: unknown data set 'wines'. Did you mean 'wine'"),
    (SUBSETS | {"rows": {"wine": 179}}, "e.rows.wine is 179; data set 'wine' has 178 samples, so it must be between"),
    (SUBSETS | {"rows": {"iris": 9}}, "e.rows names no number of rows for data set 'wine'"),
    ({"paradigm": "semi_supervised"}, "e.shown: a semi-supervised experiment needs a number .* this one is semi_super"),
    ({"shown": 3}, "e.shown: a semi-supervised experiment .*; others have none, and this one is uns"),
    ({"paradigm": "semi_supervised", "shown": 500}, "e.shown is 500; the largest class of .* it must be below that"),
    ({"paradigm": "semi_supervised", "shown": 3, "baselines": ["svm"]}, "semi_supervised, where these fit: label_spr"),
    ({"paradigm": "alternative"}, "e.labellings names no given labelling for data set 'wine'"),
    (ALTERNATIVE | labelled(given="class"), "e.labellings.wine.given: unknown labelling 'class'. Did you mean 'classe"),
    (ALTERNATIVE | labelled(given="classes", sought="clusters"), "e.labellings.wine.sought: unknown labelling 'cluste"),
    (ALTERNATIVE | labelled(given="classes"), "e.labellings.wine names no labelling that is sought; its n_clusters mu"),
    (OTHER | {"baselines": ["spectral_clustering"]}, "spectral_clustering.* this experiment is alternative, .*: none"),
    (OTHER | {"split": "folds", "folds": 5}, "clusters of training rows .* of test rows, so alternative experiments"),
    ({"solvers": ["dg_10"]}, "'dg_10' has 10 starts, which is for supervised experiments; this one is unsupervised"),
    ({"paradigm_params": {"centered": True}}, "e.paradigm_params: unknown parameter of paradigm 'unsupervised': 'cen"),
    ({"baselines": ["svm"]}, "'svm' is a baseline of classification; this experiment is unsupervised, where these"),
]


@pytest.mark.parametrize("cases", by_section(FAULTS_WITHOUT_FOLDS, lambda changes: next(iter(changes))))
def test_faults_of_experiments_without_folds(cases):
    for changes, message in cases:
        with pytest.raises(ConfigError, match=message) as caught:
            checked(experiment_of(UNSUPERVISED | changes))
        assert "\n" not in str(caught.value)


def test_an_unsupervised_cell_is_one_run_with_a_cluster_a_class():
    experiment = UNSUPERVISED | {"baselines": ["spectral_clustering"], "paradigm_params": {"centred": False}}
    batches = load_grid(experiment_of(experiment)).batches()
    assert [batch.path for batch in batches] == ["e/wine/gaussian/ism/0-0", "e/wine/none/spectral_clustering/0-0"]
    for batch in batches:
        cell, parameters = CellDefinition.of(batch), {"n_clusters": 3, "centred": False}
        assert (cell.sampling, cell.paradigm, cell.parameters) == (Sampling(Split.NONE, 1), "unsupervised", parameters)
        assert Batch.from_json(batch.to_json()) == batch
    drawn = load_grid(experiment_of(UNSUPERVISED | SUBSETS)).batches()
    assert [(batch.runs, batch.definition["n_rows"]) for batch in drawn] == [((0, 1, 2), 142)]


def test_an_experiment_may_do_without_baselines():
    # Nor need there be any definition of one.
    undefined = changed_config("baselines", KeyError)
    del undefined["experiments"]["table4_supervised"]["baselines"]
    for config in (changed_config(f"{TABLE}.baselines", []), undefined):
        assert {batch.definition["kind"] for batch in load_grid(config).batches()} == {Kind.SOLVER}


def test_the_whole_grid_is_that_of_the_papers():
    grid = load_grid(ikdr_config())
    assert len({batch.path for batch in grid.batches()}) == len(grid.batches())
    runs = {name: sum(len(batch.runs) for batch in grid.batches(name)) for name in grid.experiments}
    expected = {
        # data sets x (kernels x solvers + baselines) x folds
        "table4_supervised": 4 * (2 * 8 + 3) * 10,
        "table4_unsupervised": 4 * (2 * 8 + 2),
        "table4_unsupervised_142": 2 * 5 * 10,
        # data sets x kernels x solvers x folds x partitions
        "table4_partitions": 2 * 2 * 2 * 10 * 20,
        # data sets x (solvers + baselines) x draws of the labels that are shown
        "semi_supervised_5": 3 * (2 + 3) * 10,
        # sizes x solvers
        "scaling_d": 7 * 5,
    }
    assert runs.items() >= expected.items()
    # The caption of NeurIPS 2019, Figure 1b.
    assert {*grid.config["experiments"]["scaling"]["components"].values()} == {20}


def test_baselines_come_once_after_the_solvers_of_a_data_set():
    grid = load_grid(table_4_config())
    batches = grid.batches()
    paths = [f"table4_supervised/wine/none/{name}/0-9" for name in ("svm", "lda_svm", "pca_svm")]
    assert [batch.path for batch in batches[16:19]] == paths
    assert [batch.definition["kind"] for batch in batches] == 2 * (16 * ["solver"] + 3 * ["baseline"])
    assert grid.bundle("table4_supervised/cancer/none/svm/0-9").batches[0] in batches


def test_a_solvers_own_start_overrides_the_experiments():
    def cells(config):
        batches = load_grid(config).batches()
        return {batch.cell[-1]: batch.definition for batch in batches if batch.definition["kind"] == Kind.SOLVER}

    starts = {name: definition["start"] for name, definition in cells(table_4_config()).items()}
    assert {solver for solver, start in starts.items() if start == "random"} == {"dg", "sm", "gm"}
    assert {solver for solver, start in starts.items() if start == "surrogate"} == set(starts) - {"dg", "sm", "gm"}
    growth = cells(changed_config("solvers.dg.start", "identity"))["dg"]
    assert growth["start"] == "identity"
    # It is no option of the method.
    assert growth["method"] == {"method": "dimension_growth", "variant": "published"}


def test_a_scheduler_is_for_kernels_that_are_sums_over_samples():
    config = changed_config(f"{TABLE}.evaluation", {"scheduler": "tcp://host:8786"})
    checked(config)
    config["experiments"]["table4_supervised"]["kernels"] = ["gaussian", "multiquadric"]
    with pytest.raises(ConfigError, match="'multiquadric', which needs all pairs of samples; choose among the famil"):
        checked(config)
