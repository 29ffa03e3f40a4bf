"""What the pages quote is what happens."""

import doctest
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from click import Context
from click.testing import CliRunner
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from kdrbench import estimators
from kdrbench.bench.record import column_types
from kdrbench.cli import main
from kdrbench.commands.options import read_configs
from kdrbench.errors import ConfigError
from kdrbench.lowrank import squared_distances
from kdrbench.reports.outputs import COMPLEXITY, LOW_RANK_TEXT, PAIRED_TESTS, outputs, report_folder
from kdrbench.reports.targets import targets
from kdrbench.stages.config import checked, load_grid
from kdrbench.stages.registry import STAGES, build_stage
from support.configs import whole_config

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def errors():
    """Yield language, code and message of each entry of the page that quotes both, by its heading."""
    for section in (ROOT / "docs" / "errors.md").read_text().split("\n## ")[1:]:
        blocks = BLOCK.findall(section)
        # What a disk or another user causes has no code.
        if len(blocks) != 1 and blocks:
            (language, code), (_, message) = blocks
            yield pytest.param(language, code, message, id=section.splitlines()[0])


def raised(code):
    X, y = load_wine(return_X_y=True)
    names = {**vars(estimators), "np": np, "squared_distances": squared_distances}
    # Warnings are errors in all tests.
    with pytest.raises((ValueError, Warning)) as caught:
        exec(code, {**names, "X": StandardScaler().fit_transform(X), "y": y})
    return str(caught.value)


def refused(overlay):
    config = whole_config()
    for key, value in yaml.safe_load(overlay).items():
        config[key] = {**config[key], **value} if isinstance(value, dict) else value
    with pytest.raises(ConfigError) as caught:
        checked(config)
    return str(caught.value)


@pytest.mark.parametrize(("language", "code", "message"), [*errors()])
def test_quoted_errors_are_those_that_come(language, code, message, tmp_path, monkeypatch):
    if language == "console":
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("KDRBENCH_MIRROR", str(tmp_path))
        if "which is not installed" in message:
            monkeypatch.setitem(sys.modules, "pandas", None)
            monkeypatch.setattr("kdrbench.cli._COMMANDS", {"where": "pandas"})
        result = CliRunner().invoke(main, code.removeprefix("$ kdrbench ").split())
        assert result.exit_code == 2
        actual = result.stderr
    else:
        actual = {"python": raised, "yaml": refused}[language](code)
    pattern = re.escape(" ".join(message.split())).replace(r"\.\.\.", ".*")
    assert re.fullmatch(pattern, " ".join(actual.split())), actual


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_sessions_on_the_pages_give_what_they_show(page):
    text = page.read_text()
    session = "\n".join(block for language, block in BLOCK.findall(text) if language == "python" and ">>>" in block)
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    assert len(test.examples) == text.count("\n>>> ")
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", ROOT / "docs" / "quick_start.md"],
    ids=lambda path: path.name,
)
def test_the_runs_of_the_demo_are_counted(page):
    demo = load_grid(read_configs((ROOT / "config.yaml", ROOT / "config.demo.yaml")))
    n_runs = sum(len(batch.runs) for batch in demo.batches())
    assert re.findall(r"(\d+) runs", page.read_text()) == [str(n_runs)]


def test_every_page_is_in_the_contents():
    contents = (ROOT / "docs" / "index.md").read_text().splitlines()
    missing = [page.stem for page in PAGES[1:] if page.stem != "index" and page.stem not in contents]
    assert not missing, f"add to a toctree of docs/index.md: {missing}"


def shell_lines(page):
    """Return the commands of a page: lines of indented or console blocks, without prompt and comment."""
    lines = [line.strip().removeprefix("$ ") for line in page.read_text().splitlines() if re.match(r"    \S|\$ ", line)]
    return [line.partition("  #")[0] for line in lines]


