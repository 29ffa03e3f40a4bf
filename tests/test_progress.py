import sys

import pytest

from kdrbench import progress
from kdrbench.progress import FitProgress, ProgressLine


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("terminal", [True, False])
def test_the_line_is_written_over_on_a_terminal_only(terminal, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    line = ProgressLine(1.0)
    for text in ("one", "two", "two", "three"):
        line.show(text)
    line.end()
    expected = "\rone\x1b[K\rtwo\x1b[K\rthree\x1b[K\r\x1b[K" if terminal else "one\n"
    assert capsys.readouterr().err == expected


def test_a_fit_in_a_pipe_leaves_a_line_every_five_seconds(clock, capsys):
    asked = []
    with FitProgress("Fit, n = 7", 1e-6, 1) as shown:
        shown.begin_solve()
        for second in range(12):
            clock[0] = 100.0 + second
            # Each second it falls to a tenth.
            shown.show(second, 2.0, lambda second=second: asked.append(second) or 10.0 ** (0 - second))
        shown.outcome = "converged after 12 iterations"
    first, second, last = capsys.readouterr().err.splitlines()
    # Stationarity is asked for at the begin, and where a line is written.
    assert asked == [0, 5, 10]
    assert first == "Fit, n = 7: iteration 5, objective 2, stationarity 1.0e-05, 5.0 s, about 1 s left"
    assert second == "Fit, n = 7: iteration 10, objective 2, stationarity 1.0e-10, 10.0 s"
    assert last == "Fit, n = 7: converged after 12 iterations, 11.0 s"


def test_a_silent_fit_says_once_after_ten_seconds_what_would_be_quicker(clock, capsys):
    with FitProgress("Fit, n = 7", 1e-6, 0) as shown:
        shown.begin_solve()
        for second in range(40):
            clock[0] = 100.0 + second
            shown.show(second, 2.0, lambda: None)
        shown.outcome = "converged after 40 iterations"
    assert capsys.readouterr().err == "Fit, n = 7: iteration 10, objective 2, 10.0 s\n"


def test_the_time_left_is_that_of_a_geometric_rate(clock, capsys):
    with FitProgress("Fit", 1e-6, 2) as shown:
        shown.begin_solve()
        shown.show(0, None, lambda: 1.0)
        clock[0] += 4.0
        # Two of six digits took 4 s.
        shown.show(1, None, lambda: 1e-2)
        # A further solve begins to judge again.
        shown.begin_solve()
        shown.show(2, None, lambda: 1e-3, 0.5)
    ahead, lines = "about 8 s left", capsys.readouterr().err.splitlines()
    assert [line.endswith(ahead) for line in lines] == [False, True, False]
    assert lines[2] == "Fit: solve 2, iteration 2, stationarity 1.0e-03, 50% of a pass, 4.0 s"


def test_an_exception_takes_the_line_from_a_terminal(clock, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    def interrupted():
        with FitProgress("Fit", 1e-6, 1) as shown:
            shown.begin_solve()
            shown.show(0, 1.0, lambda: None)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert capsys.readouterr().err == "\rFit: iteration 0, objective 1, 0.0 s\x1b[K\r\x1b[K"
