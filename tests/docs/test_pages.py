"""Quoted errors and sessions are what happens."""

import doctest
import re
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from kdrbench import estimators
from kdrbench.errors import ConfigError
from kdrbench.lowrank import squared_distances
from kdrbench.suite.cli import main
from kdrbench.suite.experiments.config import checked
from support.configs import whole_config

pytestmark = pytest.mark.whole

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
    names = {name: getattr(estimators, name) for name in estimators.__all__}
    names |= {"np": np, "squared_distances": squared_distances}
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
            lacking = ModuleNotFoundError("No module named 'pandas'", name="pandas")
            monkeypatch.setattr("kdrbench.suite.cli.import_module", Mock(side_effect=lacking))
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
