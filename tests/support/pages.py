"""The blocks of code on a page, and what its source says about running them.

A comment before a block says how the tests take it, and why:

    <!-- not run: why -->           the block is skipped, with this reason
    <!-- dry run: why -->           make says what it would do; targets of Snakemake are looked up
    <!-- before: command; ... -->   commands that a reader has given already
    <!-- folder: name -->           where the commands are given: by default in the checkout

A block that begins with ``# path`` is a file, which is written. Lines after a ``$ command`` are what it prints, and so
is the text after a block of Python. There ``...`` is any text, in a line or, alone in a line, any lines.
"""

import re
from dataclasses import dataclass, field

_BLOCK = re.compile(r"((?:^<!-- [^\n]* -->\n)*)^( *)```(\w+)\n(.*?)^\2```$", re.M | re.S)
_MARK = re.compile(r"^<!-- (not run|dry run|before|folder): (.*) -->$", re.M)
_FILE = re.compile(r"# ([\w./-]+\.\w+|[\w/]*Snakefile)\b")


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, its text, the line where it begins, and its marks."""

    language: str
    text: str
    line: int
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def file(self):
        """Return the path of the file that this block is, or ``None``."""
        found = _FILE.match(self.text)
        return found and found[1]

    def commands(self):
        """Yield the commands of a console block, without comments, and what is shown of their output."""
        for part in re.split(r"^\$ ", self.text, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            yield re.split(r"\s+#(?:\s|$)", command)[0].strip(), shown


def blocks(text):
    """Return the blocks of a page, in order."""
    return [
        Block(found[3], found[4], text.count("\n", 0, found.start(3)) + 1, dict(_MARK.findall(found[1])))
        for found in _BLOCK.finditer(text)
    ]


def is_like(shown, printed):
    """Return whether what a page shows was printed, but for spaces at the ends of lines."""
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
    patterns = [r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n" for line in lines]
    said = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch("".join(patterns), said) is not None
