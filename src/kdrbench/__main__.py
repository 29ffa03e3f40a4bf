"""``python -m kdrbench``."""

from kdrbench.cli import main

if __name__ == "__main__":
    main(prog_name="kdrbench")
