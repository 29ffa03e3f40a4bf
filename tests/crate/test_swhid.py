"""Identifiers of sources are git's."""

import subprocess

import pytest

from kdrbench.errors import InputError
from kdrbench.suite.crate.swhid import directory_swhid, revision_swhid


def git(folder, *words):
    own = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
    return subprocess.run(own, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """Files whose names git sorts otherwise than Python, a program, a link, and a file that is not tracked."""
    for name in ("a/b/deep.txt", "a.b", "a-b", "a0", "é.txt", "run.sh"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("a/b")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "all")
    (tmp_path / "untracked").write_text("not part of it")
    return tmp_path


def test_a_clean_checkout_has_the_tree_of_its_commit(checkout):
    assert directory_swhid(checkout) == f"swh:1:dir:{git(checkout, 'rev-parse', 'HEAD^{tree}')}"


@pytest.mark.parametrize("edit", ["content", "mode", "removed"])
def test_an_edited_one_has_another_which_git_would_give_it(checkout, edit):
    before, path = directory_swhid(checkout), checkout / "a" / "b" / "deep.txt"
    {"content": lambda: path.write_text("edited"), "mode": lambda: path.chmod(0o755), "removed": path.unlink}[edit]()
    found = directory_swhid(checkout)
    git(checkout, "add", "--update")
    assert found == f"swh:1:dir:{git(checkout, 'write-tree')}" != before


def test_only_a_commit_is_a_revision():
    assert revision_swhid("a" * 40) == f"swh:1:rev:{'a' * 40}"
    assert [revision_swhid(word) for word in ("", "a" * 39, "A" * 40, "a" * 40 + "\n")] == [""] * 4


def test_a_folder_that_git_does_not_know_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"git lists no files of .*; name a checkout of kdrbench"):
        directory_swhid(tmp_path)
