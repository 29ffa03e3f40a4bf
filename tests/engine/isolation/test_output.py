"""What a run prints: the tail of it is in the log of its batch, marked as the run's."""

import os
import time

from kdrbench.suite.engine.isolation.guardian import MOST_BYTES, Exit, Output
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import supervise

LIMITS = Limits(time_s=20, memory_mib=256)


def test_of_a_flood_the_tail_is_kept_and_the_run_goes_on(capfd):
    lines = [b"y" * 100_000 + b" %d\n" % number for number in range(30)]

    def floods():
        # More than fits into the pipe: the guardian reads meanwhile.
        for number, line in enumerate(lines):
            os.write(1 + number % 2, line)

    assert supervise(floods, LIMITS).end is Exit.EXITED
    text = capfd.readouterr().err
    assert text.startswith(f"  | ({sum(map(len, lines)) - MOST_BYTES} bytes of output left out) ")
    assert text.endswith("y 29\n")
    assert len(text) < MOST_BYTES + 200


def test_a_run_that_prints_for_ever_ends_at_its_limit(capfd):
    def floods():
        while True:
            os.write(1, b"no end\n" * 10_000)

    assert supervise(floods, Limits(0.2, 256)).end is Exit.TIME_LIMIT
    text = capfd.readouterr().err
    assert len(text) < 2 * MOST_BYTES
    assert text.rstrip("\n").splitlines()[-2] == "  | no end"


def test_a_run_that_closes_its_streams_ends_as_any_other():
    def closes():
        os.closerange(0, 64)
        time.sleep(0.5)

    process = supervise(closes, LIMITS)
    assert process.end is Exit.EXITED
    # Its guardian does not look at a closed pipe all the time.
    assert process.cpu_s < 0.4


def test_a_log_that_is_closed_stops_nobody():
    one = Output()
    os.write(one._writing, b"text")
    one.leave_to_run()
    one.write_to(10_000)


def test_what_came_last_is_in_the_log():
    last = {b"": b"", b"late": b"  | late\n", b"a\tb\n\x1b[2J\n": b"  | a\tb\n  | \\x1b[2J\n", b"\n": b"  | \n"}
    for written, logged in last.items():
        one, (reading, writing) = Output(), os.pipe()
        os.write(one._writing, written)
        one.leave_to_run()
        one.write_to(writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as log:
            assert log.read() == logged
