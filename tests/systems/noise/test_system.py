"""Noise as a system: what a run finds, that it uses no label as it is, and faults of the configuration."""

import numpy as np
import pytest

from kdrbench.errors import ConfigError
from kdrbench.suite.systems.noise import system
from support.system_cases import data_of, grid_of, job_of, results_of

SMALL = {"methods": ["lda"], "permutations": 19, "draws": 2}


def batch_of(**changes):
    (batch,) = grid_of("noise", **SMALL | changes).batches()
    return batch


def test_a_learner_separates_noise_and_its_p_value_is_reported(tmp_path):
    batch = batch_of()
    records = job_of(batch, data_of("noise"), tmp_path)
    assert [record.axes for record in records] == [("noise", "noise", "lda", run) for run in range(2)]
    for record in records:
        assert record.status == "converged"
        # 48 samples in 60 features: any labels are separated.
        assert record.train_accuracy > 0.9
        # 60 labels by coin: five standard deviations.
        assert abs(record.test_accuracy - 0.5) < 5 * np.sqrt(0.25 / 60)
        assert record.p_value * 20 == pytest.approx(round(record.p_value * 20))
        assert record.rejected == (record.p_value <= 0.05)
    # Draws have labels of their own.
    assert records[0].train_accuracy != records[1].train_accuracy


def test_labels_are_permuted_by_a_run_alone():
    # Wine's classes are separated without a fault by LDA, unless they are shuffled.
    wine = data_of("wine")
    result = results_of(batch_of(datasets=["wine"]), wine)[()]
    assert result.columns["test_accuracy"] < 0.6
    found = system.found_in(wine.features, wine.labels, "lda", 2, 19, 0)
    assert (found["p_value"], found["rejected"]) == (0.05, 1)
    assert min(found["train_accuracy"], found["test_accuracy"]) > 0.95


def test_faults_of_the_configuration_are_named():
    for changes, message in [
        ({"methods": ["lad"]}, "noise.methods: unknown method 'lad'"),
        ({"draws_of": {"nac": 3}}, "noise.draws_of: unknown method 'nac'"),
        ({"datasets": ["flower"]}, "data set 'flower' has no labels"),
        ({"datasets": ["gyrb-standin"]}, "data set 'gyrb-standin' has no features"),
    ]:
        with pytest.raises(ConfigError, match=message):
            grid_of("noise", **SMALL | changes)
