"""The form of the workflow's rules: short, complete, and without code of their own."""

import re
from pathlib import Path

import pytest

from kdrbench.reports.captions import page_caption

ROOT = Path(__file__).parents[1]
SOURCES = [ROOT / "Snakefile", *sorted((ROOT / "rules").glob("*.smk"))]
MOST_LINES = 25


def rules():
    """Yield the name and the text of every rule, without blank lines after it."""
    for path in SOURCES:
        # Rules of targets have no name of their own.
        for block in re.split(r"(?m)^(?=rule )", path.read_text(encoding="utf-8"))[1:]:
            text = re.match(r"rule .*\n(?:(?:[ ]+.*)?\n)*", block)[0].rstrip()
            yield pytest.param(text, id=re.match(r"rule (\w+)", text)[1])


RULES = list(rules())


def sections(text):
    return set(re.findall(r"(?m)^    (\w+):", text))


def test_all_rules_are_found():
    assert len(RULES) == sum(path.read_text(encoding="utf-8").count("\nrule ") for path in SOURCES) + sum(
        path.read_text(encoding="utf-8").startswith("rule ") for path in SOURCES
    )
    assert len(RULES) <= 30
    assert {"run_batch", "merge", "dashboard", "all"} <= {parameter.id for parameter in RULES}


@pytest.mark.parametrize("text", RULES)
def test_rules_are_short_and_what_runs_says_where_how_wide_how_long_and_in_what(text):
    assert len(text.splitlines()) <= MOST_LINES
    assert not sections(text) & {"run", "script", "notebook"}
    if "shell" in sections(text):
        assert {"log", "threads", "resources", "conda"} <= sections(text)
        assert "runtime=" in text


def test_every_figure_and_page_is_in_the_report_with_a_caption():
    texts = [parameter.values[0] for parameter in RULES]
    captioned = 0
    for text in texts:
        output = re.search(r"(?ms)^    output:\n(.*?)(?=^    \w|\Z)", text)
        if output is None or "shell" not in sections(text):
            continue
        for line in output[1].splitlines():
            assert "report(" in line or not re.search(r'\.(png|html)"', line) or "results/" in line
        if "report(" in output[1]:
            captioned += 1
            assert "**captions." in output[1]
            # The caption file prints this parameter.
            assert re.search(r"(?m)^        caption=.*captions\.\w+_text\(", text)
    assert captioned >= 5
    caption = page_caption("claims")["caption"]
    assert "snakemake.params.caption" in Path(caption).read_text(encoding="utf-8")
