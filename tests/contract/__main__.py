"""Compare the results of the canaries with the stored ones.

    PYTHONPATH=tests python -m contract [--update] [--list]

The exit status is 1 where results changed without a raised revision, a revision was raised without a change, or
something has to be stored.
"""

import argparse
import json
import os
import random
import sys
import time
import warnings
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

# One thread, before numpy is loaded: its sums are then added in one order.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from contract.canary import Canary, Value, values_of
from contract.comparison import Measured, Present, compare
from contract.reached import profiled, unreached

STORED = Path(__file__).with_name("stored.json")
SUBJECTS = ("oracles", "solving", "learning", "systems")
_MOST_LINES = 20
_NOTHING: dict[str, Any] = {"canaries": {}, "revisions": {}}


def all_canaries() -> list[Canary]:
    """Return the canaries of all subjects, whose import executes functions of the library, too."""
    return [canary for subject in SUBJECTS for canary in import_module(f"contract.{subject}").CANARIES]


def measured(canaries: list[Canary]) -> dict[str, Measured]:
    """Return the numbers of canaries by name, made in a random order, which must not matter."""
    order = random.sample(canaries, len(canaries))
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for canary in order:
            found[canary.name] = Measured(canary.components, _values(canary))
    return dict(sorted(found.items()))


def _values(canary: Canary) -> dict[str, Value]:
    """Return a canary's numbers, or what it raises, which differs from what is stored."""
    try:
        return values_of(canary.measure())
    except Exception as error:
        return {"raised": f"{type(error).__name__}: {error}"}


def main() -> int:
    """Run, compare, print the verdict, and store the numbers where that is requested and allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--update", action="store_true", help="store new canaries, and differences whose component is raised"
    )
    parser.add_argument("--list", action="store_true", help="list the functions that no canary executes")
    options = parser.parse_args()
    began = time.process_time()
    # What imports the library comes after the profiler.
    with profiled() if options.list else nullcontext(set()) as seen:
        canaries = measured(all_canaries())
    from contract.components import COMPONENTS
    from kdrbench.revisions import REVISIONS

    present = Present(canaries, {name: revision.numbers for name, revision in REVISIONS.items()})
    stored = json.loads(STORED.read_text()) if STORED.exists() else _NOTHING
    verdict = compare(stored, present)
    lines = [*verdict.faults, *([] if options.update else verdict.due)]
    more = [f"... and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    print(*lines[:_MOST_LINES], *more, *(unreached(seen) if options.list else []), sep="\n", end="\n" if lines else "")
    if without := sorted(COMPONENTS - present.components):
        print(f"components without a canary: {', '.join(without)}")
    seconds = time.process_time() - began
    print(f"{len(canaries)} canaries of {len(present.components)} components in {seconds:.0f} CPU s")
    if options.update and not verdict.faults:
        STORED.write_text(json.dumps(present.to_store(stored), indent=1) + "\n")
        return 0
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
