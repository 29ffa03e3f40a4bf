"""Passes on a Dask cluster: bytes that move, time on one worker and on two, and what a model says of many.

    python benchmarks/many_machines.py

A gradient of the Gaussian class sums (50 features, q = 5, ten classes) is computed on worker processes of this machine.
Bytes are those that all processes write to their connections. The model of a pass on P workers of one thread each is

    parts of a worker x seconds of a part + levels x (latency + bytes of a sum / bandwidth) + tasks x overhead,

with the levels of the tree between workers, and with these constants measured here: seconds of a part by one thread,
latency of a task, bandwidth of a connection, overhead of the scheduler and client in CPU seconds for each task. A
network between machines is slower than connections within one: give its figures by --latency and --bandwidth.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster
from distributed.comm.tcp import TCP

from kdrbench.evaluation import ClassSumsProblem
from kdrbench.evaluation.passes import ThreadEngine
from kdrbench.kernels import Gaussian
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.samples import DaskEngine, parts_of

D, Q, CLASSES, SIGMA = 50, 5, 10, 10.0
# F and its gradient take two: sums over classes, then slopes.
PASSES = 2
# Blocks a thread and sums that a task adds, as the engine has them.
BLOCKS_A_THREAD, BLOCKS, FAN = 4, 256, 16


def count_writes() -> None:
    """Count the bytes that this process writes to its connections from here on."""
    if not hasattr(TCP, "bytes_written"):
        TCP.bytes_written, write = 0, TCP.write

        async def counting(self: TCP, *args: Any, **kwargs: Any) -> int:
            size: int = await write(self, *args, **kwargs)
            TCP.bytes_written += size
            return size

        TCP.write = counting


def written() -> int:
    """Return how many there were."""
    return int(TCP.bytes_written)


class Wire:
    """The bytes that all processes of a local cluster write: workers, scheduler and clients."""

    def __init__(self, client: Client) -> None:
        self._client = client
        count_writes()
        client.run(count_writes)

    def total(self) -> int:
        """Return the bytes so far."""
        return written() + sum(self._client.run(written).values())

    def of(self, work: Callable[[], Any], times: int = 1) -> float:
        """Return the bytes of one piece of work, without those of looking."""
        before = self.total()
        looking = self.total() - before
        before = self.total()
        for _ in range(times):
            work()
        return (self.total() - before - looking) / times


def objective(n_samples: int) -> TraceObjective:
    """Return classes that overlap, of a Gaussian kernel."""
    rng = np.random.default_rng(0)
    labels = rng.integers(CLASSES, size=n_samples)
    features = rng.standard_normal((n_samples, D))
    features[:, :CLASSES] += 2.0 * np.eye(CLASSES)[labels]
    return TraceObjective(features, Gaussian(SIGMA), supervised_gamma(labels))


class Gradient:
    """F and its gradient at one W, each time from all samples."""

    def __init__(self, problem: ClassSumsProblem) -> None:
        self._problem = problem
        self._projection = np.linalg.qr(np.random.default_rng(1).standard_normal((D, Q)))[0]
        self.size = problem.basis_at(self._projection).size

    def __call__(self) -> np.ndarray:
        """Compute both; the basis is kept, and the sums at W are not."""
        self._problem._point = None
        self._problem.value(self._projection)
        return self._problem.gradient(self._projection)


def best(clock: Callable[[], float], work: Callable[[], Any], times: int = 2) -> float:
    """Return the fewest seconds of several calls, after one that is not counted."""
    work()
    found = []
    for _ in range(times):
        began = clock()
        work()
        found.append(clock() - began)
    return min(found)


@dataclass(frozen=True)
class Model:
    """Seconds of a pass; ``sample_s`` is a thread's for one sample, ``overhead_s`` one task's."""

    sample_s: float
    overhead_s: float
    latency_s: float
    bytes_per_s: float
    sum_bytes: float

    def pass_s(self, n_samples: int, workers: int) -> float:
        """Return the seconds of a pass on workers of one thread each."""
        n_parts = len(parts_of(n_samples))
        most = max(workers, min(BLOCKS_A_THREAD * workers, BLOCKS))
        size = 2 ** max(0, math.ceil(math.log2(n_parts / most)))
        n_blocks = -(-n_parts // size)
        levels = math.ceil(math.log(max(2, n_blocks), FAN))
        n_tasks = n_blocks + sum(-(-n_blocks // FAN**level) for level in range(1, levels + 1))
        busiest = -(-n_blocks // workers) * size * n_samples / n_parts
        # A task that adds takes up to FAN - 1 sums from others.
        moved = levels * (self.latency_s + (FAN - 1) * self.sum_bytes / self.bytes_per_s)
        return busiest * self.sample_s + moved + n_tasks * self.overhead_s


def nothing(_: object) -> None:
    """Be a task that does nothing."""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--latency", type=float, help="seconds, in place of the one measured")
    parser.add_argument("--bandwidth", type=float, help="bytes a second, in place of the one measured")
    options = parser.parse_args()
    few, many = options.samples // 4, options.samples
    local = Gradient(ClassSumsProblem(objective(many), engine=ThreadEngine(1)))
    expected, part_s = local(), best(time.process_time, local) / PASSES
    print(f"one thread here: {part_s / many * 1e9:.0f} ns a sample and pass, {local.size} functions of a basis")
    with (
        # Else an idle worker may take over a block from a busy one, and its samples move.
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        LocalCluster(processes=True, n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        wire = Wire(client)
        numbers = CLASSES * local.size + D * Q
        print(f"| samples | kB a gradient | kB of k m + d q numbers |\n|{'---|' * 3}")
        for n_samples in (few, many):
            there = Gradient(ClassSumsProblem(objective(n_samples), engine=DaskEngine(cluster.scheduler_address)))
            there()
            moved = wire.of(there, 2)
            print(f"| {n_samples:,} | {moved / 1e3:,.0f} | {numbers * 8 / 1e3:,.0f} |")
        print(f"same bits as one thread: {np.array_equal(there(), expected)}")
        print(f"| workers | wall s a pass | CPU s of client and scheduler |\n|{'---|' * 3}")
        for workers in (2, 1):
            cluster.scale(workers)
            while len(client.nthreads()) != workers:
                time.sleep(0.1)
            there = Gradient(ClassSumsProblem(objective(many), engine=DaskEngine(cluster.scheduler_address)))
            wall_s = best(time.perf_counter, there) / PASSES
            cpu_s = best(time.process_time, there) / PASSES
            print(f"| {workers} | {wall_s:.3f} | {cpu_s:.3f} |")
        tasks = 500
        overhead_s = (
            best(time.process_time, lambda: client.gather(client.map(nothing, range(tasks), pure=False)), 3) / tasks
        )
        latency_s = best(time.perf_counter, lambda: client.submit(nothing, 0, pure=False).result(), 10)
        load = np.random.default_rng(0).standard_normal(2**22)
        sent_s = best(time.perf_counter, lambda: client.scatter(load, hash=False, direct=True))
    model = Model(
        part_s / many,
        overhead_s,
        options.latency or latency_s,
        options.bandwidth or load.nbytes / sent_s,
        8.0 * numbers,
    )
    print(
        f"task {model.overhead_s * 1e3:.2f} ms CPU of client and scheduler, latency {model.latency_s * 1e3:.1f} ms, "
        f"{model.bytes_per_s / 1e6:.0f} MB/s"
    )
    print(f"| samples | workers | s a gradient by the model | times one thread |\n|{'---|' * 4}")
    for n_samples in (10**8, 10**9):
        alone = PASSES * n_samples * model.sample_s
        for workers in (10, 100, 1000):
            gradient_s = PASSES * model.pass_s(n_samples, workers)
            print(f"| {n_samples:.0e} | {workers} | {gradient_s:.1f} | {alone / gradient_s:.0f} |")


if __name__ == "__main__":
    main()
