"""What counts as a changed checkout in a row's provenance."""

import subprocess

import pytest

from kdrbench.suite.engine.provenance import _git


@pytest.mark.parametrize(
    ("name", "is_change"),
    [("notes.md", False), ("src/kdrbench/run.log", False), ("README.md", True), ("src/kdrbench/another.py", True)],
)
def test_changed_files_and_new_sources_are_a_change(tmp_path, name, is_change):
    # A checkout with a committed module and page.
    for committed in ("src/kdrbench/module.py", "README.md", ".gitignore"):
        (tmp_path / committed).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / committed).write_text("*.log\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "-m", "First"]):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    (tmp_path / name).write_text("changed")
    found = _git(tmp_path)
    assert found["git_dirty"] is is_change
    assert len(found["git_commit"]) == 40