def targets_of(page):
    """Yield what the Snakemake commands of a page ask for by name, with the configuration that they are given."""
    for line in shell_lines(page):
        words = line.split()
        if "snakemake" not in words or "--report" in words:
            continue
        options, names, option = {"--cores": [], "--configfile": [], "--profile": []}, [], None
        for word in words[words.index("snakemake") + 1 :]:
            if word.startswith("-"):
                option = word
            elif option == "--configfile" or (option in options and not options[option]):
                # Snakemake takes all words after it as configurations.
                options[option].append(word)
            else:
                names.append(word)
        assert all(name.endswith(".yaml") for name in options["--configfile"]), line
        yield from ((name, next(iter(options["--configfile"]), None)) for name in names)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_targets_on_the_pages_exist(page):
    demo = read_configs((ROOT / "config.yaml", ROOT / "config.demo.yaml"))
    known = {None: whole_config(), "config.demo.yaml": demo | {"name": "demo"}}
    for name, overlay in targets_of(page):
        if overlay in known:
            used = known[overlay]
            files = [*outputs(used), f"{report_folder(used)}/dashboard.html"]
            assert name in targets(used) or name in files or name.startswith("results/runs/"), name


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_commands_on_the_pages_exist(page):
    known = main.list_commands(Context(main))
    asked = re.findall(r"`kdrbench ([a-z][\w-]*)", page.read_text())
    asked += [words[1] for words in map(str.split, shell_lines(page)) if words[0] == "kdrbench"]
    assert set(asked) <= set(known), page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_files_of_the_project_on_the_pages_exist(page):
    named = re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|toml|smk|yaml|txt|csv|json)|[\w./-]+/)`", page.read_text())
    # Places of results, of the user's own files, and below a package that the sentence names.
    others = ("path/", "results/", "reports/", "logs/", ".workspace/", "parsers/", "iris/", "gyrb/")
    ours = [name for name in named if not name.startswith(others)]
    roots = (ROOT, ROOT / "src" / "kdrbench")
    missing = [name for name in ours if not any((root / name).exists() for root in roots)]
    assert not missing, f"{page.name} names {missing}"


def test_the_page_of_results_names_every_column():
    text = (ROOT / "docs" / "results.md").read_text()
    named = set(re.findall(r"`([a-z*_]\w*[*]?|\*\w+)`", text.partition("## Columns")[2]))
    patterns = re.compile("|".join(name.replace("*", r"\w+") for name in named))
    columns = {column for system in STAGES for column in column_types(build_stage(system).record)}
    missing = sorted(column for column in columns if not patterns.fullmatch(column))
    assert not missing, f"add to the table of columns in docs/results.md: {missing}"


def test_the_page_of_results_names_every_report_and_every_kind_of_result():
    text = (ROOT / "docs" / "results.md").read_text()
    for name in (PAIRED_TESTS, COMPLEXITY, LOW_RANK_TEXT, "published_vs_ours", "claims", "dashboard", *STAGES):
        assert f"`{name}." in text, name
    rules = "".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
    for kind in ("runs", "traces", "findings", "data"):
        assert f"| `{kind}/" in text
        assert f"results/{kind}/" in rules


def test_the_first_page_leads_with_a_picture_and_three_doors():
    """A reader sees what comes out, and where to go: learn from data, compare a method, or check a paper."""
    title, picture, _, doors, *_ = (ROOT / "docs" / "index.md").read_text().split("\n\n")
    assert title == "# kdrbench"
    assert (ROOT / "docs" / re.fullmatch(r"!\[.+\]\((pictures/.+)\)", picture)[1]).is_file()
    head, _, links, *_ = doors.splitlines()
    assert len(head.strip("|").split("|")) == 3
    pages = re.findall(r"\*\*\[[^]]+\]\(([a-z_]+\.md)\)\*\*", links)
    assert len(set(pages)) == 3
    assert all((ROOT / "docs" / page).is_file() for page in pages)
