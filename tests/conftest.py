import os
import signal
import sys
from pathlib import Path

import pytest

# Shared helpers are importable from every test folder.
sys.path.insert(0, str(Path(__file__).parent))
# The problems of the robustness table are the benchmark's.
sys.path.insert(1, str(Path(__file__).parents[1] / "benchmarks"))

# A script that starts the tests in the background has them ignore Ctrl-C, as would the commands that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A mirror beside the checkout is used when the user names none.
_beside = Path(__file__).resolve().parents[2] / "shared" / "datasets"
if _beside.is_dir():
    os.environ.setdefault("KDRBENCH_MIRROR", str(_beside))


# Modules that take minutes, most of which are waits, in an order in which none of them starts last.
_FIRST = ["slurm_queue", "slurm", "workflow", "chaos", "other_systems", "sharing", "untimed_and_budget", "plugins"]
_RANKS = {Path(__file__).parent / "workflow" / f"test_{name}.py": rank for rank, name in enumerate(_FIRST)}


def pytest_collection_modifyitems(items):
    """Put the slowest modules first; pytest-xdist keeps this order with ``--no-loadscope-reorder``."""
    items.sort(key=lambda item: _RANKS.get(item.path, len(_RANKS)))


@pytest.fixture(params=range(5), ids=lambda number: f"permutation{number}")
def permutation(request):
    """Five orders of rows and features, of which the first is that in which they are drawn."""
    from support import numerics

    numerics.use_permutation(request.param)
    yield request.param
    numerics.use_permutation(0)
