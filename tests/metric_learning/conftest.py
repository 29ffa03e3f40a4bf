import pytest

from kdrbench.kernels import neighbours


@pytest.fixture(params=[3, 14])
def blocks_of_rows(request, monkeypatch):
    """Blocks of three rows, or all of 14 rows in one."""
    monkeypatch.setattr(neighbours, "_ENTRIES", 1)
    monkeypatch.setattr(neighbours, "_FEWEST", request.param)
