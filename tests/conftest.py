import signal
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

# Shared helpers are importable from every test folder.
sys.path.insert(0, str(Path(__file__).parent))
# The problems of the robustness table are the benchmark's.
sys.path.insert(1, str(Path(__file__).parents[1] / "benchmarks"))

# A script that starts the tests in the background has them ignore Ctrl-C, as would the commands that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from support import budget, needs, selection


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave tests that need more than the locks to ``make whole``."""
    needs.mark_requirements(items)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Hide the user's mirror from every test that does not ask for it."""
    needs.show_mirror(item)
    yield


def pytest_addoption(parser):
    """Options of ``make attack`` and of ``.ci/run``."""
    parser.addoption("--attack-rounds", type=int, default=1, help="seeds that each attack is made with")
    parser.addoption("--attack-seed", type=int, default=0, help="the first of them; the tests of every day use 0")
    parser.addoption(
        "--changed-since", help="commit: of the chosen tests, those that changes since then can reach, and a tenth"
    )
    parser.addoption("--most-seconds", type=float, default=0.0, help="wall seconds after which no further test begins")
    parser.addoption("--torch-device", help="where tensors of torch are made, such as cuda; the CPU by default")


def pytest_configure(config):
    """Have the budget kept, and tests of tensors make them on the device that is named, which are marked `whole`."""
    config.pluginmanager.register(budget.Budget(config), "budget")
    config.pluginmanager.register(selection.Selection(config), "selection")
    if config.getoption("torch_device"):
        import torch

        config.option.markexpr = ""
        torch.set_default_device(config.getoption("torch_device"))


def pytest_generate_tests(metafunc):
    """Make each attack that draws with every seed; those that draw nothing are made once."""
    if "attack_rng" in metafunc.fixturenames:
        first = metafunc.config.getoption("attack_seed")
        seeds = range(first, first + metafunc.config.getoption("attack_rounds"))
        metafunc.parametrize("attack_rng", seeds, indirect=True, ids=lambda seed: f"seed{seed}")


@pytest.fixture
def attack_rng(request):
    """What an attack draws from: where it strikes, and with what."""
    return np.random.default_rng(request.param)


@pytest.fixture(autouse=True)
def _attacked(request, record_property):
    """Note what an attack is aimed at, for the table."""
    if marker := request.node.get_closest_marker("attack"):
        record_property("attack", marker.args[0])


def pytest_terminal_summary(terminalreporter, config):
    """Print what was attacked, how often, and how often it held."""
    if config.getoption("markexpr") != "attack":
        return
    tried, held = Counter(), Counter()
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            name = dict(getattr(report, "user_properties", [])).get("attack", "?")
            tried[name] += 1
            held[name] += outcome == "passed"
    terminalreporter.section(f"attacks, seeds from {config.getoption('attack_seed')}")
    for name in sorted(tried):
        terminalreporter.write_line(f"{name:<50} tried {tried[name]:>5}   held {held[name]:>5}")
    terminalreporter.write_line(f"{'all':<50} tried {tried.total():>5}   held {held.total():>5}")


# That in which they are drawn and another one; three more are left to make whole.
_ORDERS = [0, 1, *(pytest.param(number, marks=pytest.mark.whole) for number in (2, 3, 4))]


@pytest.fixture(params=_ORDERS, ids=lambda number: f"permutation{number}")
def permutation(request):
    """Orders of rows and features, of which the first is that in which they are drawn."""
    from support import numerics

    numerics.use_permutation(request.param)
    yield request.param
    numerics.use_permutation(0)
