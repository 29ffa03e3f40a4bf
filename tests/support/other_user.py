"""Work done as another user of the machine, in a process forked from the tests, which has imported all."""

import json
import os
import sys
import traceback
from pathlib import Path

import pytest

NOBODY = 65534


def as_nobody(work, **environment):
    """Do the work as another user; return its value, which JSON must hold, and what it said on standard error."""
    if os.getuid() != 0:
        pytest.skip("only root may work as another user")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os._exit(_work(work, environment, writing))
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        text = stream.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, text
    value, _, said = text.partition("\n")
    return json.loads(value), said


def _work(work, environment, writing):
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.environ.update({name: str(value) for name, value in environment.items()})
    with os.fdopen(writing, "w", encoding="utf-8") as stream, Path(os.devnull).open("w") as nothing:
        lines = []
        sys.stdout, sys.stderr = nothing, _Lines(lines)
        try:
            value = work()
        except BaseException:
            stream.write(traceback.format_exc())
            return 1
        stream.write(json.dumps(value) + "\n" + "".join(lines))
    return 0


class _Lines:
    def __init__(self, lines):
        self.write = lines.append

    def flush(self):
        pass
