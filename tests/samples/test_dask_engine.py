"""Passes on worker processes of a real local cluster: the bits of one thread, whoever is killed, and what moves."""

import copy
import os
import pickle
import signal
import sys
import time
from contextlib import suppress

import numpy as np
import psutil
import pytest
from sklearn.base import clone

from kdrbench.datasets import load_dataset
from kdrbench.errors import ClusterError, InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.extras import MissingPackageError
from kdrbench.kernels import Gaussian, Polynomial
from kdrbench.problems import PassStoppedError, TraceObjective, supervised_gamma
from kdrbench.samples import ArraySamples, parts_of, samples_of
from kdrbench.samples.dask_engine import PATIENCE_S, DaskEngine, dask_engine
from kdrbench.samples.passes import ThreadEngine
from kdrbench.solvers import Monitor, build_solver, make_start, solve
from kdrbench.suite.engine.isolation.limits import Limits
from support.helpers import random_projection
from support.one_batch import batch_of, context_of, files_in, run_batch

# A bound for machines that are busy, not what is expected.
MINUTES = 300.0


def until(condition):
    """Wait until a condition holds."""
    end = time.monotonic() + MINUTES
    while not condition():
        assert time.monotonic() < end, "did not happen"
        time.sleep(0.05)


def local_cluster(n_workers, processes=True):
    import dask
    from distributed import LocalCluster

    # Where an idle worker takes over a block from a busy one, its samples move: here bytes are counted.
    with dask.config.set({"distributed.scheduler.work-stealing": False}):
        options = {"threads_per_worker": 1, "dashboard_address": ":0", "protocol": "tcp"}
        return LocalCluster(processes=processes, n_workers=n_workers, **options)


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes, which are gone afterwards."""
    import dask

    # A cluster gives up a worker that is away when so long a time has passed since any of its deaths.
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with patient, local_cluster(2) as cluster:
        yield cluster
        children = [child for child in psutil.Process().children(recursive=True) if "spawn_main" in command_of(child)]
        assert children
    _, alive = psutil.wait_procs(children, MINUTES)
    assert not alive


def command_of(process):
    """Return the command line of a process, or nothing where it has ended."""
    with suppress(psutil.NoSuchProcess):
        return " ".join(process.cmdline())
    return ""


@pytest.fixture
def engine(cluster):
    engine = DaskEngine(cluster.scheduler_address, patience_s=MINUTES)
    until(lambda: len(cluster.scheduler.workers) == 2)
    yield engine
    engine.close()


def classes(n_samples, kernel=None):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=n_samples)
    features = rng.standard_normal((n_samples, 6))
    features[:, 0] += labels
    return TraceObjective(features, kernel or Gaussian(4.0), supervised_gamma(labels))


def sums_of_all_sizes(pause_s=0.0):
    """Return partial sums whose total depends on the order of all additions; a closure travels by its code."""

    def partial_sums(samples, rows):
        import time

        time.sleep(pause_s)
        values = samples.rows(rows)
        return values.sum(axis=0), values.T @ values

    return partial_sums


def uneven(n_samples):
    return ArraySamples(10.0 ** np.random.default_rng(0).uniform(-12, 12, size=(n_samples, 3)))


class Slow:
    """An engine whose parts take a while, and which calls ``act`` once during some of the passes.

    What returns ``True`` is called again.
    """

    def __init__(self, engine, pause_s, passes=(), act=None):
        self._engine, self._pause_s, self._passes, self._act = engine, pause_s, passes, act
        self.passes = 0

    def run(self, samples, parts, partial_sums, report=None):
        pause_s, waiting = self._pause_s, self.passes in self._passes
        self.passes += 1

        def slowly(samples, rows):
            import time

            time.sleep(pause_s)
            return partial_sums(samples, rows)

        def acting(share):
            nonlocal waiting
            if waiting:
                waiting = self._act() is True
            return report is None or report(share)

        return self._engine.run(samples, parts, slowly, acting)


@pytest.mark.parametrize(("size", "n_parts"), [(100, 1), (10, 2), (7, 3), (5, 37), (2, 150)])
def test_a_pass_has_the_bits_of_one_thread(engine, size, n_parts):
    samples = uneven(size * n_parts)
    parts = [slice(size * part, size * (part + 1)) for part in range(n_parts)]
    expected = ThreadEngine(1).run(samples, parts, sums_of_all_sizes())
    found = engine.run(samples, parts, sums_of_all_sizes())
    assert [one.tobytes() for one in found] == [one.tobytes() for one in expected]
    if n_parts > 2:
        # Another order has other bits: the test could fail.
        turned = ThreadEngine(1).run(samples, parts[1:] + parts[:1], sums_of_all_sizes())
        assert any(one.tobytes() != other.tobytes() for one, other in zip(turned, expected, strict=True))


@pytest.mark.parametrize("kernel", [Gaussian(4.0), Polynomial(degree=3, offset=1.0, scale=0.5)])
def test_oracles_have_the_bits_of_threads(engine, kernel):
    objective = classes(20_011, kernel)
    there, here = (build_problem(objective, Evaluation(engine=one)) for one in (engine, ThreadEngine(2)))
    w, z = random_projection(), random_projection(seed=2)
    assert there.value(w) == here.value(w)
    for oracle, arguments in (("gradient", (w,)), ("surrogate", (w,)), ("hessian_vector", (w, z))):
        found, expected = (getattr(problem, oracle)(*arguments) for problem in (there, here))
        assert found.tobytes() == expected.tobytes(), oracle
    assert there.explain(2) == here.explain(2)


def placed_as(source, features, folder):
    """The same samples where they may be."""
    import dask.array
    import zarr

    if source in ("dask", "persisted"):
        lazy = dask.array.from_array(features, chunks=(1500, 6))
        return samples_of(lazy.persist() if source == "persisted" else lazy)
    if source == "file":
        mapped = np.memmap(folder / "features", dtype=float, mode="w+", shape=features.shape)
        mapped[:] = features
        mapped.flush()
        return samples_of(mapped)
    if source == "zarr":
        return samples_of(zarr.create_array(store=folder / "features.zarr", data=features, chunks=(2000, 6)))
    return ArraySamples(features).standardised() if source == "scaled" else ArraySamples(features)


@pytest.mark.parametrize(
    ("source", "dependent"),
    [*((source, False) for source in ("file", "zarr", "persisted", "scaled")), ("array", True), ("dask", True)],
)
def test_a_fit_has_the_bits_of_threads_wherever_the_samples_are(cluster, engine, source, dependent, tmp_path):
    from distributed import Client

    objective = classes(9_001)
    features, labels = objective.features, objective.gamma.codes
    if dependent:
        features = np.c_[features + 1e5, features[:, 0] - features[:, 1], np.ones(len(features))]
    options = {"n_components": 2, "kernel": "squared" if dependent else "linear", "max_iter": 20}
    with Client(cluster, set_as_default=source == "persisted"):
        samples = placed_as(source, features, tmp_path)
        there = InterpretableKDR(**options, evaluation={"scheduler": cluster.scheduler_address}).fit(samples, labels)
    here = InterpretableKDR(**options, evaluation={"engine": ThreadEngine(1)})
    here.fit(placed_as("scaled" if source == "scaled" else "array", features, tmp_path), labels)
    assert cluster.scheduler_address in there.result_.evaluation
    assert there.rank_ == 6
    assert there.components_.tobytes() == here.components_.tobytes()
    dask_engine(cluster.scheduler_address, PATIENCE_S).close()


@pytest.mark.whole
def test_the_workflow_runs_an_experiment_on_a_cluster(cluster, tmp_path):
    batch = batch_of("ism", kernel="polynomial", evaluation={"scheduler": cluster.scheduler_address})
    limits = Limits(time_s=MINUTES, memory_mib=1024)
    (record,) = run_batch(batch, load_dataset("wine"), context_of(limits), files_in(tmp_path))
    assert (record.status, record.message) == ("converged", "eigenvalues settled to 0.01")
    assert record.evaluation == f"monomial_sums: 160 streamed samples by the workers of {cluster.scheduler_address}"
    (alone,) = run_batch(
        batch_of("ism", kernel="polynomial"), load_dataset("wine"), context_of(limits), files_in(tmp_path)
    )
    # Another evaluator: monomials of another degree, summed in another order.
    assert record.cost == pytest.approx(alone.cost, rel=1e-9)
    assert (record.iterations, record.seed) == (alone.iterations, alone.seed)
    dask_engine(cluster.scheduler_address, PATIENCE_S).close()


@pytest.mark.slow("a worker is killed, and another begins")
@pytest.mark.parametrize(
    ("kernel", "passes"),
    [
        (Gaussian(4.0), (1,)),
        pytest.param(Polynomial(degree=3, offset=1.0, scale=0.5), (1, 2, 3), marks=pytest.mark.whole),
    ],
)
def test_a_solve_has_the_same_bits_whoever_is_killed(cluster, engine, kernel, passes):
    from distributed.core import Status

    objective = classes(20_011, kernel)

    def solved(engine):
        problem = build_problem(objective, Evaluation(engine=engine))
        start = make_start("random", problem, 2, np.random.default_rng(3))
        return solve(build_solver({"method": "ism", "tolerance": 1e-12}), problem, start, Monitor(1 + len(passes)))

    killed = []

    def at_work():
        """Return those that work on a part of this pass, and none that was killed and is about to start again."""
        working = {worker.address for worker in cluster.scheduler.workers.values() if worker.processing}
        nannies = [nanny for nanny in cluster.workers.values() if nanny.worker_address in working]
        return [nanny.pid for nanny in nannies if nanny.status == Status.running and nanny.pid not in killed]

    def kill():
        # Where both have been killed before, one that starts again will take the parts.
        if not (pids := at_work()):
            return True
        os.kill(pids[0], signal.SIGKILL)
        killed.append(pids[0])
        return False

    slow = Slow(engine, 0.2, passes=passes, act=kill)
    found, expected = solved(slow), solved(ThreadEngine(1))
    assert slow.passes > max(passes)
    assert len(set(killed)) == len(passes)
    assert found.projection.tobytes() == expected.projection.tobytes()
    assert found.iterations == expected.iterations


def test_what_moves_is_sums_and_no_samples(cluster, engine):
    """Bound: each of 8 blocks sends its sum at most once, the total goes to the client by way of the scheduler."""
    from distributed import Client

    from support.wire import Wire

    length = 50_000

    def wide(samples, rows):
        import numpy as np

        return (np.full(length, samples.rows(rows).sum()),)

    with Client(cluster, set_as_default=False) as client:
        wire = Wire(client)
        for n_samples in (100_000, 400_000):
            samples, parts = ArraySamples(np.ones((n_samples, 6))), parts_of(n_samples)
            engine.run(samples, parts, wide)
            assert len(engine._places[samples][0]) == 8
            moved = wire.of(lambda: engine.run(samples, parts, wide), 4)  # noqa: B023
            # Some 12 tasks with their messages take less than 25 kB each; the samples are 4.8 and 19.2 MB.
            assert 8 * length < moved < (8 + 2) * 8 * length + 300_000, n_samples


def test_a_pass_that_is_stopped_leaves_no_tasks(cluster, engine):
    samples, parts = uneven(64), [slice(i, i + 1) for i in range(64)]
    shares = []

    def report(share):
        shares.append(share)
        return len(shares) < 3

    before = time.monotonic()
    with pytest.raises(PassStoppedError):
        # 64 parts of 4 s on two workers: more than the bound of this test.
        engine.run(samples, parts, sums_of_all_sizes(4.0), report)
    assert time.monotonic() - before < MINUTES
    assert shares == sorted(shares)
    placed = {future.key for future in engine.placed(samples, engine._places[samples][0])}
    until(lambda: set(cluster.scheduler.tasks) <= placed)


def test_a_part_has_one_thread_and_raises_what_it_raises(engine):
    def failing(samples, rows):
        raise InputError(f"no rows from {rows.start}")

    with pytest.raises(InputError, match="no rows from 0"):
        engine.run(uneven(4), [slice(0, 4)], failing)

    def threads(samples, rows):
        import numpy as np
        from threadpoolctl import threadpool_info

        return (np.array([max(float(one["num_threads"]) for one in threadpool_info() if one["user_api"] == "blas")]),)

    assert engine.run(uneven(4), [slice(0, 4)], threads)[0] == 1.0


def test_what_was_placed_goes_with_its_samples(cluster, engine):
    samples = uneven(64)
    engine.run(samples, [slice(0, 32), slice(32, 64)], sums_of_all_sizes())
    assert cluster.scheduler.tasks
    del samples
    until(lambda: not cluster.scheduler.tasks)


def test_a_process_that_was_forked_connects_anew(engine):
    samples = uneven(8)
    expected = engine.run(samples, [slice(0, 8)], sums_of_all_sizes())
    child = os.fork()
    if child == 0:
        found = engine.run(samples, [slice(0, 8)], sums_of_all_sizes())
        os._exit(0 if found[0].tobytes() == expected[0].tobytes() else 1)
    ended = []
    until(lambda: ended.append(os.waitpid(child, os.WNOHANG)) or ended[-1][0] == child)
    assert ended[-1][1] == 0
    assert engine.run(samples, [slice(0, 8)], sums_of_all_sizes())[0].tobytes() == expected[0].tobytes()


def test_lost_workers_and_schedulers_are_errors_after_a_wait():
    samples, parts = uneven(8), [slice(i, i + 1) for i in range(8)]
    with local_cluster(1, processes=False) as cluster:
        engine = DaskEngine(cluster.scheduler_address, patience_s=2.0)
        until(lambda: cluster.scheduler.workers)
        with pytest.raises(ClusterError, match=r"had no workers for 2 s; start some by `dask worker tcp://"):
            Slow(engine, 3.0, passes=(0,), act=lambda: cluster.scale(0)).run(samples, parts, sums_of_all_sizes())
        address = cluster.scheduler_address
    with pytest.raises(ClusterError, match=rf"no Dask scheduler answered at {address} within 2 s"):
        engine.run(samples, parts, sums_of_all_sizes())
    engine.close()
    # The scheduler ends during a pass.
    cluster = local_cluster(1, processes=False)
    engine = DaskEngine(cluster.scheduler_address, patience_s=2.0)
    until(lambda: cluster.scheduler.workers)
    with pytest.raises(ClusterError, match="no Dask scheduler answered"):
        Slow(engine, 0.5, passes=(0,), act=cluster.close).run(uneven(8), parts_of(8), sums_of_all_sizes())
    engine.close()


def test_samples_in_order_no_address_and_no_dask_are_refused(monkeypatch):
    samples = uneven(4)
    samples.in_order = True
    with pytest.raises(InputError, match="cannot be shared among the workers of a cluster"):
        DaskEngine("tcp://nowhere:1").run(samples, [slice(0, 4)], sums_of_all_sizes())
    for address in ("host:8786", "http://host:8786", "tcp://host", "", 8786, None):
        with pytest.raises(InputError, match="must be the address of a Dask scheduler, such as 'tcp://host:8786'"):
            DaskEngine(address)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPackageError, match=r"pip install '.*\[large\]'"):
        DaskEngine("tcp://host:8786")


@pytest.mark.slow("the cluster ends after the last test, where the seconds of its workers count")
def test_an_estimator_with_a_scheduler_is_cloned_and_pickled():
    model = InterpretableKDR(evaluation={"scheduler": "tcp://host:8786"})
    assert clone(model).evaluation == model.evaluation
    asked = Evaluation(scheduler="tcp://host:8786")
    # One engine, hence one connection, in a process.
    assert pickle.loads(pickle.dumps(asked)).engine is asked.engine
    assert copy.deepcopy(asked).engine is asked.engine
    with pytest.raises(InputError, match="engine and scheduler are both given"):
        Evaluation(scheduler="tcp://host:8786", engine=ThreadEngine(1))
