"""Which packages of kdrbench are called while something works."""

import sys
from pathlib import Path

import kdrbench

ROOT = Path(kdrbench.__file__).parent
# What makes the runs of a record: nothing of it may compute the second opinion.
OF_RUNS = (
    *("baselines", "estimators", "evaluation", "inference", "kernels", "league", "lowrank", "metric_learning"),
    *("paradigms", "problems", "reduction", "samples", "solvers"),
)


def called_by(work):
    """Return the files of these packages in which a function is called while ``work()`` runs."""
    found = set()

    def seen(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            path = Path(frame.f_code.co_filename).relative_to(ROOT)
            if path.parts[0] in OF_RUNS and not _is_no_opinion(frame):
                found.add(str(path))

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


def _is_no_opinion(frame):
    """Return whether a module is being imported, or data are loaded, which both opinions have in common."""
    while frame is not None:
        code = frame.f_code
        if Path(code.co_filename).is_relative_to(ROOT / "datasets"):
            return True
        if code.co_name == "<module>" and code.co_filename.startswith(str(ROOT)):
            return True
        frame = frame.f_back
    return False
