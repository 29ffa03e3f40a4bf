import os
import signal

import pytest

from kdrbench.errors import InputError
from kdrbench.files import drop_unfinished, replacing_folder, write_bytes, write_text


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    write_text(path, "old")
    # It is as readable as others.
    (tmp_path / "plain").write_text("x")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "plain").unlink()
    with pytest.raises(TypeError):
        write_bytes(path, "text is not bytes")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path):
    for name in ("rows[1]", ".rows[1].abc", ".rows1.abc", ".rows[1]"):
        (tmp_path / name).write_text("x")
    drop_unfinished(tmp_path / "rows[1]")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".rows1.abc", ".rows[1]", "rows[1]"]


def writer_of(place, content, until):
    """A process that makes a folder with a file, says on a pipe that it has begun, and waits for a byte of ``until``.

    Return its id and the end of the pipe on which it speaks.
    """
    hears, says = os.pipe()
    process = os.fork()
    if not process:
        with replacing_folder(place, ".mark") as folder:
            (folder / content).touch()
            os.write(says, b"!")
            os.read(until, 1)
        os._exit(0)
    os.close(says)
    return process, hears


def folder_with(place, content):
    with replacing_folder(place, ".mark") as folder:
        (folder / content).touch()


def names_in(place):
    return sorted(path.name for path in place.iterdir())


def killed_while_writing(place):
    never, _ = os.pipe()
    process, hears = writer_of(place, "half", never)
    os.read(hears, 1)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path):
    place = tmp_path / "site"
    folder_with(place, "old")
    killed_while_writing(place)
    assert names_in(place) == [".mark", "old"]
    assert len(names_in(tmp_path)) > 1
    folder_with(place, "new")
    assert names_in(tmp_path) == ["site"]
    assert names_in(place) == [".mark", "new"]


def test_a_folder_that_a_killed_writer_had_put_aside_is_put_back(tmp_path):
    place = tmp_path / "site"
    folder_with(place, "old")
    killed_while_writing(place)
    place.rename(tmp_path / ".site.making" / "replaced")
    with pytest.raises(ZeroDivisionError), replacing_folder(place, ".mark"):
        raise ZeroDivisionError
    assert names_in(tmp_path) == ["site"]
    assert names_in(place) == [".mark", "old"]


def test_the_second_of_two_writers_waits_for_the_first(tmp_path):
    place = tmp_path / "site"
    until_first, end_first = os.pipe()
    first, began_first = writer_of(place, "first", until_first)
    os.read(began_first, 1)
    # This one need not wait once it has begun.
    until_second, end_second = os.pipe()
    os.write(end_second, b"!")
    second, began_second = writer_of(place, "second", until_second)
    os.set_blocking(began_second, False)
    with pytest.raises(BlockingIOError):
        os.read(began_second, 1)
    os.write(end_first, b"!")
    assert [os.waitpid(one, 0)[1] for one in (first, second)] == [0, 0]
    assert names_in(tmp_path) == ["site"]
    assert names_in(place) == [".mark", "second"]


def test_what_is_not_of_a_killed_writer_is_kept(tmp_path):
    (tmp_path / ".site.making").mkdir()
    (tmp_path / ".site.making" / "letter").touch()
    with pytest.raises(InputError, match="was not left by this command; move it away"):
        folder_with(tmp_path / "site", "new")
    assert names_in(tmp_path / ".site.making") == ["letter"]
