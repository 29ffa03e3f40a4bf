"""The form of the workflow's rules: short, complete, and without code of their own."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = [ROOT / "Snakefile", *sorted((ROOT / "rules").glob("*.smk"))]
MOST_LINES = 25


def rules():
    """Yield the name and the text of every rule, without blank lines after it."""
    for path in SOURCES:
        # Rules of loops have names of reports and targets.
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
    assert {"run_batch", "merge", "papers", "dashboard", "all"} <= {parameter.id for parameter in RULES}


@pytest.mark.parametrize("text", RULES)
def test_rules_are_short_and_declare_their_resources(text):
    assert len(text.splitlines()) <= MOST_LINES
    assert not sections(text) & {"run", "script", "notebook"}
    if "shell" in sections(text):
        assert {"log", "threads", "resources", "conda"} <= sections(text)
        assert "runtime=" in text


def test_every_page_of_a_rule_is_in_the_report():
    for parameter in RULES:
        output = re.search(r"(?ms)^    output:\n(.*?)(?=^    \w|\Z)", parameter.values[0])
        for line in output[1].splitlines() if output else ():
            assert "report(" in line or not re.search(r'\.(png|html)"', line) or "results/" in line
    # Those of tables and figures are marked for all jobs at once.
    assert "report(path, **flags[path])" in (ROOT / "rules" / "common.smk").read_text(encoding="utf-8")
