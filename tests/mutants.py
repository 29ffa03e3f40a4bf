"""Change modules in small ways, one at a time, and say which changes the tests do not notice.

    python tests/mutants.py kdrbench.solvers.escape [...] [--count 20] [--seed 0] [--seconds 10] [--tests ...]

A mutant has one operator, comparison, constant, condition or statement of the module changed. ``--count`` places of
each module are drawn with ``--seed``. All mutants are in one copy of the package, outside the working tree, each behind
a switch. A run with every switch off notes which tests come by which switch, and how long they take. Each mutant is
then given the tests that come by its switch, quickest first, until one fails; or every test, where only the import or
other processes come by it. Tests that would make it longer than ``--seconds`` in all are left out.
A mutant with which the tests take ``SLOWER`` times as long, and ``START_S``, is noticed, too. Times are processor
times, so that other work of the machine does not matter, but for what waits.

Messages, docstrings, annotations, decorators and ``__all__`` are left as they are.
"""

import argparse
import ast
import difflib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from itertools import accumulate
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
SWITCH = """
import os
reached, chosen = set(), int(os.environ.get("MUTANT", -1))
def on(number):
    reached.add(number)
    return number == chosen
"""


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


def places(node):
    """Yield (node, what may replace it) for the node and for all that it contains."""
    if texts := changes(node):
        yield node, texts
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Constant):
        ends = [] if isinstance(node, ast.While) else ["True"]
        yield node.test, [f"(not ({ast.unparse(node.test)}))", "False", *ends]
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, LEFT_ALONE):
                yield from places(child)


def drawn(tree, count, seed):
    """Return the number of places and, in the order of the source, some of them with the text drawn for each."""
    found, generator = list(places(tree)), random.Random(seed)
    chosen = sorted(generator.sample(range(len(found)), min(count, len(found))))
    return len(found), [(found[i][0], generator.choice(found[i][1])) for i in chosen]


class Switched(ast.NodeTransformer):
    """Puts each mutant beside the node that it replaces, behind its switch."""

    def __init__(self, mutants, first):
        self.mutants = defaultdict(list)
        for number, (node, text) in enumerate(mutants, start=first):
            self.mutants[id(node)].append((f"__import__('mutant_switch').on({number})", text))

    def visit(self, node):
        result = self.generic_visit(node)
        for switch, text in self.mutants[id(node)]:
            if isinstance(node, ast.stmt):
                # A loop around it, or ``break`` would be no syntax.
                mutant = ast.parse(f"while {switch}: {text}").body[0]
                result = ast.If(mutant.test, mutant.body, [result])
            else:
                result = ast.IfExp(*(ast.parse(part, mode="eval").body for part in (switch, text)), result)
        return result


