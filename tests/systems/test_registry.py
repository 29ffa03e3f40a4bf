"""Systems by name."""

import pytest

from kdrbench.errors import InputError
from kdrbench.suite.systems import build_system


def test_a_system_that_makes_no_run_is_refused(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(
        "from kdrbench.suite.engine.system import System\n"
        "class Own(System):\n"
        "    record = None\n"
        "    def expand(self, name, config):\n"
        "        return iter(())\n"
    )
    with pytest.raises(InputError, match=r"Own makes no run; define run\(\), or prepare\(\)"):
        build_system(str(path))
