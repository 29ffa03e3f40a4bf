"""What the pages quote is what happens."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from configs import whole_config
from kdrbench import estimators
from kdrbench.bench.config import check_config
from kdrbench.cli import main
from kdrbench.errors import ConfigError
from kdrbench.lowrank import squared_distances

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def errors():
    """Yield heading, language, what is done and what is said, for each entry of the page that quotes a message."""
    for section in (ROOT / "docs" / "errors.md").read_text().split("\n## ")[1:]:
        blocks = BLOCK.findall(section)
        if blocks:
            (language, done), (_, said) = blocks
            yield pytest.param(language, done, said, id=section.splitlines()[0])


def raised(done):
    X, y = load_wine(return_X_y=True)
    names = {**vars(estimators), "np": np, "squared_distances": squared_distances}
    # Warnings are errors in all tests.
    with pytest.raises((ValueError, Warning)) as caught:
        exec(done, {**names, "X": StandardScaler().fit_transform(X), "y": y})
    return str(caught.value)


def refused(overlay):
    config = whole_config()
    for key, value in yaml.safe_load(overlay).items():
        config[key] = {**config[key], **value} if isinstance(value, dict) else value
    with pytest.raises(ConfigError) as caught:
        check_config(config)
    return str(caught.value)


@pytest.mark.parametrize(("language", "done", "said"), [*errors()])
def test_quoted_errors_are_those_that_come(language, done, said, tmp_path, monkeypatch):
    if language == "console":
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("KDRBENCH_MIRROR", str(tmp_path))
        if "which is not installed" in said:
            monkeypatch.setattr("kdrbench.cli._ELSEWHERE", {"where": "a_package_that_nobody_has.commands"})
        result = CliRunner().invoke(main, done.removeprefix("$ kdrbench ").split())
        assert result.exit_code == 2
        come = result.stderr
    else:
        come = {"python": raised, "yaml": refused}[language](done)
    pattern = re.escape(" ".join(said.split())).replace(r"\.\.\.", ".*")
    assert re.fullmatch(pattern, " ".join(come.split())), come


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_sessions_on_the_pages_give_what_they_show(page):
    text = page.read_text()
    session = "\n".join(block for language, block in BLOCK.findall(text) if language == "python" and ">>>" in block)
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    assert len(test.examples) == text.count("\n>>> ")
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_code_on_the_pages_is_python(page):
    for language, block in BLOCK.findall(page.read_text()):
        if language == "python" and ">>>" not in block:
            compile(block, page.name, "exec")


def test_every_page_stands_in_the_contents():
    contents = (ROOT / "docs" / "index.md").read_text().splitlines()
    missing = [page.stem for page in PAGES[1:] if page.stem != "index" and page.stem not in contents]
    assert not missing, f"add to a toctree of docs/index.md: {missing}"


def test_links_between_pages_lead_somewhere():
    made = {"gallery"}
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if target.split("/")[0] not in made:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
