"""The budget of the daily tests: CPU seconds of each test, with its child processes that have ended, and of all.

A daily test should take ``TEST_S``, one with ``@pytest.mark.slow("why")`` ``SLOW_TEST_S``; the ten slowest are
listed beside it. A single test's time depends on the machine and its neighbours: a run fails where all tests take more
than ``NOISE`` times ``ALL_S``.
"""

import os

import pytest

TEST_S, SLOW_TEST_S, ALL_S = 2.0, 20.0, 720.0
NOISE = 3.0
# A run of fewer tests is no run of all: a test run alone pays for the imports that it shares with others.
MANY = 1000


def cpu_s():
    """Return the CPU seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


class Budget:
    """The plug-in of pytest: measures in each worker, adds up and decides in the process that reports."""

    def __init__(self, config):
        self.is_enforced = config.getoption("markexpr") == "not whole"
        self.seconds, self.limits = {}, {}

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Note when a test began."""
        item.cpu_began_s = cpu_s()
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """Append the CPU seconds and their limit to the report of the teardown."""
        report = (yield).get_result()
        if call.when == "teardown":
            limit = SLOW_TEST_S if item.get_closest_marker("slow") else TEST_S
            report.user_properties.append(("cpu_s", (cpu_s() - item.cpu_began_s, limit)))

    def pytest_runtest_logreport(self, report):
        """Collect what the workers have measured."""
        if report.when == "teardown" and (measured := dict(report.user_properties).get("cpu_s")):
            self.seconds[report.nodeid], self.limits[report.nodeid] = measured

    def is_broken(self):
        """Return whether all tests together break the budget; a run of few tests does not."""
        return self.is_enforced and len(self.seconds) >= MANY and sum(self.seconds.values()) > NOISE * ALL_S

    def pytest_sessionfinish(self, session):
        """Let a run that breaks the budget fail."""
        if self.is_broken():
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        """Print the sum, the ten slowest tests and what breaks the budget."""
        if not self.seconds:
            return
        slowest = sorted(self.seconds.items(), key=lambda pair: -pair[1])[:10]
        total = f"{sum(self.seconds.values()):.0f} s in {len(self.seconds)} tests, budget {ALL_S:.0f} s"
        terminalreporter.section(f"CPU time: {total}")
        for name, seconds in slowest:
            terminalreporter.write_line(f"{seconds:6.2f} s of {self.limits[name]:2.0f}  {name}")
        if self.is_broken():
            terminalreporter.write_line(f"OVER BUDGET: all tests, beyond {NOISE * ALL_S:.0f} s", red=True)
