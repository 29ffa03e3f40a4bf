"""Check the pages of the documentation: words, links, and the names of commands, targets and files.

    python docs/lint.py

Each finding is printed as ``file:line: message``; with any the exit code is 1.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kdrbench.suite.cli import main as program
from kdrbench.suite.commands.options import read_configs
from kdrbench.suite.engine.record import column_types
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.reports.outputs import outputs, report_folder, targets
from kdrbench.suite.systems.registry import SYSTEMS, build_system

Findings = Iterator[tuple[int, str]]
ROOT = Path(__file__).resolve().parents[1]
MOST_WORDS = 30
PRIVATE = re.compile(
    r"\b(stands|told|reckon\w*|mend(?:s|ed|ing)?|anew|so\s+many|nobody|whole\s+of|thrice|of\s+its\s+own\s+doing)\b",
    re.I,
)
ACTIONS = {"actions/checkout@v4", "actions/setup-python@v5", "actions/upload-artifact@v4"}
# Placeholders, places of results, and files below a package that the sentence names.
NOT_OURS = ("path/", "results/", "reports/", "logs/", ".workspace/", "parsers/", "iris/", "gyrb/", "gallery/")
NOT_OURS += ("submission-my_solver/", "submissions/")
_FENCE = re.compile(r"^( *)(`{3,}|~{3,}|:{3,}).*?^\1\2\s*$|^\$\$.*?^\$\$\s*$", re.M | re.S)
# A line that is neither empty nor code, a table, a heading, a picture, a comment or a reference.
_PROSE = r"(?! {4}|\s*(?:[|#]|!\[|\(?<!--|\[\^?\w+\]:|$)).+\n?"
_PARAGRAPH = re.compile(rf"^{_PROSE}(?:^(?!\s*(?:[-*+]|\d+\.)\s){_PROSE})*", re.M)
_ABBREVIATION = re.compile(r"\b(Eqs?|Figs?|Sec|al|vs|e\.g|i\.e|No|p|pp|cf|St)\.(?=\s)")
_STOP = re.compile(r"(?<=[.!?])[)\"'*_]*\s+(?=[\"'(*_]*[A-Z0-9`])")
# The command beside which numbers may be typed.
_COMMAND = re.compile(r"`[^`]*\b(?:benchmarks/\w+\.py|make \w+)[^`]*`")


def line_of(text: str, place: int) -> int:
    """Return the number of the line of a place in a text."""
    return text.count("\n", 0, place) + 1


def without_code(text: str) -> str:
    """Return a page with its blocks of code and formulas as empty lines."""
    return _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)


def sentences(text: str) -> Findings:
    """Yield line and words of each sentence outside code, tables, headings and formulas."""
    outside = without_code(text)
    for found in _PARAGRAPH.finditer(outside):
        paragraph = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", found[0])
        # A formula or a piece of code is one word, and a link its text.
        paragraph = re.sub(r"\{[\w:]+\}`[^`]*`|(?s:(`+).+?\1)|\$[^$]+\$", "Code", paragraph)
        paragraph = re.sub(r"\*\*|__", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph))
        parts = _STOP.split(_ABBREVIATION.sub(r"\1", paragraph))
        yield from ((line_of(outside, found.start()), " ".join(one.split())) for one in parts)


def private_words(text: str) -> Findings:
    """Find words that are used in a sense of our own."""
    yield from ((line_of(text, found.start()), f"private word {found[0]!r}") for found in PRIVATE.finditer(text))


def long_sentences(text: str) -> Findings:
    """Find sentences of more than ``MOST_WORDS`` words."""
    for line, sentence in sentences(text):
        if (count := sum(bool(re.search(r"\w", word)) for word in sentence.split())) > MOST_WORDS:
            yield line, f"{count} words in a sentence, at most {MOST_WORDS}: {sentence[:60]}"


def links(path: Path, text: str) -> Findings:
    """Find relative links and images that lead nowhere."""
    outside = without_code(text)
    for found in re.finditer(r"\]\(<?([^)#>\s]+)|<img[^>]*\bsrc=\"([^\"]+)\"", outside):
        target = found[1] or found[2]
        # The gallery, and the reports of a record, are made with the pages.
        made = target.startswith("gallery/") or (path.parent.name == "record" and target.startswith("reports/"))
        if not made and not re.match(r"\w+:", target) and not (path.parent / target).exists():
            yield line_of(outside, found.start()), f"there is no {target} to link to"


def names(text: str) -> Findings:
    """Find commands of kdrbench, targets of make and Snakemake, and files that do not exist."""
    # Commands in consoles, indented, and in backticks.
    for found in re.finditer(r"^(?:    |\$ )(?=\S)(.*)$|`((?:kdrbench|make) [^`\n]*)`", text, re.M):
        command = (found[1] or found[2]).partition("  #")[0].removeprefix("$ ")
        yield from ((line_of(text, found.start()), message) for message in unknown(command.split()))
    for found in re.finditer(r"`([\w./-]+/[\w.-]+\.(?:py|toml|smk|yaml|txt|csv|json)|[\w./-]+/)`", text):
        places = (ROOT / found[1], ROOT / "src" / "kdrbench" / found[1])
        if not found[1].startswith(NOT_OURS) and not any(place.exists() for place in places):
            yield line_of(text, found.start()), f"there is no file {found[1]}"


def unknown(words: list[str]) -> Iterator[str]:
    """Yield what a command of kdrbench, make or Snakemake names and does not exist."""
    name, rest = words[0].removeprefix(".venv/bin/"), words[1:]
    if name == "kdrbench" and rest and re.match(r"[a-z]", rest[0]):
        command = program.get_command(click.Context(program), rest[0].rstrip(",.;"))
        options = {option for one in command.params for option in one.opts} if command else set()
        if command is None:
            yield f"there is no command kdrbench {rest[0]}"
        elif not isinstance(command, click.Group):
            asked = {word.partition("=")[0] for word in rest if re.match(r"--\w", word)}
            yield from (f"kdrbench {rest[0]} has no {option}" for option in sorted(asked - options - {"--help"}))
    elif name == "make":
        asked = [word for word in rest if re.fullmatch(r"[a-z][\w-]*", word)]
        makefile = (ROOT / "Makefile").read_text()
        yield from (f"there is no target make {one}" for one in asked if not re.search(rf"^{one}:", makefile, re.M))
    elif name == "snakemake" and "--report" not in words:
        asked = re.sub(
            r"--(cores|profile) \S+|--(configfile|config|quiet)(?= |$)( [^-]\S*)*|-\S+", "", " ".join(rest)
        ).split()
        is_ours = not re.search(r"(?<!config.demo)\.yaml", " ".join(rest))
        wrong = [one for one in asked if is_ours and one not in known_targets() and not one.startswith("results/runs/")]
        yield from (f"Snakemake has no target {one}" for one in wrong)


@cache
def config(*names: str) -> dict:
    """Return the configuration with others laid over it."""
    return read_configs(tuple(ROOT / name for name in ("config.yaml", *names)))


@cache
def known_targets() -> set[str]:
    """Return the targets of the whole configuration and of the demo."""
    configs = [config(), config("config.demo.yaml") | {"name": "demo"}]
    own = (f"{report_folder(one)}/dashboard.html" for one in configs)
    return {target for one in configs for target in (*targets(one), *outputs(one))} | set(own)


@cache
def n_runs_of_demo() -> str:
    """Return the number of runs of the demo as the pages write it."""
    return f"{sum(len(batch.runs) for batch in load_grid(config('config.demo.yaml')).batches()):,}"


def demo_runs(text: str) -> Findings:
    """Find counts of the demo's runs that are not those that are planned."""
    for part in re.finditer(r"(?:.+\n?)+?(?=\n|- |\Z)", text):
        counts = re.findall(r"([\d,]+) runs\b", part[0]) if re.search(r"\bdemo\b", part[0]) else []
        wrong = [one for one in counts if one != n_runs_of_demo()]
        yield from ((line_of(text, part.start()), f"the demo has {n_runs_of_demo()} runs, not {one}") for one in wrong)


