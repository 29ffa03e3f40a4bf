import pytest

from kdrbench.files import drop_unfinished, write_bytes, write_text


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    write_text(path, "old")
    with pytest.raises(TypeError):
        write_bytes(path, "text is not bytes")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_are_as_readable_as_others(tmp_path):
    write_text(tmp_path / "ours", "x")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path):
    for name in ("rows[1]", ".rows[1].abc", ".rows1.abc", ".rows[1]"):
        (tmp_path / name).write_text("x")
    drop_unfinished(tmp_path / "rows[1]")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".rows1.abc", ".rows[1]", "rows[1]"]
