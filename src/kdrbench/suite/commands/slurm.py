"""Which of Slurm's commands says what became of the workflow's jobs: ``profiles/slurm/config.yaml`` asks here."""

from __future__ import annotations

import re
import subprocess
from functools import cache

from kdrbench.errors import InputError

_ANSWER_S = 60
# Snakemake's executor looks at its jobs at least this often; it never learns of one that is forgotten in between.
_BETWEEN_LOOKS_S = 180


@cache
def status_command() -> str:
    """Return ``sacct`` where Slurm keeps accounts of ended jobs, and ``squeue`` where it keeps none.

    Without accounts sacct fails, and Snakemake's executor would ask it for ever. Then squeue shows jobs for
    ``MinJobAge`` seconds after their end. On a machine without Slurm the answer is ``squeue``: nothing will ask.

    Raises ``InputError`` where there are no accounts and jobs are forgotten too soon for squeue.
    """
    if _output("sacct", "--noheader", "--allocations", "--format=JobID") is not None:
        return "sacct"
    # The seconds for which the controller remembers ended jobs.
    age = re.search(r"^MinJobAge\s*=\s*(\d+)", _output("scontrol", "show", "config") or "", re.MULTILINE)
    if age and int(age[1]) <= _BETWEEN_LOOKS_S:
        raise InputError(
            f"this Slurm keeps no accounts (sacct does not answer) and forgets a job {age[1]} s after its end: the "
            f"workflow, which looks every {_BETWEEN_LOOKS_S} s, would wait for ever. Ask for MinJobAge=300 or for "
            "accounts (slurmdbd), or use --profile profiles/cluster-generic, which looks every ten seconds"
        )
    return "squeue"


def _output(*command: str) -> str | None:
    """Return what a command prints, or ``None`` if it is not there, fails or does not answer."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_ANSWER_S)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
