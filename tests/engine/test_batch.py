"""What names a batch, and what keeps finished rows apart from those of other work."""

from dataclasses import replace

import pytest

from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.experiments.config import load_grid
from support.configs import table_4_config
from support.tiny_system import tiny_batch


@pytest.mark.parametrize("place", [0, -1])
def test_a_batch_survives_its_journey_through_a_file(place):
    batch = load_grid(table_4_config()).batches()[place]
    assert Batch.from_json(batch.to_json()) == batch
    assert Batch.from_json(tiny_batch().to_json()) == tiny_batch()


def test_names_are_those_of_files_and_rows():
    batch = tiny_batch(runs=range(3, 5))
    assert (batch.path, batch.cell_name) == ("e/tiny/it/3-4", "tiny/it")
    assert batch.axes == [("e", "tiny", "it", n, half) for n in (3, 4) for half in ("first", "second")]


def test_a_definition_is_the_same_whatever_the_revisions():
    batch = replace(tiny_batch(answer=1), revisions={"solver/ism": "1.1"})
    raised = replace(batch, revisions={"solver/ism": "2.1"})
    assert raised.sha256 != batch.sha256 == replace(batch, revisions={"solver/ism": "1.2"}).sha256
    assert raised.definition_sha256 == batch.definition_sha256


def test_the_hash_of_a_definition_is_that_of_the_stored_rows():
    batch = Batch("ikdr", "e", "iris", "d", ("gaussian", "ism"), {"method": {"method": "ism"}}, (0,), ((),), 0, 1)
    assert batch.definition_sha256 == "17ac5fa8ff2d8d31070c5d40936853c7f8435d12c6ff82d61360e6763e4395cd"


def test_what_decides_results_is_in_the_batch_and_limits_are_not():
    def hashes(**changes):
        config = table_4_config(datasets=["wine"], kernels=["gaussian"])
        for path, value in changes.items():
            *parents, last = path.split("__")
            place = config
            for key in parents:
                place = place[key]
            place[last] = value
        return {batch.path: batch.sha256 for batch in load_grid(config).batches()}

    base = hashes()
    assert hashes(timing__strict=False) == base
    assert hashes(limits__time_s=5) == hashes(timing__repeat_for_s=5) == base
    assert hashes(experiments__table4_supervised__limits={"time_s": 7}) == base
    assert hashes(experiments__table4_supervised__timed=False) == base
    tighter = hashes(solvers__ism__tolerance=0.5)
    assert {path for path in base if base[path] != tighter[path]} == {path for path in base if "/ism/" in path}
    assert not set(hashes(seed=1).items()) & set(base.items())
    harder = hashes(baselines__svm__penalty=9)
    assert {path for path in base if base[path] != harder[path]} == {path for path in base if "/svm/" in path}
    elsewhere = hashes(experiments__table4_supervised__start="random")
    # Baselines have no start, and published variants one of their own.
    own = ("/none/", "/dg/", "/sm/", "/gm/")
    same = {path for path in base if base[path] == elsewhere[path]}
    assert same == {path for path in base if any(name in path for name in own)}
