"""Draw the pictures of the tutorials: run their Python blocks, and fill in what these print.

Without ``--fill`` no page is changed: tests/docs runs the same blocks and compares.
"""

import io
import re
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

import matplotlib

DOCS = Path(__file__).parent
CELL = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


def run(page: Path, folder: Path, fill: bool) -> None:
    """Run a page's blocks in a folder, where they save their pictures."""
    names: dict[str, object] = {}

    def printed(cell: re.Match[str]) -> str:
        with chdir(folder), redirect_stdout(io.StringIO()) as said:
            exec(compile(cell[1], page.name, "exec"), names)  # noqa: S102 - our own pages
        return f"```python\n{cell[1]}```\n" + (f"\n```text\n{said.getvalue()}```\n" if said.getvalue() else "")

    text = CELL.sub(printed, page.read_text(encoding="utf-8"))
    if fill:
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    matplotlib.use("Agg")
    matplotlib.rcParams["savefig.dpi"] = 100
    for page in sorted(DOCS.glob("tutorial_*.md")):
        run(page, DOCS / "pictures", fill="--fill" in sys.argv)
