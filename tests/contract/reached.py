"""Which functions of the library no canary executes."""

import ast
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "kdrbench"
IKDR = "suite/systems/ikdr"
# What decides numbers: the library, and of the systems what draws, runs and scores.
DECIDING = (
    *(f"{name}/*" for name in ("kernels", "problems", "evaluation", "solvers", "paradigms", "metric_learning")),
    *(f"inference/{name}.py" for name in ("permutation", "refits", "statistics")),
    *(f"suite/systems/league/{name}.py" for name in ("judges", "protocol")),
    *(f"{name}/*" for name in ("lowrank", "baselines", "reduction", "samples")),
    *("suite/engine/seeds.py", "datasets/dataset.py", "suite/systems/noise/system.py"),
    *(
        f"suite/systems/ikdr/{name}.py"
        for name in ("fold", "folds", "rounds", "sampling", "scores", "monitor", "definition")
    ),
    *(
        "suite/systems/ikdr/*_run.py",
        "suite/systems/kpca_trick/*.py",
        "suite/systems/kpca_figures/*.py",
        "suite/systems/low_rank/run.py",
    ),
    *("suite/systems/league/fold_run.py", "suite/systems/atlas/starts_run.py", "suite/systems/atlas/chart.py"),
)
# Configuration, which decides by what it writes into definitions, and what no profiler sees: machine code of numba.
LEFT_OUT = ("*/system.py", "*/config.py", "*/__init__.py", "suite/systems/ikdr/sampling.py", "lowrank/compiled.py")


@contextmanager
def profiled() -> Iterator[set[CodeType]]:
    """Note the code of every Python function that is called, in threads as well."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

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


def unreached(seen: set[CodeType]) -> list[str]:
    """Return the names of functions whose code was not seen, without those of protocols, which are never executed.

    A function within one that was not seen belongs to that one.
    """
    by_file: dict[str, set[str]] = {}
    for code in seen:
        by_file.setdefault(code.co_filename, set()).add(code.co_qualname)
    names = []
    for path in deciding_files():
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        missing = set(_functions(ast.parse(path.read_text()), "")) - by_file.get(str(path), set())
        names += [f"{module}:{name}" for name in missing if name.rpartition(".<locals>.")[0] not in missing]
    return sorted(names)


def _functions(node: ast.AST, prefix: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            if not any(ast.unparse(base).startswith("Protocol") for base in child.bases):
                yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{child.name}"
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        else:
            yield from _functions(child, prefix)