def typed_tables(text: str) -> Findings:
    """Find tables of results of the papers' experiments that are neither generated nor name their command."""
    experiments = "|".join(config("config.papers.yaml")["run"])
    of_papers = re.compile(rf"\bprinted\b|\bas published\b|`(?:{experiments})`")
    for section in re.finditer(r"(?:^#+ |\A).*?(?=^#+ |\Z)", text, re.M | re.S):
        if of_papers.search(section[0]) and not _COMMAND.search(section[0]):
            for row in re.finditer(r"^\|.*\|\s*\(?[-+<>]?\s*\d*\.\d+.*$", section[0], re.M):
                yield line_of(text, section.start() + row.start()), "typed result: generate it, or name its command"


def contents() -> Iterator[tuple[Path, int, str]]:
    """Find pages that no table of contents names, and columns that docs/results.md lacks."""
    docs = ROOT / "docs"
    listed = (docs / "index.md").read_text().splitlines()
    lost = [path for path in sorted(docs.glob("*.md")) if path.stem != "index" and path.stem not in listed]
    yield from ((path, 1, "add it to a toctree of docs/index.md") for path in lost)
    text = (docs / "results.md").read_text().partition("## Columns")[2]
    named = re.compile("|".join(re.findall(r"`([a-z*_]\w*[*]?|\*\w+)`", text)).replace("*", r"\w+"))
    columns = {column for system in SYSTEMS for column in column_types(build_system(system).record)}
    yield from ((docs / "results.md", 1, f"column {one}") for one in sorted(columns) if not named.fullmatch(one))


