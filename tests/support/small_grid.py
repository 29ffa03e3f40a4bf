"""Snakemake run for real on a small grid, with solvers that go wrong among good ones."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from kdrbench.suite.engine.record import read_records
from kdrbench.suite.systems.ikdr.system import IKDRRecord
from support.forks import forked

ROOT = Path(__file__).parents[2]
BAD = ["Sleeps", "ForksGrandchild", "Allocates", "Raises", "IsKilled"]
STATUS = {"ism": "converged", "Allocates": "memory_limit"}
STATUS |= dict.fromkeys(("Sleeps", "ForksGrandchild"), "time_limit") | dict.fromkeys(("Raises", "IsKilled"), "failed")
BASELINE_STATUS = {"svm": "converged", "FitsForEver": "time_limit"}
LIMIT_S = 1.5

# Words by which Snakemake makes all rows and no report, which takes much longer.
ROWS = ("--until", "merge")


def overlay(**changes):
    experiment = {"datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["ism", *BAD], "folds": 2}
    return {
        "name": "small",
        "run": ["table4_supervised"],
        "limits": {"time_s": LIMIT_S, "memory_mib": 256},
        "timing": {"repeat_for_s": 0.01},
        "solvers": {name: {"method": f"support.misbehaving:{name}"} for name in [*BAD, "KillsItsGuardian"]},
        "baselines": {"FitsForEver": {"method": "support.misbehaving:FitsForEver"}},
        "experiments": {"table4_supervised": experiment | {"baselines": list(BASELINE_STATUS), "runs_per_job": 2}},
    } | changes


def of_solvers(*solvers, **changes):
    """Changes by which the grid has these solvers alone."""
    experiment = overlay()["experiments"]["table4_supervised"] | {"solvers": list(solvers), "baselines": []}
    return {"experiments": {"table4_supervised": experiment}} | changes


class Workflow:
    """A folder in which Snakemake runs the small grid; ``environment`` and ``words`` go with every command."""

    def __init__(self, folder, environment=None, words=("--cores", "20")):
        self.folder, self.words = folder, words
        folder.mkdir(exist_ok=True)
        self.environment = os.environ | {
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "GRANDCHILD_NOTE": str(folder / "grandchild"),
        }
        self.environment |= environment or {}

    def start(self, *words, **changes):
        """Start Snakemake and return its process."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
        return subprocess.Popen(self._command(*words, **changes), env=self.environment, cwd=self.folder, **options)

    def _command(self, *words, **changes):
        (self.folder / "overlay.yaml").write_text(yaml.safe_dump(overlay(**changes)))
        command = [Path(sys.executable).parent / "snakemake", "--snakefile", ROOT / "Snakefile", *self.words]
        command += ["--directory", self.folder, "--workflow-profile", ROOT / "profiles" / "default"]
        return [*command, "--configfile", self.folder / "overlay.yaml", *words]

    def run(self, *words, **changes):
        """Run Snakemake to its end."""
        return forked(self._command(*words, **changes), self.folder, self.environment)

    def succeed(self, *words, **changes):
        """Run Snakemake to its end, which must be a good one."""
        done = self.run(*words, **changes)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def status(self):
        """Return what ``kdrbench status`` says of the small grid."""
        return self.kdrbench("status", self.folder / "results", "--name", "small")

    def kdrbench(self, *words):
        """Return what a command of kdrbench prints."""
        environment = self.environment | {"PYTHONPATH": f"{ROOT / 'src'}:{self.environment['PYTHONPATH']}"}
        done = forked(["kdrbench", *words], self.folder, environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def tables(self):
        """Return the folder of the configuration's merged tables."""
        return self.folder / "results/small"

    @property
    def reports(self):
        """Return the folder of its reports."""
        return self.folder / "reports/small"

    def record_files(self):
        """Return the files that hold finished rows."""
        return sorted((self.folder / "results/runs").rglob("*.jsonl"))

    def checks(self):
        """Return the files that hold the findings of plug-ins."""
        return sorted((self.folder / "results/checks").glob("*.json"))

    def records(self):
        """Return the finished rows by method."""
        found = {}
        for record in (record for path in self.record_files() for record in read_records(path, IKDRRecord)):
            found.setdefault(record.method, []).append(record)
        return found

    def statuses(self):
        """Return the statuses of the finished rows by method."""
        return {method: [record.status for record in records] for method, records in self.records().items()}

    def planned(self, *words, **changes):
        """Return how many jobs of each rule a run would start."""
        done = self.succeed("--dry-run", *words, **changes)
        counts = re.findall(r"^(\w+) +(\d+)$", done.stdout + done.stderr, re.M)
        # With --until Snakemake counts nothing too.
        return {rule: int(count) for rule, count in counts if count != "0"}
