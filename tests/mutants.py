"""Change a module in small ways, one at a time, and say which changes the tests do not notice.

    python tests/mutants.py kdrbench.solvers.escape [--count 20] [--seed 0] [--tests tests/solvers ...]

A mutant has one operator, comparison, constant, condition or statement of the module changed; it lives in a copy of
the package that comes before the working tree. ``--count`` places are drawn with ``--seed``. A first run of the tests,
without change, notes which test executes which line and in what time; each mutant is then given the tests that
execute its line, quickest first, until one fails. A mutant of a line that only other processes execute is given
every test. One that takes ``SLOWER`` times the time of its tests is noticed, too.

Messages, docstrings, annotations, decorators and ``__all__`` are left as they are.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Folders of tests beside the one with the name of the module's own folder.
FURTHER = {"problems": ["tests/evaluation", "tests/solvers"]}
SLOWER, START_S = 3, 30
COMPARISONS = {
    **{ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="), ast.GtE: (">", "<")},
    **{ast.Eq: ("!=",), ast.NotEq: ("==",), ast.Is: ("is not",), ast.IsNot: ("is",)},
    **{ast.In: ("not in",), ast.NotIn: ("in",)},
}
OPERATORS = {
    **{ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.FloorDiv: "*", ast.Mod: "*"},
    **{ast.BitAnd: "|", ast.BitOr: "&"},
}
LEFT_ALONE = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)


def other_values(value):
    """Return the texts of constants beside this one."""
    if isinstance(value, bool):
        return [str(not value)]
    if isinstance(value, int):
        return [str(value + 1), str(value - 1)]
    return [repr(10 * value), repr(value / 10)] if value else ["1.0"]


def changes(node):
    """Return the texts that may replace the node."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            return [f"({left} {other} {right})" for other in COMPARISONS[type(operator)]]
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            return [f"(({ast.unparse(left)}) {OPERATORS[type(operator)]} ({ast.unparse(right)}))"]
        case ast.BoolOp(operator, values):
            joined = (" or " if isinstance(operator, ast.And) else " and ").join
            return [f"({joined(f'({ast.unparse(value)})' for value in values)})"]
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            return [f"({ast.unparse(operand)})"]
        case ast.Constant(bool() | int() | float() as value):
            return other_values(value)
        case ast.AugAssign(target, operator, value) if type(operator) in OPERATORS:
            return [f"{ast.unparse(target)} {OPERATORS[type(operator)]}= {ast.unparse(value)}", "pass"]
        case ast.Expr(ast.Call()):
            return ["pass"]
        case ast.Break() | ast.Continue():
            return ["continue" if isinstance(node, ast.Break) else "break"]
    return []


def places(node, statement=None):
    """Yield (node, what may stand there, the lines that are executed for it) for the node and what it contains."""
    if isinstance(node, ast.stmt) and not hasattr(node, "body"):
        statement = node
    if texts := changes(node):
        around = statement or node
        yield node, texts, range(around.lineno, around.end_lineno + 1)
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Constant):
        test, around = ast.unparse(node.test), statement or node.test
        stops = "False" if isinstance(node, ast.While) else "True"
        yield node.test, [f"(not ({test}))", stops, "False"], range(around.lineno, around.end_lineno + 1)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, LEFT_ALONE):
                yield from places(child, statement)


def changed(source, node, text):
    """Return the source with the text where the node was."""
    lines = source.encode().splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno - 1
    after = lines[last][node.end_col_offset :]
    lines[first : last + 1] = [lines[first][: node.col_offset] + text.encode() + after]
    return b"".join(lines).decode()


class Record:
    """A plug-in of pytest: what each test executes of a file, and how long it takes."""

    def __init__(self, file):
        self.file, self.lines, self.seconds = str(file), defaultdict(set), {}
        self.current = self.lines[""]

    def trace(self, frame, event, _):
        if frame.f_code.co_filename != self.file:
            return None
        if event == "line":
            self.current.add(frame.f_lineno)
        return self.trace

    def within(self, name):
        before, self.current = self.current, self.lines[name]
        sys.settrace(self.trace)
        threading.settrace(self.trace)
        yield
        self.current = before
        sys.settrace(None if before is self.lines[""] else self.trace)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        began = time.monotonic()
        yield from self.within(item.nodeid)
        self.seconds[item.nodeid] = time.monotonic() - began

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """What a shared fixture executes counts for every test beside the first."""
        shared = fixturedef.scope != "function"
        yield from self.within(request.node.nodeid if shared else request._pyfuncitem.nodeid)


