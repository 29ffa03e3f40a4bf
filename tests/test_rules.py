"""The form of the workflow's rules: short, complete, and without code of their own."""

import re
from functools import cache
from pathlib import Path

from kdrbench.reports.captions import page_caption

ROOT = Path(__file__).parents[1]
SOURCES = [ROOT / "Snakefile", *sorted((ROOT / "rules").glob("*.smk"))]
MOST_LINES = 25


@cache
def rules():
    """Return the text of every rule by its name, without blank lines after it."""
    found = {}
    for path in SOURCES:
        # Rules of targets have no name of their own.
        for block in re.split(r"(?m)^(?=rule )", path.read_text(encoding="utf-8"))[1:]:
            text = re.match(r"rule .*\n(?:(?:[ ]+.*)?\n)*", block)[0].rstrip()
            found[re.match(r"rule (\w+)", text)[1]] = text
    return found


def sections(text):
    return set(re.findall(r"(?m)^    (\w+):", text))


def test_all_rules_are_found():
    assert len(rules()) == sum(f"\n{path.read_text()}".count("\nrule ") for path in SOURCES) <= 30
    assert {"run_batch", "merge", "dashboard", "all"} <= set(rules())


def test_rules_are_short_and_complete():
    for text in rules().values():
        assert len(text.splitlines()) <= MOST_LINES
        assert not sections(text) & {"run", "script", "notebook"}
        if "shell" in sections(text):
            assert {"log", "threads", "resources", "conda"} <= sections(text)
            assert "runtime=" in text


def test_every_figure_and_page_is_in_the_report_with_a_caption():
    captioned = 0
    for text in rules().values():
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
