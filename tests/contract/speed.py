"""Time the canaries beside those of another commit, in turn.

    PYTHONPATH=tests python -m contract.speed [--base COMMIT] [--only WORD]

Each canary is timed in CPU seconds in two processes that live side by side: one imports the package of this tree, the
other that of the base, and both the canaries of this tree. A component whose canaries take ``SLOWER`` times as long
asks for a raise of its ``speed``, if other pairs of processes agree. Canaries that the base cannot run are left out.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tarfile
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
SLOWER, ROUNDS, TURN_S, CONFIRMED = 1.10, 5, 0.3, 2


def answer() -> None:
    """Be one of the two processes: for each name read, say the CPU seconds of its canary, or nothing if it fails."""
    from contract.__main__ import all_canaries

    canaries = {canary.name: canary for canary in all_canaries()}
    replies, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    print("ready", file=replies, flush=True)
    for line in sys.stdin:
        name, seconds = line.rstrip("\n"), ""
        try:
            seconds = repr(_seconds(canaries[name].measure))
        except Exception as error:
            print(f"{name}: {error}", file=sys.stderr)
        print(seconds, file=replies, flush=True)


def _seconds(work) -> float:
    """Return the mean CPU seconds of work that is repeated for a turn."""
    began, count = time.process_time(), 0
    while count == 0 or time.process_time() - began < TURN_S:
        work()
        count += 1
    return (time.process_time() - began) / count


class Side:
    """A process that times canaries with the package of one tree."""

    def __init__(self, source: Path) -> None:
        path = os.pathsep.join((str(source), str(ROOT / "tests")))
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", "from contract.speed import answer; answer()"]
        self._process = subprocess.Popen(
            command, env=environment, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True
        )
        if self._read() != "ready":
            raise SystemExit(f"the canaries cannot be imported with the package in {source}")

    def seconds(self, name: str) -> float | None:
        """Return the CPU seconds of a canary, ``None`` where it fails."""
        assert self._process.stdin
        print(name, file=self._process.stdin, flush=True)
        said = self._read()
        return float(said) if said else None

    def _read(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.communicate()


def ratio(here: Side, base: Side, name: str) -> float | None:
    """Return the ratio of the least times of interleaved turns, after one that warms both.

    Each side begins every other turn. Other work of the machine makes times longer, never shorter.
    """
    if here.seconds(name) is None or base.seconds(name) is None:
        return None
    taken: dict[Side, list[float]] = {here: [], base: []}
    for number in range(ROUNDS):
        for side in (here, base) if number % 2 else (base, here):
            taken[side].append(side.seconds(name) or 0.0)
    return min(taken[here]) / min(taken[base])


def ratios_of(names: Iterable[str], before: Path) -> dict[str, float]:
    """Return by name the ratios of canaries that both sides can run, in two new processes."""
    here, base = Side(ROOT / "src"), Side(before)
    found = {}
    for name in names:
        if (one := ratio(here, base, name)) is not None:
            found[name] = one
            print(f"{one:6.2f}  {name}", flush=True)
    here.close()
    base.close()
    return found


def slower(ratios: dict[str, float], components: dict[str, tuple[str, ...]]) -> dict[str, float]:
    """Return the components of which the median canary is slower, and by how much."""
    by_component = defaultdict(list)
    for name, one in ratios.items():
        for component in components[name]:
            by_component[component].append(one)
    found = {component: statistics.median(ones) for component, ones in by_component.items()}
    return {component: one for component, one in sorted(found.items()) if one > SLOWER}


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True).stdout


def merge_base() -> str:
    """Return the merge base with the main branch, or the commit before where that is this one."""
    for branch in ("origin/main", "main"):
        found = subprocess.run(["git", "-C", str(ROOT), "merge-base", "HEAD", branch], capture_output=True, text=True)
        if found.returncode == 0 and found.stdout != _git("rev-parse", "HEAD").decode():
            return found.stdout.strip()
    return "HEAD~1"


def raised(source: Path) -> dict[str, int]:
    """Return the speed revisions that a tree declares."""
    words = "from kdrbench.revisions import REVISIONS as r; print({name: one.speed for name, one in r.items()})"
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, "-c", words], env=environment, capture_output=True, text=True)
    # A base before the revisions has none.
    return dict(eval(done.stdout)) if done.returncode == 0 else {}


def main() -> int:
    """Time all canaries; the exit status is 1 where a component is slower and its ``speed`` is not raised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="the commit to compare with; the merge base with main if not given")
    parser.add_argument("--only", default="", help="time canaries with this in their name")
    chosen = parser.parse_args()
    from contract.__main__ import all_canaries

    components = {canary.name: canary.components for canary in all_canaries() if chosen.only in canary.name}
    with TemporaryDirectory() as folder:
        base_commit = chosen.base or merge_base()
        with tarfile.open(fileobj=BytesIO(_git("archive", base_commit, "src"))) as archive:
            archive.extractall(folder, filter="data")
        before = Path(folder, "src")
        ratios = ratios_of(components, before)
        # Again in other processes: where memory lies makes one of two equal ones slower by a tenth or two.
        doubtful = slower(ratios, components)
        again = [name for name in ratios if set(components[name]) & set(doubtful)]
        for _ in range(CONFIRMED if doubtful else 0):
            ratios |= {name: min(one, ratios[name]) for name, one in ratios_of(again, before).items()}
        old, new = raised(before), raised(ROOT / "src")
    asked = {name: one for name, one in slower(ratios, components).items() if new.get(name, 1) <= old.get(name, 1)}
    for name, one in asked.items():
        print(f"{name} takes {one:.2f} times as long as at {base_commit[:12]}: raise its speed in kdrbench.revisions")
    return int(bool(asked))


if __name__ == "__main__":
    sys.exit(main())