class Chosen:
    """A plug-in of pytest: these tests and no others, in this order."""

    def __init__(self, names):
        self.ranks = {name: rank for rank, name in enumerate(names)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = sorted((item for item in items if item.nodeid in self.ranks), key=lambda i: self.ranks[i.nodeid])


def child(task):
    """Run the tests of a task (a file's content), in a process of their own; return pytest's exit status."""
    quick = ["-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    if "file" in task:
        record = Record(task["file"])
        status = pytest.main([*quick, *task["tests"]], plugins=[record])
        lines = {name: sorted(lines) for name, lines in record.lines.items()}
        Path(task["out"]).write_text(json.dumps({"lines": lines, "seconds": record.seconds}))
        return status
    files = dict.fromkeys(name.partition("::")[0] for name in task["names"])
    return pytest.main([*quick, *files], plugins=[Chosen(task["names"])])


def run(package, task, limit_s=None):
    """Run a task with the package in this folder; return the exit status and the output, none after the limit."""
    # Of two mutants written in one second, the second could be taken for the first by the bytecode that Python keeps.
    environment = os.environ | {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--task", json.dumps(task)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=limit_s, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout + done.stderr


def tests_of(lines, clean, everything):
    """Return the tests that execute one of the lines, or else any line of the module, or else all; quickest first."""

    def with_any(wanted):
        return [name for name, executed in clean["lines"].items() if name and not wanted.isdisjoint(executed)]

    anywhere = set().union(*clean["lines"].values())
    names = [] if everything else with_any(set(lines)) or with_any(anywhere)
    chosen = [t for t in clean["seconds"] if not names or any(t == n or t.startswith(f"{n}::") for n in names)]
    return sorted(chosen, key=clean["seconds"].get)


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", help="name of the module, as it is imported")
    parser.add_argument("--count", type=int, default=20, help="mutants to be drawn")
    parser.add_argument("--seed", type=int, default=0, help="seed that they are drawn with")
    parser.add_argument("--tests", nargs="+", help="folders or files of tests; else those of the module's folder")
    parser.add_argument("--all-tests", action="store_true", help="every test for every mutant")
    return parser.parse_args(arguments)


def drawn(source, count, seed):
    """Return the number of places and, in the order of the source, some of them with the text drawn for each."""
    found, generator = list(places(ast.parse(source))), random.Random(seed)
    chosen = sorted(generator.sample(range(len(found)), min(count, len(found))))
    return len(found), [(found[i][0], generator.choice(found[i][1]), found[i][2]) for i in chosen]


def main(options):
    """Make the mutants and print which of them were noticed."""
    path = Path(*options.module.split(".")).with_suffix(".py")
    folder = path.parts[1].removesuffix(".py")
    tests = options.tests or [f"tests/{folder}", *FURTHER.get(folder, [])]
    source = (ROOT / "src" / path).read_text()
    n_places, mutants = drawn(source, options.count, options.seed)
    with tempfile.TemporaryDirectory() as temporary:
        package, out = Path(temporary), Path(temporary, "clean.json")
        shutil.copytree(ROOT / "src" / "kdrbench", package / "kdrbench")
        status, said = run(package, {"file": str(package / path), "tests": tests, "out": str(out)})
        if status:
            sys.exit(f"the tests fail without any change:\n{said[-3000:]}")
        clean, noticed = json.loads(out.read_text()), 0
        for node, text, lines in mutants:
            (package / path).write_text(changed(source, node, text))
            names = tests_of(lines, clean, options.all_tests)
            limit_s = START_S + SLOWER * sum(clean["seconds"][name] for name in names)
            status, said = run(package, {"names": names}, limit_s)
            noticed += status != 0
            verdict = {0: "SURVIVED", None: "too slow"}.get(status, "killed")
            before = " ".join(ast.get_source_segment(source, node).split())
            print(f"{verdict:8} {path}:{node.lineno}  {before}  ->  {text}", flush=True)
            if status == 0:
                print(f"{'':8} in: {source.splitlines()[node.lineno - 1].strip()}  ({len(names)} tests)", flush=True)
    print(f"{options.module}: {noticed} of {len(mutants)} killed, seed {options.seed}, {n_places} places", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--task"]:
        sys.exit(child(json.loads(sys.argv[2])))
    main(options_of(sys.argv[1:]))
