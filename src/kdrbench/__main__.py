"""``python -m kdrbench``, and the program ``kdrbench``."""

import sys

from kdrbench.extras import said_of_missing


def main() -> None:
    """Run the command line; without its packages, say in one sentence which extra brings them."""
    try:
        from kdrbench.suite.cli import main as program
    except ModuleNotFoundError as error:
        if not (sentence := said_of_missing(error, "the program kdrbench")):
            raise
        print(f"kdrbench: {sentence}", file=sys.stderr)
        sys.exit(2)
    program(prog_name="kdrbench")


if __name__ == "__main__":
    main()
