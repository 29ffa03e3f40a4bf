"""Every block of code on the pages is run: commands, Python, and files of configuration.

A comment before a block says how the tests take it, and why:

    <!-- not run: why -->           the block is skipped, with this reason
    <!-- dry run: why -->           make says what it would do; targets of Snakemake are looked up
    <!-- before: command; ... -->   commands that a reader has given already
    <!-- folder: name -->           where the commands are given: by default in the checkout

A block that begins with ``# path`` is a file, which is written. Lines after a ``$ command`` are what it prints, and so
is the text after a block of Python. There ``...`` is any text, in a line or, alone in a line, any lines.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import yaml

from kdrbench.errors import ConfigError
from kdrbench.suite.experiments.config import check_part
from support.checkout import ROOT, checkout_at, write_table
from support.forks import forked

pytestmark = pytest.mark.whole

_BLOCK = re.compile(r"((?:^<!-- [^\n]* -->\n)*)^( *)```(\w+)\n(.*?)^\2```$", re.M | re.S)
_MARK = re.compile(r"^<!-- (not run|dry run|before|folder): (.*) -->$", re.M)
_FILE = re.compile(r"# ([\w./-]+\.\w+|[\w/]*Snakefile)\b")


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, its text, the line where it begins, and its marks."""

    language: str
    text: str
    line: int
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def file(self):
        """Return the path of the file that this block is, or ``None``."""
        found = _FILE.match(self.text)
        return found and found[1]

    def commands(self):
        """Yield the commands of a console block, without comments, and what is shown of their output."""
        for part in re.split(r"^\$ ", self.text, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            yield re.split(r"\s+#(?:\s|$)", command)[0].strip(), shown


def blocks(text):
    """Return the blocks of a page, in order."""
    return [
        Block(found[3], found[4], text.count("\n", 0, found.start(3)) + 1, dict(_MARK.findall(found[1])))
        for found in _BLOCK.finditer(text)
    ]


def is_like(shown, printed):
    """Return whether what a page shows was printed, but for spaces at the ends of lines."""
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
    patterns = [r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n" for line in lines]
    said = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch("".join(patterns), said) is not None


PAGES = [*(ROOT / name for name in ("README.md", ".github/CONTRIBUTING.md"))]
PAGES += [path for path in sorted((ROOT / "docs").glob("*.md")) if blocks(path.read_text())]
# Programs whose commands are run as they are; others are skipped by a mark.
SHELL = ("mkdir", "cat", "ls", "eval")


def blocks_of(page):
    """Return the blocks of a page that are run here: sessions and quoted errors are in test_pages.py."""
    text = page.read_text()
    if page.name == "errors.md":
        sections = re.split(r"^(?=## )", text, flags=re.M)
        return [block for part in sections for block in blocks(part) if len(blocks(part)) == 1]
    return [block for block in blocks(text) if ">>>" not in block.text]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """What a user has: an environment that is active, and an empty home folder."""
    home = tmp_path_factory.mktemp("home")
    # Cores are shared with those that use the same folder for temporary files.
    own = {
        "HOME": str(home),
        "TMPDIR": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    own |= {"PYTHONPATH": f"{ROOT / 'src'}", "KDRBENCH_MIRROR": "", "MAKEFLAGS": ""}
    return {name: value for name, value in os.environ.items() if not name.startswith("XDG_")} | own


@pytest.fixture(scope="module")
def worked_in(tmp_path_factory, environment):
    """A checkout in which a few runs of the papers' and of the demo's experiments were made."""
    checkout = checkout_at(tmp_path_factory.mktemp("checkout") / "kdrbench")
    write_table(checkout / "my_data.csv")
    few = {"datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["ism", "dg"], "baselines": [], "folds": 2}
    experiments = {name: few for name in ("table4_supervised", "demo_supervised")}
    small = {"run": list(experiments), "name": "demo", "timing": {"repeat_for_s": 0.01}, "experiments": experiments}
    overlay = checkout.parent / "small.yaml"
    overlay.write_text(yaml.safe_dump(small))
    words = ["snakemake", "--cores", "2", "--until", "merge", "--configfile", "config.demo.yaml", overlay]
    done = forked(words, checkout, environment)
    assert done.returncode == 0, done.stderr
    for name in experiments:
        words = ["kdrbench", "merge", "results/demo/config.json", name, "--out", f"results/demo/merged/{name}.csv"]
        assert forked(words, checkout, environment).returncode == 0
    # The papers' own tables are without a name.
    for name in ("config.json", "ikdr.csv"):
        shutil.copy(checkout / "results" / "demo" / name, checkout / "results" / name)
    return checkout


@pytest.fixture
def reader(worked_in, environment, tmp_path, monkeypatch):
    checkout = tmp_path / "kdrbench"
    shutil.copytree(worked_in, checkout, symlinks=True)
    return Reader(checkout, environment, monkeypatch)


class Reader:
    """Somebody who does what a page says, from its beginning to its end."""

    def __init__(self, checkout, environment, monkeypatch):
        self.checkout, self.folder, self.environment = checkout, checkout, environment
        self.names, self.monkeypatch = {"__name__": "__main__"}, monkeypatch

    def follow(self, page):
        found = blocks_of(page)
        for block, following in zip(found, [*found[1:], Block("", "", 0)], strict=False):
            if "folder" in block.marks:
                place = self.checkout.parent / block.marks["folder"]
                self.folder = place if place.is_dir() else self.checkout.parent
            for command in filter(None, block.marks.get("before", "").split("; ")):
                assert self.give(command).returncode == 0
            if "not run" not in block.marks:
                self.take(block, following.text if following.language == "text" else "", page)

    def take(self, block, shown, page):
        if block.file:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        if block.language == "console":
            for command, output in block.commands():
                done = self.give(command, dry="dry run" in block.marks)
                assert done.returncode == 0, f"{page.name}:{block.line}: {command}\n{done.stdout}{done.stderr}"
                assert not output or is_like(output, done.stdout), f"{command}\n{done.stdout}"
        elif block.language == "yaml" and not block.file:
            check_part(yaml.safe_load(block.text))
        elif block.language == "python":
            printed = self.execute(block.text, page)
            assert not shown or is_like(shown, printed), f"{page.name}:{block.line}: {printed}"
            for number in re.findall(r"^print\(.*\)  # (-?[\d.]+)", block.text, re.M):
                assert number in printed.split(), f"{page.name}:{block.line}: {printed}"

    def execute(self, code, page):
        self.monkeypatch.chdir(self.folder)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(code, page.name, "exec"), self.names)
        plt.close("all")
        return said.getvalue()

    def give(self, command, dry=False):
        """Give a command: programs of ours in forks, which is quick, others by the shell."""
        words = shlex.split(command)
        environment = dict(self.environment)
        while "=" in words[0] and not words[0].startswith("-"):
            name, _, value = words.pop(0).partition("=")
            environment[name] = f"{value}{os.pathsep}{environment.get(name, '')}".rstrip(os.pathsep)
        if words[:2] == [".", ".venv/bin/activate"]:
            return subprocess.CompletedProcess(words, 0, "", "")
        if words[0] == "snakemake" and dry:
            # A dry run of all experiments takes 10 s each; docs/lint.py looks up what is asked for by name.
            return parsed(words)
        if words[0] in ("snakemake", "kdrbench"):
            return forked(words, self.folder, environment)
        if words[0] == "make":
            assert dry, f"{command} takes minutes: mark it as a dry run"
            command = shlex.join(["make", "--dry-run", *words[1:]])
        else:
            assert words[0] in SHELL, f"{command}: mark what cannot be run, with a reason"
        command = ["bash", "-euc", command]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)


def parsed(words):
    """Return how Snakemake's own parser takes the words of a command, without starting it."""
    from snakemake.cli import get_argument_parser

    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            get_argument_parser().parse_args(words[1:])
        except SystemExit as fault:
            return subprocess.CompletedProcess(words, fault.code, "", said.getvalue())
    return subprocess.CompletedProcess(words, 0, "", "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_says_is_what_happens(page, reader):
    reader.follow(page)


def test_a_page_that_says_what_does_not_happen_is_noticed(reader, tmp_path):
    page = tmp_path / "page.md"
    for text in (
        "```console\n$ kdrbench list kernals\n```\n",
        "```console\n$ kdrbench list controls\nnothing\n```\n",
        "```console\n$ rm results\n```\n",
        "```yaml\nlimits: {memory: 3}\n```\n",
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\nprint(1)  # 2, as printed\n```\n",
        "<!-- dry run: long -->\n```console\n$ snakemake -n --quiet rules table4_supervised\n```\n",
        "<!-- dry run: long -->\n```console\n$ make demmo\n```\n",
    ):
        page.write_text(text)
        with pytest.raises((AssertionError, ConfigError)):
            reader.follow(page)
