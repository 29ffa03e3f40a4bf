import pytest

from kdrbench.errors import ConfigError
from kdrbench.metric_learning.selection import SIGMAS
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.experiments.config import checked
from kdrbench.suite.systems.kpca_trick.system import table_names
from support.products import by_section
from support.system_cases import grid_of, only

PLACE = "config: experiments.kpca_tables"
FAULTS = [
    ({"datasets": ["irs"]}, rf"{PLACE}.datasets: unknown data set 'irs'. Did you mean 'iris'\?"),
    ({"datasets": ["flower"]}, f"{PLACE}.datasets: data set 'flower' has no labels; metric learning needs them"),
    ({"datasets": ["gyrb"]}, f"{PLACE}.datasets: data set 'gyrb' has no features; metric learning needs them"),
    ({"learners": ["ncaa"]}, f"{PLACE}.learners: unknown learner method 'ncaa'"),
    ({"variants": ["kernel"]}, f"{PLACE}.variants: unknown variant 'kernel'; allowed: aligned, centred"),
    ({"training": {"default": 150}, "datasets": ["iris"]}, f"{PLACE}.training gives data set 'iris' 150 training samp"),
    ({"training": {"default": 2}}, f"{PLACE}.cv_folds is 5; data set 'balance' has 2 training samples: at most"),
    ({"training": {"default": 100, "iriss": 9}}, f"{PLACE}.training: unknown data set 'iriss'"),
    ({"candidates": {"default": {}}}, f"{PLACE}.candidates.default must hold either 'sigmas' or 'degrees'; it holds n"),
    ({"learner_options": {"nca": {"steps": 3}}}, f"{PLACE}.learners: unknown option of learner method 'nca'"),
    ({"learner_options": {"ncaa": {}}}, f"{PLACE}.learner_options: unknown learner 'ncaa'"),
    ({"test_selected": ["x"]}, f"{PLACE}.test_selected: unknown data set 'x'"),
]


@pytest.mark.parametrize("cases", by_section(FAULTS, lambda changes: next(iter(changes))))
def test_faults_are_one_sentence_that_names_the_key(cases):
    for changes, message in cases:
        with pytest.raises(ConfigError, match=message):
            checked(only("kpca_tables", **changes))


def test_the_whole_protocol_is_ten_data_sets_of_forty_splits():
    grid = grid_of("kpca_tables")
    batches = grid.batches()
    assert [batch.runs_label for batch in batches] == ["0-9", "10-19", "20-29", "30-39"] * 10
    assert len({axes for batch in batches for axes in batch.axes}) == 10 * 40 * 3 * 4
    by_dataset = {batch.dataset: batch.definition for batch in batches}
    sizes = {name: definition["n_train"] for name, definition in by_dataset.items()}
    assert {name for name, size in sizes.items() if size == 100} == {"glass", "iris"}
    assert set(sizes.values()) == {100, 200}
    assert by_dataset["m-usps"]["candidates"] == {"degrees": [1, 2, 3, 4, 5]}
    assert by_dataset["iris"]["candidates"]["sigmas"] == list(SIGMAS)
    assert [name for name in by_dataset if by_dataset[name]["test_selected"]] == ["balance", "glass", "iris"]
    assert grid.limits("kpca_tables").time_s == 1800


def test_the_hash_of_a_batch_covers_all_that_decides_its_results():
    small = {"datasets": ["iris"], "splits": 3, "training": {"default": 100}}
    (batch,) = grid_of("kpca_tables", **small).batches()
    assert Batch.from_json(batch.to_json()) == batch
    for changes in ({"cv_folds": 4}, {"learners": ["dne"]}, {"training": {"default": 90}}):
        (other,) = grid_of("kpca_tables", **small | changes).batches()
        assert other.sha256 != batch.sha256
    (same,) = grid_of("kpca_tables", **small, limits={"time_s": 9, "memory_mib": 9}).batches()
    assert same.sha256 == batch.sha256


def test_a_learner_of_ones_own_has_its_source_in_the_batch(tmp_path):
    code = tmp_path / "own.py"
    text = "from dataclasses import dataclass\nimport numpy as np\n\n\n@dataclass(frozen=True)\nclass Axes:\n"
    code.write_text(text + "    def fit(self, features, labels):\n        return np.eye(features.shape[1])\n")
    changes = {"datasets": ["iris"], "splits": 1, "learners": [str(code)]}
    (before,) = grid_of("kpca_tables", **changes).batches()
    code.write_text(code.read_text().replace("np.eye(", "2 * np.eye("))
    (after,) = grid_of("kpca_tables", **changes).batches()
    key = f"learner/{code}"
    assert before.revisions[key] != after.revisions[key]
    assert (before.definition_sha256, before.sha256 == after.sha256) == (after.definition_sha256, False)
    assert table_names("kpca_tables", ["own.py:Axes", "lmnn"])[:2] == ["kpca_own_py_Axes", "kpca_table2"]


def test_the_time_of_a_split_grows_with_what_is_fitted():
    def seconds(**changes):
        grid = grid_of("kpca_tables", datasets=["balance"], splits=1, runs_per_job=1, **changes)
        return grid.estimated_s(grid.batches()[0])

    # Measured: 17 s.
    assert seconds() == pytest.approx(17, rel=0.5)
    assert seconds(variants=["plain"]) < seconds() / 50