class Mutants:
    """A plug-in of pytest: collects once, then runs the tests in a fork for each mutant, and prints what came of it."""

    def __init__(self, labels, seconds, out):
        self.labels, self.most_seconds, self.out, self.failed = labels, seconds, out, []
        self.seconds, self.came_by = {}, defaultdict(set)

    def pytest_runtestloop(self, session):
        if session.testsfailed:
            raise session.Failed("the tests cannot be collected")
        import mutant_switch as switch

        self.switch, at_import = switch, set(switch.reached)
        self.fork(session, -1, session.items, None)
        clean = json.loads(self.out.read_text())
        if clean["failed"]:
            # Quiet as it is, pytest does not say why a session failed.
            print("these tests fail without any change:", *clean["failed"], sep="\n  ", flush=True)
            raise session.Failed("tests fail without any change")
        killed = Counter()
        for number, (path, label) in enumerate(self.labels):
            items = self.chosen(session.items, number, clean)
            limit_s = START_S + SLOWER * sum(clean["seconds"][item.nodeid] for item in items)
            run = self.fresh if number in at_import else self.fork
            verdict = run(session, number, items, limit_s)
            killed[path] += verdict != "SURVIVED"
            print(f"{verdict:8} {path}:{label}  ({len(items)} tests)", flush=True)
        for path, count in Counter(path for path, _ in self.labels).items():
            print(f"{path}: {killed[path]} of {count} killed", flush=True)
        return True

    def chosen(self, items, number, clean):
        """Return the tests for a mutant, quickest first."""
        names = tuple(f"{name}::" for name, numbers in clean["came_by"].items() if number in numbers)
        seconds = clean["seconds"]
        ordered = sorted(items, key=lambda item: seconds[item.nodeid])
        reached = [item for item in ordered if f"{item.nodeid}::".startswith(names)] if names else ordered
        totals = list(accumulate(seconds[item.nodeid] for item in reached))
        return [item for item, total in zip(reached, totals, strict=True) if total <= self.most_seconds] or reached[:1]

    def fork(self, session, number, items, limit_s):
        """Run the tests in a fork of this process, with a switch on."""
        if child := os.fork():
            ends = time.monotonic() + 10 * limit_s if limit_s else float("inf")
            while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
                if time.monotonic() > ends:
                    os.killpg(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    return "too slow"
                time.sleep(0.02)
            return "too slow" if os.WIFSIGNALED(ended[1]) else "killed" if ended[1] else "SURVIVED"
        os.setsid()
        if limit_s:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s), int(limit_s)))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        self.switch.chosen, os.environ["MUTANT"] = number, str(number)
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed and limit_s:
                break
        if limit_s is None:
            came_by = {name: sorted(numbers) for name, numbers in self.came_by.items()}
            self.out.write_text(json.dumps({"failed": self.failed, "seconds": self.seconds, "came_by": came_by}))
        os._exit(session.testsfailed > 0)

    def fresh(self, _, number, items, limit_s):
        """Run the tests in a new process, with a switch on while the module is imported."""
        command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *(item.nodeid for item in items)]
        try:
            environment = os.environ | {"MUTANT": str(number)}
            done = subprocess.run(command, env=environment, timeout=10 * limit_s, capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            return "too slow"
        return "killed" if done.returncode else "SURVIVED"

    @contextmanager
    def noted(self, name):
        """Note which switches are come by."""
        before, self.switch.reached = self.switch.reached, self.came_by[name]
        yield
        self.switch.reached = before

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        began = time.process_time()
        with self.noted(item.nodeid):
            yield
        self.seconds[item.nodeid] = time.process_time() - began

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """What a shared fixture comes by counts for every test that it is shared by."""
        with self.noted(request.node.nodeid if fixturedef.scope != "function" else request._pyfuncitem.nodeid):
            yield

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid)


def known_module(name):
    """Return the name of a module of the package; of another one the error names the nearest."""
    package = ROOT / "src" / "kdrbench"
    paths = [path for path in sorted(package.rglob("*.py")) if path.name != "__init__.py"]
    names = [".".join(("kdrbench", *path.relative_to(package).with_suffix("").parts)) for path in paths]
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "name one as it is imported, as kdrbench.solvers.escape"
    raise argparse.ArgumentTypeError(f"there is no module {name}; {hint}")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", type=known_module, help="names of the modules, as they are imported")
    parser.add_argument("--count", type=int, default=20, help="mutants to be drawn of each")
    parser.add_argument("--seed", type=int, default=0, help="seed that they are drawn with")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="what the tests of a mutant may last")
    parser.add_argument("--tests", nargs="+", help="folders or files of tests; else those of the modules' folders")
    return parser.parse_args()


def main(chosen):
    labels, tests = [], []
    with tempfile.TemporaryDirectory() as temporary:
        package = Path(temporary)
        shutil.copytree(ROOT / "src" / "kdrbench", package / "kdrbench", ignore=shutil.ignore_patterns("__pycache__"))
        (package / "mutant_switch.py").write_text(SWITCH)
        for module in chosen.modules:
            path = Path(*module.split(".")).with_suffix(".py")
            folder = path.parts[1].removesuffix(".py")
            tests += [f"tests/{folder}", *FURTHER.get(folder, [])]
            source = (package / path).read_text()
            tree = ast.parse(source)
            n_places, mutants = drawn(tree, chosen.count, chosen.seed)
            print(f"{path}: {len(mutants)} of {n_places} places, seed {chosen.seed}", flush=True)
            lines = source.splitlines()
            switched = Switched(mutants, len(labels))
            for node, text in mutants:
                line = lines[node.lineno - 1].strip()
                labels.append((path, f"{node.lineno}: {line}  |  {ast.unparse(node)} -> {text}"))
            (package / path).write_text(ast.unparse(ast.fix_missing_locations(switched.visit(tree))))
        os.environ |= {"PYTHONPATH": temporary, "OMP_NUM_THREADS": "1"}
        sys.path.insert(0, temporary)
        os.chdir(ROOT)
        quick = ["-s", "-qq", "--no-header", "--tb=no", "-p", "no:cacheprovider", *dict.fromkeys(chosen.tests or tests)]
        return pytest.main(quick, plugins=[Mutants(labels, chosen.seconds, package / "clean.json")])


if __name__ == "__main__":
    sys.exit(main(options()))
