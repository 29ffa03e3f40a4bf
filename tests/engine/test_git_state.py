"""What counts as a changed checkout in a row's provenance."""

import subprocess

import pytest

from kdrbench.suite.engine.provenance import _git


@pytest.fixture
def checkout(tmp_path):
    """A checkout with a committed module and page."""
    for name in ("src/kdrbench/module.py", "README.md", ".gitignore"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("*.log\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "-m", "First"]):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "is_change"),
    [("notes.md", False), ("src/kdrbench/run.log", False), ("README.md", True), ("src/kdrbench/another.py", True)],
)
def test_changed_files_and_new_sources_are_a_change(checkout, name, is_change):
    (checkout / name).write_text("changed")
    found = _git(checkout)
    assert found["git_dirty"] is is_change
    assert len(found["git_commit"]) == 40
