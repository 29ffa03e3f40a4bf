"""The order of the packages, and what may stand where."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "kdrbench"
# Each package may import from itself and from those before it.
ORDER = ["errors", "licences", "extras", "arrays", "parameters", "files", "csv_files", "status", "blas"]
ORDER += ["paired", "palette", "progress", "memory", "plugins", "methods", "samples", "kernels"]
ORDER += ["problems", "lowrank", "evaluation", "solvers", "paradigms", "metric_learning", "estimators", "reduction"]
ORDER += ["inference", "displays", "baselines", "datasets", "league", "bench", "conformance", "stages"]
ORDER += ["packing", "verification", "crate"]
ORDER += ["reports", "commands"]
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


# What the engine may know: how a run can end, and of the library that a solver's state is arrays by name.
KNOWN_TO_BENCH = {"bench", "csv_files", "datasets", "errors", "extras", "files", "status", "__version__"}
LIBRARY_OF_BENCH = {"kdrbench.solvers.monitor"}


def test_the_engine_knows_no_kernel_no_learner_and_no_stage():
    for path in (SOURCE / "bench").rglob("*.py"):
        for name in imports_of(path):
            package = name.split(".")[1] if name.startswith("kdrbench.") else ""
            if package and name not in LIBRARY_OF_BENCH:
                assert package in KNOWN_TO_BENCH, f"{path} imports {name}"


def test_folders_read_like_a_table_of_contents():
    for folder in [SOURCE, *(path for path in SOURCE.rglob("*") if path.is_dir())]:
        assert len(list(folder.glob("*.py"))) <= 25, folder


def importers():
    """Return by module the modules that import it, through a package's own names as well."""
    names = {".".join(("kdrbench", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in MODULES}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    found = {name: set() for name, path in names.items() if path.name != "__init__.py"}
    for name, path in names.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not node.module or path.name == "__init__.py":
                continue
            for alias in node.names:
                module = defining(node.module, alias.name, names)
                if module in found and module != name:
                    found[module].add(name)
    return found


def defining(module, name, names):
    """Return the module from which a name comes that is imported from a package."""
    if f"{module}.{name}" in names:
        return f"{module}.{name}"
    path = names.get(module)
    if path is None or path.name != "__init__.py":
        return module
    for node in ast.parse(path.read_text()).body:
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and name in {alias.asname or alias.name for alias in node.names}
        ):
            return defining(node.module, name, names)
    return module


def test_few_modules_serve_a_single_other_one():
    single = [name for name, users in importers().items() if len(users) == 1]
    # The share that 46 of 205 modules were: files on one subject that a list or a registry joins.
    assert len(single) <= 0.225 * len(importers()), sorted(single)
