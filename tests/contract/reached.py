"""Which functions of the library the canaries execute, and hashes of the others that only real edits change."""

import ast
import copy
import hashlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "kdrbench"
# What decides numbers: the library, and of the systems what draws, runs and scores.
DECIDING = (
    *(f"{name}/*" for name in ("kernels", "problems", "evaluation", "solvers", "paradigms", "metric_learning")),
    *(f"inference/{name}.py" for name in ("permutation", "refits", "statistics")),
    "suite/systems/league/judges.py",
    *(f"{name}/*" for name in ("lowrank", "baselines", "reduction", "samples")),
    *("suite/engine/seeds.py", "datasets/dataset.py", "suite/systems/noise/system.py"),
    *(f"suite/systems/ikdr/{name}.py" for name in ("folds", "scores", "monitor", "definition")),
    *(
        "suite/systems/ikdr/*_run.py",
        "suite/systems/kpca_trick/*.py",
        "suite/systems/kpca_figures/*.py",
        "suite/systems/low_rank/run.py",
    ),
    *("suite/systems/league/fold_run.py", "suite/systems/atlas/starts_run.py"),
)
# Configuration, which decides by what it writes into definitions, reports, and what no profiler sees: machine code of
# numba.
LEFT_OUT = ("*/system.py", "*/config.py", "*/__init__.py", "*/compiled.py")
LEFT_OUT += ("suite/systems/kpca_*/tables.py", "suite/systems/kpca_*/cells.py", "suite/systems/kpca_*/figures.py")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@contextmanager
def profiled() -> Iterator[set[tuple[str, str]]]:
    """Note file and name of every Python function that is called, in threads as well.

    Codes will not do: those of equal functions on the same line of two files are equal.
    """
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def deciding_files() -> list[Path]:
    """Return the files whose functions are looked at."""
    files = {path: str(path.relative_to(PACKAGE)) for path in sorted(PACKAGE.rglob("*.py"))}
    kept = ("suite/systems/noise/system.py",)
    return [
        path
        for path, name in files.items()
        if any(fnmatch(name, part) for part in DECIDING)
        and (name in kept or not any(fnmatch(name, part) for part in LEFT_OUT))
    ]


def functions_of(path: Path) -> dict[str, _Function]:
    """Return a file's functions by their qualified names, without those of protocols, which are never executed."""
    found: dict[str, _Function] = {}
    _collect(ast.parse(path.read_text()), "", found)
    return found


def _collect(node: ast.AST, prefix: str, found: dict[str, _Function]) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            if not any(ast.unparse(base).startswith("Protocol") for base in child.bases):
                _collect(child, f"{prefix}{child.name}.", found)
        elif isinstance(child, _Function):
            found[f"{prefix}{child.name}"] = child
            _collect(child, f"{prefix}{child.name}.<locals>.", found)
        else:
            _collect(child, prefix, found)


def unreached(seen: set[tuple[str, str]]) -> tuple[dict[str, str], int]:
    """Return by name the hashes of functions that were not seen, and how many functions there are.

    A function within one that was not seen belongs to that one.
    """
    hashes, count = {}, 0
    for path in deciding_files():
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        functions = functions_of(path)
        count += len(functions)
        missing = {name: node for name, node in functions.items() if (str(path), name) not in seen}
        outer = {name: node for name, node in missing.items() if name.rpartition(".<locals>.")[0] not in missing}
        hashes |= {f"{module}:{name}": fingerprint(node) for name, node in outer.items()}
    return dict(sorted(hashes.items())), count


def fingerprint(function: _Function) -> str:
    """Return a hash of what a function does: not of its words, annotations and local names."""
    tree = ast.fix_missing_locations(_Bare().visit(copy.deepcopy(function)))
    _rename_locals(tree)
    # As text, which is the same in all versions of Python.
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:12]


class _Bare(ast.NodeTransformer):
    """Removes docstrings, annotations and the messages of errors."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.returns = None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self.generic_visit(node)
        return ast.Assign([node.target], node.value) if node.value else None

    def visit_Raise(self, node: ast.Raise) -> Any:
        if isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
        return self.generic_visit(node)


def _rename_locals(function: _Function) -> None:
    """Number the names that a function assigns; its parameters keep theirs, by which it is called."""
    stored = [node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    parameters = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    outside = {
        name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
    }
    numbers = {
        name: f"local{number}" for number, name in enumerate(dict.fromkeys(stored)) if name not in parameters | outside
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            node.id = numbers.get(node.id, node.id)
