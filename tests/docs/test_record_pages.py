"""The documentation's pages on what was found are those that the packed record makes."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from kdrbench.cli import main

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
