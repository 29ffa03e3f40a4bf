import copy

import pytest

from configs import whole_config
from kdrbench.bench.config import check_config
from kdrbench.bench.metric_batch import MetricBatch
from kdrbench.bench.metric_config import table_name
from kdrbench.bench.metric_grid import SPLITS_PER_JOB, MetricGrid
from kdrbench.errors import ConfigError
from metric_cases import metric_batch

CONFIG = whole_config()


def changed(**changes):
    config = copy.deepcopy(CONFIG)
    for key, value in changes.items():
        config["kpca"][key] = value
    return config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split": 3}, r"config: unknown key in kpca: 'split'; allowed: .*Did you mean 'splits'\?"),
        ({"splits": 0}, "config: kpca.splits is 0; it must be at least 1"),
        ({"datasets": ["irs"]}, r"config: kpca.datasets: unknown data set 'irs'; allowed: .*Did you mean 'iris'\?"),
        ({"datasets": ["flower"]}, "config: kpca: data set 'flower' has no labels; metric learning needs them"),
        ({"figures": ["gyrb"]}, "config: kpca: data set 'gyrb' has no features; metric learning needs them"),
        ({"learners": ["ncaa"]}, "config: kpca.learners: unknown learner 'ncaa'"),
        ({"variants": ["kernel"]}, "config: kpca.variants: unknown variant 'kernel'; allowed: aligned, centred"),
        (
            {"training": {"default": 150}, "datasets": ["iris"]},
            "gives data set 'iris' 150 training samples; it has 150,",
        ),
        (
            {"training": {"default": 2}},
            "config: kpca.folds is 5; data set 'balance' has 2 training samples, so it must",
        ),
        ({"training": {"default": 1}}, "config: kpca.training.default is 1; it must be at least 2"),
        ({"training": {"iris": 100}}, "config: the key 'default' is missing in kpca.training"),
        ({"training": {"default": 100, "iriss": 9}}, "config: kpca.training: unknown data set 'iriss'"),
        (
            {"candidates": {"default": {}}},
            "kpca.candidates.default must hold either 'sigmas' or 'degrees'; it holds nothing",
        ),
        (
            {"candidates": {"default": {"degrees": [0]}}},
            "config: kpca.candidates.default.degrees.0 is 0; it must be at least 1",
        ),
        (
            {"candidates": {"default": {"sigmas": {"lowest": 2, "highest": 1, "number": 3}}}},
            "config: kpca.candidates.default.sigmas: lowest is 2, above highest, which is 1",
        ),
        ({"test_selected": ["x"]}, "config: kpca.test_selected: unknown data set 'x'"),
        ({"limits": {"time_s": 0, "memory_mib": 1}}, "config: kpca.limits.time_s is 0; it must be greater than 0"),
    ],
)
def test_faults_are_one_sentence_that_names_the_key(changes, message):
    with pytest.raises(ConfigError, match=message):
        check_config(changed(**changes))


def test_the_whole_protocol_is_ten_data_sets_of_forty_splits():
    grid = MetricGrid(CONFIG)
    assert len(grid.batches()) == 10 * 40 / SPLITS_PER_JOB
    assert len({axes for batch in grid.batches() for axes in batch.axes}) == 10 * 40 * 3 * 4
    sizes = {batch.dataset: batch.n_train for batch in grid.batches()}
    assert {name for name, size in sizes.items() if size == 100} == {"glass", "iris"}
    assert set(sizes.values()) == {100, 200}
    assert grid.batch("m-usps", "0-9").candidates == {"degrees": [1, 2, 3, 4, 5]}
    assert grid.batch("iris", "30-39").candidates["sigmas"]["number"] == 21
    assert grid.batch("iris", "30-39").test_selected
    assert not grid.batch("yeast", "0-9").test_selected


def test_the_last_chunk_holds_what_is_left():
    grid = MetricGrid(changed(datasets=["iris"], splits=SPLITS_PER_JOB + 2))
    assert [len(batch.splits) for batch in grid.batches()] == [SPLITS_PER_JOB, 2]
    assert grid.runtime_min(grid.batches()[1]) == 71


def test_without_data_sets_or_the_section_there_is_nothing_to_run():
    assert MetricGrid(changed(datasets=[])).batches() == []
    assert MetricGrid({}).batches() == []


def test_a_batch_is_known_by_all_that_decides_its_results_and_nothing_else():
    (batch,) = MetricGrid(changed(datasets=["iris"], splits=3)).batches()
    assert MetricBatch.from_json(batch.to_json()) == batch
    for changes in ({"seed": 1}, {"folds": 4}, {"learners": ["dne"]}, {"training": {"default": 90}}):
        (other,) = MetricGrid(changed(datasets=["iris"], splits=3, **changes)).batches()
        assert other.sha256 != batch.sha256
    (same,) = MetricGrid(changed(datasets=["iris"], splits=3, limits={"time_s": 9, "memory_mib": 9})).batches()
    assert same.sha256 == batch.sha256
    assert metric_batch().methods[1] == ("dne", "cross_validated")


def test_a_learner_of_ones_own_has_its_source_in_the_batch_and_a_table(tmp_path):
    code = tmp_path / "own.py"
    text = "from dataclasses import dataclass\nimport numpy as np\n\n\n@dataclass(frozen=True)\nclass Axes:\n"
    code.write_text(text + "    def fit(self, features, labels):\n        return np.eye(features.shape[1])\n")
    config = changed(datasets=["iris"], splits=1, learners=[str(code)])
    check_config(config)
    (before,) = MetricGrid(config).batches()
    code.write_text(code.read_text().replace("np.eye(", "2 * np.eye("))
    (after,) = MetricGrid(config).batches()
    assert before.sources_sha256 != after.sources_sha256
    assert table_name("own.py:Axes") == "kpca_own_py_Axes"
    assert table_name("lmnn") == "kpca_table2"
