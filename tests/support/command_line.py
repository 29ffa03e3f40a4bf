"""The command line, called in the process of a test."""

from click.testing import CliRunner

from kdrbench.suite.cli import main


def kdrbench(*words):
    """Return what a command printed, and its exit code."""
    return CliRunner().invoke(main, [*map(str, words)])