def packages() -> Iterator[tuple[Path, int, str]]:
    """Find counts of packages in docs/dependencies.md that are not those of the locks."""
    page = ROOT / "docs" / "dependencies.md"
    linux = default_environment() | {"sys_platform": "linux", "platform_system": "Linux", "python_version": "3.11"}
    for command, lock in (("make demo", "requirements.lock"), ("make test", "requirements-dev.lock")):
        lines = re.findall(r"^([a-z0-9][^\\\n]*)", (ROOT / "envs" / lock).read_text(), re.M)
        needed = [one for one in map(Requirement, lines) if not one.marker or one.marker.evaluate(linux)]
        # The package itself is installed as well.
        count = len({canonicalize_name(one.name) for one in needed}) + 1
        if f"| `{command}` | {count} |" not in page.read_text():
            yield page, 1, f"`{command}` installs {count} packages"


def workflows() -> Iterator[tuple[Path, int, str]]:
    """Find commands, files and actions of the hosted workflows that do not exist."""
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        jobs = yaml.safe_load(path.read_text())["jobs"].values()
        for step in (step for job in jobs for step in job["steps"]):
            if (action := step.get("uses", "")) and action not in ACTIONS:
                yield path, 1, f"action {action}"
            run = re.sub(r"\$\{\{.*?\}\}", "value", step.get("run", ""))
            for command in filter(str.strip, re.split(r" && |\n", run)):
                yield from ((path, 1, message) for message in unknown(command.split()))
            yield from ((path, 1, one) for one in re.findall(r"\.ci/\w+", run) if not (ROOT / one).is_file())


def of_page(path: Path, text: str) -> Findings:
    """Find the faults of one page."""
    yield from private_words(text)
    yield from links(path, text)
    # Sentences of tables and claims are made with the record.
    yield from long_sentences(text) if path.parent.name != "record" else ()
    # Past versions named commands and files that are gone.
    if (path.parent == ROOT / "docs" and path.stem != "history") or path == ROOT / "README.md":
        yield from names(text)
        yield from demo_runs(text)
        yield from typed_tables(text)


def everything() -> Iterator[tuple[Path, int, str]]:
    """Find the faults of all pages, of the words of the sources, and of the workflows."""
    apart = {"_build", "_reports", "gallery"}
    pages = [path for path in (ROOT / "docs").rglob("*.md") if not apart & set(path.parts)]
    for path in sorted([*pages, ROOT / "README.md", *(ROOT / ".github").rglob("*.md")]):
        yield from ((path, *one) for one in of_page(path, path.read_text()))
    code = [
        path for path in (ROOT / "src").rglob("*") if path.suffix in {".py", ".txt", ".j2", ".toml", ".json", ".js"}
    ]
    for path in sorted([*code, *(ROOT / "docs").glob("ex*/*.py")]):
        yield from ((path, *one) for one in private_words(path.read_text()))
    yield from (*contents(), *packages(), *workflows())


def main() -> None:
    """Print all findings."""
    found = list(everything())
    for path, line, message in found:
        print(f"{path.relative_to(ROOT)}:{line}: {message}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
