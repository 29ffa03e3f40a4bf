"""The order of the packages, and what each may import."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

from kdrbench.extras import EXTRAS

SOURCE = Path(__file__).parents[1] / "src" / "kdrbench"
# Each package of the library may import from itself and from those before it.
LIBRARY = ["errors", "extras", "arrays", "parameters", "files", "status", "blas", "revisions"]
LIBRARY += ["palette", "progress", "memory", "plugins", "methods", "samples", "kernels"]
LIBRARY += ["problems", "lowrank", "evaluation", "solvers", "paradigms", "metric_learning", "estimators", "reduction"]
LIBRARY += ["inference", "displays", "baselines", "datasets"]
# The suite imports the library, and each of its packages those before it.
SUITE = ["csv_files", "paired", "engine", "conformance", "systems", "experiments"]
SUITE += ["archive", "verification", "reports", "commands"]
ORDER = LIBRARY + [f"suite.{name}" for name in SUITE]
MOST_LINES = 500
FILES_OF_REPORTS = {"tables", "table_rows", "cells", "figures", "paired_tests", "partitions", "size_series"}
FILES_OF_REPORTS |= {"projections", "segmentation", "cost_against_time", "tuning", "optima"}
# The engine knows how a run can end, and of the library that a solver's state is arrays by name.
KNOWN_TO_ENGINE = {"revisions", "suite.engine", "suite.csv_files", "datasets", "errors", "extras", "files", "status"}
KNOWN_TO_ENGINE |= {"__version__"}
LIBRARY_OF_ENGINE = {"kdrbench.solvers.monitor"}


@cache
def trees():
    return {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


@cache
def imports_of(path):
    found = []
    for node in ast.walk(trees()[path]):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
            found += [f"kdrbench.{alias.name}" for alias in node.names] if node.module == "kdrbench" else []
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


def package_of(path):
    return named(path.relative_to(SOURCE).with_suffix("").parts)


def named(parts):
    # Findings are a part of reports: they decide what tables and pages show, by the cells that tables have.
    parts = ["suite", "reports"] if tuple(parts[:2]) == ("suite", "findings") else parts
    # The folder of a system holds its runs, and in these files what is made of them.
    if tuple(parts[:2]) == ("suite", "systems") and parts[-1] in FILES_OF_REPORTS:
        parts = ["suite", "reports"]
    return f"suite.{parts[1]}" if parts[0] == "suite" and len(parts) > 1 else parts[0]


def ours_of(path):
    """Yield the packages of kdrbench that a module imports, with the modules."""
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "kdrbench" and len(parts) > 1:
            yield named(parts[1:]), name


def offenders(paths, forbidden_of):
    return [f"{path.relative_to(SOURCE)} imports {name}" for path in paths for name in forbidden_of(path)]


@pytest.mark.slow("parses every module for all tests of the architecture")
def test_imports_run_downwards():
    assert {package_of(path) for path in trees()} == {*ORDER, "__init__", "__main__", "suite.__init__", "suite.cli"}

    def above(path):
        allowed = {*ORDER[: ORDER.index(package_of(path)) + 1], "__version__"}
        return [name for package, name in ours_of(path) if package not in allowed]

    assert offenders([path for path in trees() if package_of(path) in ORDER], above) == []


def test_the_library_knows_no_clock_no_files_and_no_workflow():
    library = LIBRARY[LIBRARY.index("kernels") : LIBRARY.index("datasets")]
    forbidden = {"time", "os", "pathlib", "snakemake", "subprocess"}

    def outside(path):
        return [name for name in imports_of(path) if name.split(".")[0] in forbidden]

    assert offenders([path for path in trees() if package_of(path) in library], outside) == []


def test_the_engine_knows_no_kernel_no_learner_and_no_system():
    def unknown(path):
        return [
            name for package, name in ours_of(path) if package not in KNOWN_TO_ENGINE and name not in LIBRARY_OF_ENGINE
        ]

    assert offenders([path for path in trees() if package_of(path) == "suite.engine"], unknown) == []


def test_every_package_that_is_imported_is_declared():
    # test_packaging.py compares these five and the extras with pyproject.toml.
    known = {*sys.stdlib_module_names, "kdrbench", "joblib", "numpy", "scipy", "sklearn", "threadpoolctl"}
    known.update(*EXTRAS.values())
    assert offenders(trees(), lambda path: [name for name in imports_of(path) if name.split(".")[0] not in known]) == []


def test_no_module_asserts_on_its_input():
    found = [path for path, tree in trees().items() if any(isinstance(node, ast.Assert) for node in ast.walk(tree))]
    assert found == []


@pytest.mark.slow("reads every module of the package")
def test_no_module_grows_beyond_reading():
    found = [path for path in trees() if len(path.read_text().splitlines()) > MOST_LINES]
    assert found == []
