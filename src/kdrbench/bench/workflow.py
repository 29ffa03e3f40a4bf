"""What the Snakefile asks of the package."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from kdrbench.bench.config import Config
from kdrbench.bench.grid import Grid
from kdrbench.errors import ConfigError


def load_grid(config: Config) -> Grid:
    """Return the grid of a configuration, or let Snakemake end with one sentence on what is wrong with it."""
    from snakemake.exceptions import WorkflowError

    try:
        return Grid(config)
    except ConfigError as error:
        raise WorkflowError(str(error)) from None


def shell_prefix(workflow: Any) -> str:
    """Return what each shell command begins with, so that ``python -m kdrbench`` means this checkout.

    Without a software deployment method the commands run in the Python that runs Snakemake, whether or not
    its environment is activated; within a conda environment that environment's Python is the right one.
    """
    source = Path(workflow.basedir) / "src"
    path = f'{shlex.quote(str(source))}"${{PYTHONPATH:+:$PYTHONPATH}}"'
    # Without byte code every job would compile what it imports, which takes thrice the time.
    prefix = f"set -euo pipefail; export PYTHONPATH={path}; unset PYTHONDONTWRITEBYTECODE; "
    if not workflow.deployment_settings.deployment_method:
        prefix += f'export PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH"; '
    return prefix


def tex_reports(grid: Grid) -> list[str]:
    """Return the typeset tables to make: all where a TeX is installed, else none."""
    if shutil.which("pdflatex") is None:
        return []
    return [f"reports/{experiment}.pdf" for experiment in grid.experiments]
