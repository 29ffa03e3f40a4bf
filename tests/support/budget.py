"""The budget of the daily tests: CPU seconds of each test, with its child processes, and of all.

A daily test may take ``TEST_S``; one with ``@pytest.mark.slow("why")`` may take ``SLOW_TEST_S``. All together may take
``ALL_S``. Seconds are those of the reference machine: a machine on which :func:`calibration` takes longer is given
longer in proportion, so that a slow machine fails no test. With busy neighbours, a single test may take ``TEST_NOISE``
times as long, since it may start processes and compile, and the sum ``ALL_NOISE`` times as long. The run fails beyond
that; the ten slowest tests are listed in any case. The budget is that of a run of all of them: a test run alone pays
for the imports that it shares with others.
"""

import os
import resource
import time
from pathlib import Path

import numpy as np
import pytest

TEST_S, SLOW_TEST_S, ALL_S = 2.0, 20.0, 720.0
TEST_NOISE, ALL_NOISE = 3.0, 1.5
# A run of fewer tests is no run of all.
MANY = 1000
# What one calibration takes on an idle core of the reference machine, in seconds.
REFERENCE_S = 0.060
_ROUNDS = 3


def cpu_s():
    """Return the CPU seconds of this process and of its children, those still at work among them."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) + sum(map(_cpu_s_of, _children()))


def _children():
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(word) for task in tasks for word in task.read_text().split()]


def _cpu_s_of(process):
    """Return the CPU seconds of a process and of its own children that have ended; 0 where it has ended itself."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def calibration():
    """Return the CPU seconds of a fixed piece of work, half of it Python, half of it NumPy."""
    generator, began = np.random.default_rng(0), time.process_time()
    matrix = generator.standard_normal((300, 300))
    for _ in range(12):
        matrix = np.exp(-np.abs(matrix @ matrix.T) / 300)
    total = 0
    for number in range(400_000):
        total += number & 7
    return time.process_time() - began


def slowness():
    """Return how many times as long as the reference machine this one takes now, at least 1."""
    return max(1.0, min(calibration() for _ in range(_ROUNDS)) / REFERENCE_S)


class Budget:
    """The plug-in of pytest: measures in each worker, adds up and decides in the process that reports."""

    def __init__(self, config):
        self.is_enforced = config.getoption("markexpr") == "not whole"
        self.seconds, self.too_slow = {}, []

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Note when a test began."""
        item.cpu_began_s = cpu_s()
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """Append the CPU seconds to the report of the teardown, with the limit that they break, if any."""
        report = (yield).get_result()
        if call.when != "teardown":
            return
        spent = cpu_s() - item.cpu_began_s
        report.user_properties.append(("cpu_s", spent))
        limit = SLOW_TEST_S if item.get_closest_marker("slow") else TEST_S
        limit *= TEST_NOISE
        if spent > limit and spent > (allowed := limit * slowness()):
            report.user_properties.append(("over_budget", f"{spent:.1f} s, allowed are {allowed:.1f}"))

    def pytest_runtest_logreport(self, report):
        """Collect what the workers have measured."""
        measured = dict(report.user_properties)
        if report.when == "teardown" and "cpu_s" in measured:
            self.seconds[report.nodeid] = measured["cpu_s"]
            if "over_budget" in measured:
                self.too_slow.append(f"{report.nodeid}: {measured['over_budget']}")

    def faults(self):
        """Return what breaks the budget, a line each; nothing where few tests were run."""
        if not self.is_enforced or len(self.seconds) < MANY:
            return []
        total = sum(self.seconds.values())
        if total <= ALL_NOISE * ALL_S or total <= (allowed := ALL_NOISE * ALL_S * slowness()):
            return self.too_slow
        return [*self.too_slow, f"all tests: {total:.0f} s, allowed are {allowed:.0f}"]

    def pytest_sessionfinish(self, session):
        """Let a run that breaks the budget fail."""
        if self.faults():
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        """Print the sum, the ten slowest tests and what breaks the budget."""
        if not self.seconds:
            return
        slowest = sorted(self.seconds.items(), key=lambda pair: -pair[1])[:10]
        total = f"{sum(self.seconds.values()):.0f} s in {len(self.seconds)} tests, budget {ALL_S:.0f} s"
        terminalreporter.section(f"CPU time: {total}")
        for name, seconds in slowest:
            terminalreporter.write_line(f"{seconds:6.2f} s  {name}")
        for fault in self.faults():
            terminalreporter.write_line(f"OVER BUDGET  {fault}", red=True)
