"""The order of the packages, and what may stand where."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "kdrbench"
# Each package may import from itself and from those that stand before it.
ORDER = ["errors", "files", "plugins", "methods", "kernels", "problems", "lowrank", "evaluation", "solvers"]
ORDER += ["paradigms", "metric_learning", "estimators", "baselines", "datasets", "bench", "conformance", "stages", "reports"]
ORDER += ["commands"]
MODULES = sorted(SOURCE.rglob("*.py"))


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "kdrbench":
                yield from (f"kdrbench.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def package_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_run_downwards(path):
    package = package_of(path)
    if package not in ORDER:
        assert package in {"__init__", "__main__", "cli"}
        return
    allowed = ORDER[: ORDER.index(package) + 1]
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "kdrbench" and len(parts) > 1 and parts[1] != "__version__":
            assert parts[1] in allowed, f"{path.name} of {package} imports {name}"


@pytest.mark.parametrize(
    "package",
    [*ORDER[ORDER.index("kernels") : ORDER.index("datasets")]],
)
def test_the_library_knows_no_clock_no_files_and_no_workflow(package):
    for path in (SOURCE / package).rglob("*.py"):
        forbidden = {"time", "os", "pathlib", "snakemake", "subprocess"} & {
            name.split(".")[0] for name in imports_of(path)
        }
        assert not forbidden, f"{path} imports {forbidden}"


def test_no_module_asserts_on_input_or_grows_beyond_reading():
    for path in MODULES:
        tree = ast.parse(path.read_text())
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Assert)], path
        assert len(path.read_text().splitlines()) <= 250, path
