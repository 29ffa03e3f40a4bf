"""The documentation's pages on what was found are those that the packed record makes."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from kdrbench.cli import main
from kdrbench.reports.summary.print import page_in_latex

ROOT = Path(__file__).parents[2]
RECORD, PAGES = ROOT / "results/reference", sorted((ROOT / "docs/record").glob("*.md"))


@pytest.mark.skipif(not (RECORD / "manifest.json").is_file(), reason="there is no packed record yet")
def test_every_page_is_what_the_record_says(tmp_path):
    made = CliRunner().invoke(
        main, ["summary", "--results", str(RECORD), "--reports", "reports", "--out", str(tmp_path)]
    )
    assert made.exit_code == 0, made.output
    assert [path.name for path in sorted(tmp_path.glob("*.md"))] == [path.name for path in PAGES]
    for page in PAGES:
        assert page.read_text(encoding="utf-8") == (tmp_path / page.name).read_text(encoding="utf-8"), page.name


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_what_was_found_has_two_pages_in_print(tmp_path):
    page = page_in_latex((ROOT / "docs/record/what_we_found.md").read_text(encoding="utf-8"))
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    # The log breaks lines where it likes.
    assert re.findall(r"page\.pdf\((\d+)pages?,", re.sub(r"\s", "", said)) == ["2"]
