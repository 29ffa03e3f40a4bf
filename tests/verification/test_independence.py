"""The second opinion shares no code with what made the runs: neither by imports nor while it computes."""

import pytest

from kdrbench.suite.engine.identity import _imported
from kdrbench.suite.verification.record import Record
from kdrbench.suite.verification.verify import _loaded, verify
from support.calls import OF_RUNS, ROOT, called_by

# These compute, and rest on errors, data, batches and each other.
PURE = ("engine.recomputed", "systems.ikdr.objectives", "systems.ikdr.recompute", "systems.league.recompute")


def file_of(module):
    path = ROOT.parent.joinpath(*module.split("."))
    return next((one for one in (path / "__init__.py", path.with_suffix(".py")) if one.is_file()), None)


def imports_of(module):
    """Return the modules of kdrbench that a module imports anywhere."""
    names = _imported(file_of(module), module)
    return (name for name in names if name.startswith("kdrbench.") and file_of(name))


def all_below(module):
    """Return the modules that a module rests on.

    Data are what both opinions have in common, and the packages kdrbench and systems load what they name on request.
    """
    seen, ahead = set(), [module]
    while ahead:
        name = ahead.pop()
        if name in seen or name in ("kdrbench", "kdrbench.suite.systems") or name.startswith("kdrbench.datasets"):
            continue
        seen.add(name)
        ahead += [name.rpartition(".")[0], *imports_of(name)]
    return seen


def test_what_computes_rests_on_nothing_that_made_the_runs():
    for name in PURE:
        packages = {one.split(".")[1] for one in all_below(f"kdrbench.suite.{name}")}
        assert not packages & {*OF_RUNS, "plugins"}, name


@pytest.mark.slow("makes a record")
def test_no_function_of_the_runs_is_called_to_verify_a_record(record):
    read = Record(record, own_code=True)
    # The configuration is checked by the systems, which ask solvers for their options.
    assert read.grid.batches()
    found = []
    _loaded.cache_clear()
    assert called_by(lambda: found.append(verify(read))) == set()
    assert found[0].findings == []
    assert found[0].numbers > 200
