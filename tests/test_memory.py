import pytest

from kdrbench import memory
from kdrbench.errors import InputError
from kdrbench.memory import check_memory, free_bytes


def test_the_machine_and_its_group_bound_what_is_free(tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  99 kB\nMemAvailable:  2048 kB\n")
    assert free_bytes(meminfo, tmp_path) == 2048 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert free_bytes(meminfo, tmp_path) == 2048 * 1024
    (tmp_path / "memory.max").write_text("5000\n")
    assert free_bytes(meminfo, tmp_path) == 4000


def test_what_the_system_does_not_say_is_not_known(tmp_path):
    path = tmp_path / "meminfo"
    assert free_bytes(path, tmp_path) is None
    path.write_text("MemAvailable: many kB\n")
    assert free_bytes(path, tmp_path) is None


def test_what_does_not_fit_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 2**30)
    check_memory(2**30, "all of it", "do less")
    with pytest.raises(InputError, match=r"all of it takes about 2 GiB of memory, and 1 GiB are free; do less"):
        check_memory(2.0**31, "all of it", "do less")
    monkeypatch.setattr(memory, "free_bytes", lambda: None)
    check_memory(2.0**80, "all of it", "do less")
